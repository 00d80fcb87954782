# SPDX-License-Identifier: GPL-2.0-only
"""What the tests of the agent's probes share: running one, and disturbing what it measures."""

import fcntl
import json
import math
import os
import signal
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.places import needs_realtime

AGENT = Path(__file__).parents[2] / "build" / "native" / "rtscope-agent"
"""of this checkout, built for this machine"""

Lines = list[dict[str, Any]]

needs_root = needs_realtime
needs_two_cpus = pytest.mark.skipif(len(os.sched_getaffinity(0)) < 2, reason="two CPUs are needed")
needs_quiet = pytest.mark.timing("another program's stall counts as the one that the test makes")
LAST_CPU = max(os.sched_getaffinity(0))
NOBODY = (
    "setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "--bounding-set=-all",
)  # fmt: skip
PREFERRED = (
    "setsid", "sh", "-c",
    '{ echo -20 > /proc/self/autogroup; } 2> /dev/null; exec nice -n -20 "$0" "$@"',
)  # fmt: skip
"""The kernel then hardly ever runs another ordinary thread instead."""

# Takes CPU for BURST ms, COUNT times, a PERIOD of ms apart, each time to the end.
_HOG = """
import os, sys, time
cpu, burst, period, count, priority = map(float, sys.argv[1:])
os.sched_setaffinity(0, {int(cpu)})
os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(int(priority)))
print("ready", flush=True)
for _ in range(int(count)):
    until = time.monotonic() + burst / 1000
    while time.monotonic() < until:
        pass
    time.sleep((period - burst) / 1000)
"""


def _hog_command(
    cpu: int, burst_ms: float, period_ms: float, count: int, priority: int
) -> list[str]:
    return [sys.executable, "-c", _HOG, *map(str, (cpu, burst_ms, period_ms, count, priority))]


def hog(cpu: int, burst_ms: float, period_ms: float, count: int, priority: int) -> None:
    """Take a CPU from everything below `priority`, `count` times for `burst_ms`."""
    command = _hog_command(cpu, burst_ms, period_ms, count, priority)
    subprocess.run(command, check=True, timeout=60, stdout=subprocess.DEVNULL)


@contextmanager
def hogged(cpu: int, burst_ms: float, period_ms: float, priority: int) -> Iterator[None]:
    """The CPU is taken in each `period_ms` of the block, but for no more than about 20 s."""
    command = _hog_command(cpu, burst_ms, period_ms, math.ceil(20_000 / period_ms), priority)
    with undisturbed(), subprocess.Popen(command, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"ready\n"
        try:
            yield
        finally:
            process.kill()


def run(
    *words: str | Path, prefix: tuple[str, ...] = (), agent: Path = AGENT
) -> subprocess.CompletedProcess[str]:
    """Run the agent to its end, whatever its exit status is."""
    return subprocess.run(
        [*prefix, agent, *words], capture_output=True, text=True, timeout=60, check=False
    )


def measure(
    probe: str,
    *options: str,
    prefix: tuple[str, ...] = (),
    status: int = 0,
    agent: Path = AGENT,
) -> Lines:
    """The lines of a probe that ends by itself, with this exit status."""
    done = run(probe, "--json", *options, prefix=prefix, agent=agent)
    assert done.returncode == status, done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()]


def as_nobody(agent: Path, probe: str, *options: str) -> Lines:
    """The lines of a probe that an ordinary user runs; the agent has to be in a public place."""
    return measure(probe, *options, prefix=NOBODY, agent=agent)


@contextmanager
def undisturbed() -> Iterator[None]:
    """Keep other tests' disturbances of this machine out of the block."""
    with Path(__file__).open() as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


@contextmanager
def started(
    probe: str, *options: str, until: str = "progress", prefix: tuple[str, ...] = ()
) -> Iterator[subprocess.Popen[bytes]]:
    """A probe that has written its first line of the type `until`; none outlives the block."""
    command: list[str | Path] = [*prefix, AGENT, probe, "--json", *options]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as process:
        try:
            assert process.stdout is not None
            kinds = (json.loads(line)["type"] for line in process.stdout)
            assert until in kinds, "it ended before"
            yield process
        finally:
            process.kill()


def lines_left(process: subprocess.Popen[bytes], status: int = 0) -> Lines:
    """What a started probe still writes, to its end with this exit status."""
    assert process.stdout is not None
    lines = [json.loads(line) for line in process.stdout]
    assert process.wait(timeout=20) == status
    return lines


@contextmanager
def measuring(probe: str, *options: str, prefix: tuple[str, ...] = ()) -> Iterator[Lines]:
    """A probe that measures within the block and is interrupted after it; then its lines.

    One at a time, whatever else tests on this machine: two disturbances would disturb each other.
    """
    lines: Lines = []
    with undisturbed(), started(probe, *options, prefix=prefix) as process:
        yield lines
        process.terminate()
        lines += lines_left(process)


def measure_stopped(probe: str, *options: str) -> tuple[Lines, float]:
    """The lines of a probe that was stopped whole once, and for how many seconds."""
    with started(probe, *options) as process:
        process.send_signal(signal.SIGSTOP)
        start_s = time.monotonic()
        time.sleep(0.5)
        process.send_signal(signal.SIGCONT)
        stopped_s = time.monotonic() - start_s
        time.sleep(0.1)
        process.terminate()
        return lines_left(process), stopped_s


def children(parent: int) -> list[int]:
    """The processes that this one has started and not yet waited for."""
    text = Path(f"/proc/{parent}/task/{parent}/children").read_text()
    return [int(pid) for pid in text.split()]


def of_type(lines: Lines, kind: str) -> Lines:
    """The lines of one type."""
    return [line for line in lines if line["type"] == kind]


def threads(lines: Lines) -> dict[str, dict[str, Any]]:
    """The thread lines by the threads' names."""
    return {thread["name"]: thread for thread in of_type(lines, "thread")}


def samples(lines: Lines, least_ns: int = 0, thread: int = 0) -> list[int]:
    """A thread's latencies of `least_ns` and more, as its histogram has them."""
    histogram = next(line for line in of_type(lines, "histogram") if line["thread"] == thread)
    return [
        low
        for low, count in zip(histogram["lower_ns"], histogram["count"], strict=True)
        if low >= least_ns
        for _ in range(count)
    ]


def middle_ns(lines: Lines, name: str) -> float:
    """The median of the latencies of the thread of that name."""
    return statistics.median(samples(lines, thread=threads(lines)[name]["thread"]))


def refusal(probe: str, *options: str, prefix: tuple[str, ...] = (), agent: Path = AGENT) -> str:
    """The one sentence with which a probe refuses to measure."""
    done = run(probe, "-D", "1s", *options, prefix=prefix, agent=agent)
    assert done.returncode == 2
    assert done.stdout == ""
    sentences = [line for line in done.stderr.splitlines() if not line.startswith("warning: ")]
    assert len(sentences) == 1
    return sentences[0]
