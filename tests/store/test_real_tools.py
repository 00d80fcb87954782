# SPDX-License-Identifier: GPL-2.0-only
"""The output of the rt-tests of this system is imported with the figures they print."""

import json
import subprocess
from pathlib import Path

import pytest

from rtscope.model.units import Unit
from rtscope.store.importer import import_bytes, import_file
from tests.places import needs_realtime

pytestmark = [
    needs_realtime,
    pytest.mark.timing("cyclictest stops all threads when the first has its samples"),
]
"""as rt-tests do for most of their options"""


def run_tool(command: str, path: Path) -> str:
    words = [*command.split(), "-q", f"--json={path}"]
    done = subprocess.run(words, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, f"{words}: {done.stderr}"
    return done.stdout


@pytest.mark.parametrize(
    ("command", "unit_ns", "interval_ns", "policy"),
    [
        ("cyclictest -t2 -l400 -i1000 -p80 -h400", 1000, 1_000_000, "fifo"),
        ("cyclictest -t2 -l400 -i1000 -p80 -H20", 1000, 1_000_000, "fifo"),
        ("cyclictest -t2 -l400 -i1000 -p80 -N -h1000000", 1, 1_000_000, "fifo"),
        ("cyclictest -t2 -l400 -i1000 -p80 -N", 1, 1_000_000, "fifo"),
        ("cyclictest -t2 -l400 -i1000 -p80", 1000, 1_000_000, "fifo"),
        ("signaltest -l100 -t2 -p80", 1000, None, "fifo"),
        ("cyclicdeadline -D1 -i10000 -s5000", 1000, 10_000_000, "deadline"),
        ("oslat -D 1s -c 0 -b 8", 1000, None, "other"),
    ],
)
def test_json_and_text_of_a_tool_have_the_metrics_that_it_prints(
    tmp_path: Path, command: str, unit_ns: int, interval_ns: int | None, policy: str
) -> None:
    path, tool = tmp_path / "run.json", command.partition(" ")[0]
    text = run_tool(command, path)
    (run,) = import_file(path)
    assert (run.source, run.asked.interval_ns) == (tool, interval_ns)
    theirs = list(json.loads(path.read_text())["thread"].values())
    for thread, printed in zip(run.threads, theirs, strict=True):
        count = sum(printed["histogram"].values()) if tool == "oslat" else printed["cycles"]
        cpu = printed["cpu"] if printed.get("cpu", -1) >= 0 else None
        extremes = (printed["min"] * unit_ns, printed["max"] * unit_ns)
        assert (thread.cpu, thread.policy, thread.count) == (cpu, policy, count)
        assert (thread.min_ns, thread.max_ns) == extremes
        mean_unit = 1000 if tool == "oslat" else unit_ns
        assert thread.mean_ns == pytest.approx(printed["avg"] * mean_unit)
        if tool == "oslat":
            beyond = printed["histogram"].get("8", 0) if printed["max"] > 8 else 0
            assert (thread.histogram.beyond_count, thread.histogram.total) == (beyond, count)
    if tool != "oslat":
        (same,) = import_bytes(text.encode(), run.created, unit=Unit.NS if unit_ns == 1 else None)
        for one, other in zip(run.threads, same.threads, strict=True):
            assert (one.count, one.min_ns, one.max_ns) == (other.count, other.min_ns, other.max_ns)
            assert "-h" not in command or one.histogram == other.histogram


def test_a_quoted_command_line_in_the_json_is_read(tmp_path: Path) -> None:
    """cyclictest does not escape it."""
    path = tmp_path / 'a "quoted" \\name.json'
    run_tool("cyclictest -t2 -l400 -i1000", path)
    (run,) = import_file(path)
    assert (run.asked.samples, [thread.thread for thread in run.threads]) == (400, [0, 1])
