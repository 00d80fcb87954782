# SPDX-License-Identifier: GPL-2.0-only
"""What the rt-tests of this machine write is imported with the figures they print."""

import json
import re
import subprocess
from pathlib import Path

import pytest

from rtscope.model.run import Run
from rtscope.store.importer import import_bytes, import_file
from tests.places import needs_realtime

pytestmark = needs_realtime
"""as rt-tests do for most of their options"""

WHEN = "2026-11-21T19:02:42Z"


def run_tool(*words: str) -> str:
    done = subprocess.run(words, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, f"{words}: {done.stderr}"
    return done.stdout


def check_against(run: Run, path: Path, unit_ns: int) -> None:
    theirs = json.loads(path.read_text())["thread"]
    assert len(run.threads) == len(theirs)
    for thread in run.threads:
        told = theirs[str(thread.thread)]
        assert (thread.cpu, thread.min_ns, thread.max_ns) == (
            told["cpu"] if told["cpu"] >= 0 else None,
            told["min"] * unit_ns,
            told["max"] * unit_ns,
        )
        assert thread.mean_ns == pytest.approx(
            told["avg"] * (unit_ns if "cycles" in told else 1000)
        )
        assert thread.count == told.get("cycles", sum(told["histogram"].values()))


@pytest.mark.parametrize(
    ("options", "unit_ns"), [(("-h", "400"), 1000), (("-H", "20"), 1000), (("-N",), 1), ((), 1000)]
)
def test_cyclictest_json(tmp_path: Path, options: tuple[str, ...], unit_ns: int) -> None:
    path = tmp_path / 'a "quoted" \\name.json'
    plain = tmp_path / "plain.json"
    run_tool("cyclictest", "-q", "-t2", "-l100", "-i500", *options, f"--json={plain}")
    (run,) = import_file(plain)
    check_against(run, plain, unit_ns)
    assert run.asked.interval_ns == 500_000
    run_tool("cyclictest", "-q", "-t2", "-l100", "-i500", *options, f"--json={path}")
    (quoted,) = import_file(path)
    assert [thread.thread for thread in quoted.threads] == [0, 1]
    assert quoted.asked.samples == 100
    # cyclictest stops all threads when the first has its number of loops.
    assert max(thread.count for thread in quoted.threads) == 100


def test_cyclictest_histogram_agrees_with_its_json(tmp_path: Path) -> None:
    told, drawn = tmp_path / "run.json", tmp_path / "run.hist"
    run_tool(
        *("cyclictest", "-q", "-t2", "-l200", "-i500", "-h60"),
        *(f"--json={told}", f"--histfile={drawn}"),
    )
    (from_json,), (from_text,) = import_file(told), import_file(drawn)
    for ours, theirs in zip(from_text.threads, from_json.threads, strict=True):
        assert (ours.count, ours.min_ns, ours.max_ns) == (
            theirs.count,
            theirs.min_ns,
            theirs.max_ns,
        )
        assert ours.histogram == theirs.histogram


def test_cyclictest_text(tmp_path: Path) -> None:
    text = run_tool("cyclictest", "-q", "-t2", "-l100", "-i500")
    (run,) = import_bytes(text.encode(), WHEN)
    told = re.findall(r"C: *(\d+) Min: *(\d+) .*Avg: *(\d+) Max: *(\d+)", text)
    assert [(t.count, t.min_ns, t.mean_ns, t.max_ns) for t in run.threads] == [
        (int(c), *(int(figure) * 1000 for figure in rest)) for c, *rest in told
    ]


@pytest.mark.parametrize(
    ("words", "policy", "interval_ns"),
    [
        (["signaltest", "-l100", "-t2", "-p80"], "fifo", None),
        (["cyclicdeadline", "-D1", "-i10000", "-s5000"], "deadline", 10_000_000),
    ],
)
def test_sisters_of_cyclictest(
    tmp_path: Path, words: list[str], policy: str, interval_ns: int | None
) -> None:
    path = tmp_path / "run.json"
    text = run_tool(*words, "-q", f"--json={path}")
    told = json.loads(path.read_text())["thread"]
    for run in (import_file(path)[0], import_bytes(text.encode(), WHEN)[0]):
        assert (run.probe, run.source) == (words[0], words[0])
        assert run.asked.interval_ns == interval_ns
        assert [(t.policy, t.count, t.min_ns, t.max_ns) for t in run.threads] == [
            (policy, one["cycles"], one["min"] * 1000, one["max"] * 1000) for one in told.values()
        ]


def test_cyclictest_text_in_nanoseconds(tmp_path: Path) -> None:
    path = tmp_path / "run.json"
    text = run_tool("cyclictest", "-q", "-N", "-l50", "-i500", "-h1000000", f"--json={path}")
    (theirs,) = import_file(path)
    (ours,) = import_bytes(text.encode(), WHEN, unit="ns")
    assert not ours.warnings
    assert [t.histogram for t in ours.threads] == [t.histogram for t in theirs.threads]
    text = run_tool("cyclictest", "-q", "-N", "-l50", "-i500")
    (line,) = import_bytes(text.encode(), WHEN, unit="ns")
    told = re.findall(r"Max: *(\d+)", text)
    assert [t.max_ns for t in line.threads] == [int(figure) for figure in told]


def test_oslat_json(tmp_path: Path) -> None:
    path = tmp_path / "oslat.json"
    run_tool("oslat", "-D", "1s", "-c", "0", "-q", "-b", "8", f"--json={path}")
    (run,) = import_file(path)
    check_against(run, path, 1000)
    (thread,) = run.threads
    told = json.loads(path.read_text())["thread"]["0"]
    overflowed = told["histogram"].get("8", 0) if told["max"] > 8 else 0
    assert thread.histogram.beyond_count == overflowed
    assert sum(thread.histogram.count) == sum(told["histogram"].values()) - overflowed
