# SPDX-License-Identifier: GPL-2.0-only
"""rtscope points, on the LLRF example: what it shows is what the program does."""

import json
import os
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import msgspec
import pytest

from rtscope.model.histogram import Histogram
from rtscope.statistics.metrics import quantile_ns
from tests.cli.conftest import COMMAND, Rtscope, started

EXAMPLE = Path(__file__).parents[2] / "examples" / "llrf"
MODULES = EXAMPLE.parents[1] / "kernel" / "modules"
PARTS = {
    "MAINLOOP": ["DAQ", "PHCTRL", "WFDIAG", "OTHDIAG"],
    "PHCTRL": ["PHCTRLDATA", "PHCTRLCALC"],
    "PHCTRLDATA": ["NETDAQ", "RFDEMO"],
}
PRIORITY = ["-p", "80"] if os.geteuid() == 0 else []

Look = dict[str, Any]
Llrf = Callable[..., Any]


@pytest.fixture(scope="module")
def llrf_path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The example, built by its own Makefile elsewhere, as a user's would be."""
    directory = tmp_path_factory.mktemp("llrf")
    for file in ("llrf.c", "devices.c", "devices.h", "Makefile"):
        (directory / file).write_bytes((EXAMPLE / file).read_bytes())
    found = subprocess.run(
        [*COMMAND, "points", "--include-dir"],
        capture_output=True,
        text=True,
        check=True,
        cwd=EXAMPLE.parents[1],
    )
    places = [f"RTSCOPE_INCLUDE={found.stdout.strip()}", f"RTSCOPE_MODULES={MODULES}"]
    subprocess.run(["make", "-s", "-C", directory, *places], check=True)
    return directory / "llrf"


@pytest.fixture
def llrf(llrf_path: Path, agent_path: Path) -> Llrf:
    """Runs the example for as long as the block, once its points can be seen."""

    @contextmanager
    def run(*options: str) -> Iterator[subprocess.Popen[bytes]]:
        with subprocess.Popen(
            [llrf_path, *PRIORITY, *options], stdout=subprocess.PIPE, stderr=subprocess.PIPE
        ) as process:
            try:
                for _ in range(1000):
                    seen = subprocess.run(
                        [agent_path, "points", str(process.pid)], capture_output=True, check=False
                    )
                    if seen.returncode == 0:
                        break
                    time.sleep(0.01)
                yield process
            finally:
                process.kill()

    return run


def look(rtscope: Rtscope, pid: int, *options: str) -> Look:
    done = rtscope("points", str(pid), "--json", "--once", *options)
    assert done.returncode == 0, done.stderr
    shown: Look = json.loads(done.stdout)
    return shown


def points(shown: Look) -> dict[str, Look]:
    return {point["name"]: point for point in shown["points"]}


def test_the_example_is_valid_c_and_cplusplus(tmp_path: Path) -> None:
    include = EXAMPLE.parents[1] / "agent" / "include"
    strict = ["-O2", "-Wall", "-Wextra", "-Werror", "-pedantic", f"-I{include}", f"-I{MODULES}"]
    sources = [EXAMPLE / name for name in ("llrf.c", "devices.c")]
    for compiler in (["cc", "-std=gnu11"], ["c++", "-x", "c++", "-std=c++17"]):
        program = tmp_path / "llrf"
        subprocess.run([*compiler, *strict, *sources, "-o", program, "-lm", "-pthread"], check=True)
        done = subprocess.run(
            [program, "-t", "1"], capture_output=True, text=True, timeout=30, check=True
        )
        assert done.stdout.startswith("120 pulses, ")
        off_degrees = float(done.stdout.partition("phase off by ")[2].split()[0])
        assert off_degrees < 0.2, "the controller has brought 30 degrees to the set point"


def test_what_parts_take_adds_up_to_no_more_than_their_whole(llrf: Llrf, rtscope: Rtscope) -> None:
    with llrf() as process:
        time.sleep(1.5)
        rtscope("points", str(process.pid), "--pause")
        time.sleep(0.1)
        seen = look(rtscope, process.pid)
    by_name = points(seen)
    for name, parts in PARTS.items():
        whole_ns = by_name[name]["mean_ns"] * by_name[name]["count"]
        parts_ns = sum(by_name[part]["mean_ns"] * by_name[part]["count"] for part in parts)
        assert parts_ns <= whole_ns
        assert all(seen["points"][by_name[part]["parent"]]["name"] == name for part in parts)
        counts = [by_name[part]["count"] for part in [name, *parts]]
        assert max(counts) - min(counts) <= 1, "but for a pulse that the pause fell into"
    main = by_name["MAINLOOP"]
    parts_ns = sum(by_name[part]["mean_ns"] for part in PARTS["MAINLOOP"])
    assert parts_ns > main["mean_ns"] * 0.8, "it does nothing beside its parts"
    assert main["budget_ns"] == 2_700_000


def test_every_pulse_is_counted_and_a_busy_wait_is_found_where_it_is(
    llrf: Llrf, environment: dict[str, str]
) -> None:
    with llrf("-b", "WFDIAG:5000") as process:
        words = ("points", str(process.pid), "--json", "--interval", "500ms")
        with started(environment, *words) as watcher:
            assert watcher.stdout is not None
            first, *_, last = [json.loads(watcher.stdout.readline()) for _ in range(6)]
            watcher.send_signal(signal.SIGINT)
            assert watcher.wait(timeout=10) == 0
    before, by_name = points(first), points(last)
    seconds = (last["time_ns"] - first["time_ns"]) / 1e9
    rates = {
        name: (point["count"] - before[name]["count"]) / seconds for name, point in by_name.items()
    }
    assert rates == dict.fromkeys(rates, pytest.approx(120, rel=0.1))
    assert len(rates) == 9
    medians = {
        name: quantile_ns(msgspec.convert(point["histogram"], Histogram), 50.0).value_ns
        for name, point in by_name.items()
    }
    for name in ("WFDIAG", "MAINLOOP"):
        assert medians[name] == pytest.approx(5e6, rel=0.1)
    assert by_name["MAINLOOP"]["over_budget"] == by_name["MAINLOOP"]["count"]
    assert max(medians[name] or 0 for name in ("DAQ", "PHCTRL", "RFDEMO", "OTHDIAG")) < 1e6


def test_what_cannot_be_is_a_sentence(rtscope: Rtscope) -> None:
    with subprocess.Popen(["sleep", "60"]) as other:
        for arguments, said in [
            ([str(other.pid)], "has no measurement points"),
            (["99999999"], "there is no process 99999999"),
            (["0"], "is not the number of a process"),
            ([str(other.pid), "--pause", "--resume"], "contradict"),
            ([str(other.pid), "--interval", "soon"], "is not a time"),
        ]:
            done = rtscope("points", *arguments)
            assert done.returncode == 2, arguments
            assert said in done.stderr
            assert "Traceback" not in done.stderr
        other.kill()
