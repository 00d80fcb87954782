# SPDX-License-Identifier: GPL-2.0-only
"""The response times of a program that the agent watches, by the trace and by its points."""

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.agent.probing import (
    LAST_CPU,
    Lines,
    hogged,
    measure,
    needs_quiet,
    of_type,
    refusal,
    samples,
)
from tests.places import needs_tracefs

INCLUDE = Path(__file__).parents[2] / "agent" / "include"
WORK_MS = 3
# A thread named "worker-7" computes for 3 ms of CPU time in each 20 ms.
WORKER = """
import ctypes, os, sys, time
os.sched_setaffinity(0, {int(sys.argv[1])})
os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(50))
ctypes.CDLL(None).prctl(15, b"worker-7", 0, 0, 0)
print(os.getpid(), flush=True)
while True:
    until = time.thread_time() + 0.003
    while time.thread_time() < until:
        pass
    time.sleep(0.017)
"""
# Each tenth cycle takes 8 ms, and the budget is 4 ms.
CYCLES = """
#include <rtscope/points.h>

int main(void)
{
	struct rtscope_point *point = rtscope_point_add(NULL, "CYCLE", 4000000, "a cycle");

	puts("ready");
	fflush(stdout);
	for (unsigned int i = 0;; i++) {
		uint64_t begun_ns = rtscope_begin(point);
		struct timespec work = { 0, i % 10 ? 100000 : 8000000 }, pause = { 0, 5000000 };

		nanosleep(&work, NULL);
		rtscope_end(point, begun_ns);
		nanosleep(&pause, NULL);
	}
}
"""


@contextmanager
def running(*command: str | Path) -> Iterator[int]:
    """A program that has written its first line; none outlives the block."""
    with subprocess.Popen(command, stdout=subprocess.PIPE) as process:
        try:
            assert process.stdout is not None
            assert process.stdout.readline()
            yield process.pid
        finally:
            process.kill()


def tids(lines: Lines) -> set[int]:
    """The late threads of the windows."""
    return {window["tid"] for window in of_type(lines, "trace-window")}


@needs_quiet
@needs_tracefs
def test_each_cycle_of_a_thread_is_measured_from_its_wake_up_to_its_sleep() -> None:
    with running(sys.executable, "-c", WORKER, str(LAST_CPU)) as pid:
        lines = measure("response", "--thread", "worker-*", "-l", "40", "--explain", "3")
    [thread] = of_type(lines, "thread")
    took = sorted(samples(lines))

    assert thread["count"] == 40
    assert thread["name"] == "worker-*"
    assert WORK_MS * 1e6 * 0.97 <= took[20] < 10e6
    assert len(of_type(lines, "trace-window")) == 3
    assert tids(lines) == {pid}


@needs_quiet
@needs_tracefs
def test_a_preemption_is_part_of_the_cycle_and_does_not_end_it() -> None:
    with (
        hogged(LAST_CPU, burst_ms=9, period_ms=30, priority=80),
        running(sys.executable, "-c", WORKER, str(LAST_CPU)),
    ):
        lines = measure("response", "--thread", "worker-7", "-l", "60")
    took = samples(lines)

    assert max(took) > 9e6
    assert min(took) >= WORK_MS * 1e6 * 0.97  # a part of a cycle would be shorter


@needs_tracefs
def test_late_cycles_of_measurement_points_have_their_end_length_and_thread(
    tmp_path: Path,
) -> None:
    source, program = tmp_path / "cycles.c", tmp_path / "cycles"
    source.write_text(CYCLES)
    subprocess.run(["gcc", "-std=gnu11", f"-I{INCLUDE}", "-o", program, source], check=True)
    with running(program) as pid:
        options = ("--pid", str(pid), "--point", "CYCLE", "-l", "5", "--above", "1us")
        lines = measure("response", *options)
    start, windows = of_type(lines, "start")[-1], of_type(lines, "trace-window")

    assert len(windows) == 5
    assert tids(lines) == {pid}
    for window in windows:
        assert 4e6 <= window["latency_ns"] < 1e9
        assert window["due_ns"] >= start["monotonic_ns"]
        assert all(part["complete"] for part in window["parts"])


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ((), ("--thread", "--pid")),
        (("--thread", "a", "--pid", "1"), ("--thread", "--pid")),
        (("--thread", "a", "--point", "b"), ("--pid",)),
        (("--thread", "sixteen-bytes-16"), ("15 bytes",)),
        (("--pid", "4194305"), ("no process",)),
    ],
)
def test_it_refuses_what_names_no_thread_and_no_point(
    options: tuple[str, ...], words: tuple[str, ...]
) -> None:
    told = refusal("response", *options)
    assert all(word in told for word in words)
