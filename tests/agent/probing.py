"""What the tests of the agent's probes share: running one, and disturbing what it measures."""

import fcntl
import json
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

Lines = list[dict[str, Any]]

needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="real-time priorities need root")
needs_two_cpus = pytest.mark.skipif(len(os.sched_getaffinity(0)) < 2, reason="two CPUs are needed")
LAST_CPU = max(os.sched_getaffinity(0))
NOBODY = (
    "setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "--bounding-set=-all",
)  # fmt: skip

# Takes CPU for BURST ms, COUNT times, a PERIOD of ms apart, each time to the end.
_HOG = """
import os, sys, time
cpu, burst, period, count, priority = map(float, sys.argv[1:])
os.sched_setaffinity(0, {int(cpu)})
os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(int(priority)))
for _ in range(int(count)):
    until = time.monotonic() + burst / 1000
    while time.monotonic() < until:
        pass
    time.sleep((period - burst) / 1000)
"""


def hog(cpu: int, burst_ms: float, period_ms: float, count: int, priority: int) -> None:
    """Take a CPU from everything below `priority`, `count` times for `burst_ms`."""
    arguments = [str(n) for n in (cpu, burst_ms, period_ms, count, priority)]
    subprocess.run([sys.executable, "-c", _HOG, *arguments], check=True, timeout=60)


def measure(agent: Path, probe: str, *options: str) -> Lines:
    """The lines of a probe that ends by itself."""
    done = subprocess.run(
        [agent, probe, "--json", *options],
        capture_output=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()]


@contextmanager
def undisturbed() -> Iterator[None]:
    """Keep other tests' disturbances of this machine out of the block."""
    with Path(__file__).open() as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


@contextmanager
def measuring(
    agent: Path, probe: str, *options: str, prefix: tuple[str, ...] = ()
) -> Iterator[Lines]:
    """A probe that measures within the block and is interrupted after it; then its lines.

    One at a time, whatever else tests on this machine: two disturbances would disturb each other.
    """
    lines: Lines = []
    with undisturbed():
        yield from _measuring(lines, [*prefix, agent, probe, "--json", *options])


def _measuring(lines: Lines, command: list[str | Path]) -> Iterator[Lines]:
    with subprocess.Popen(command, stdout=subprocess.PIPE) as process:
        try:
            assert process.stdout is not None
            for line in process.stdout:
                if b'"progress"' in line:
                    break
            yield lines
            process.terminate()
            lines += [json.loads(line) for line in process.stdout]
            assert process.wait(timeout=20) == 0
        finally:
            process.kill()


def measure_stopped(agent: Path, probe: str, *options: str) -> tuple[Lines, float]:
    """The lines of a probe that was stopped whole once, and for how many seconds."""
    with subprocess.Popen([agent, probe, "--json", *options], stdout=subprocess.PIPE) as process:
        try:
            assert process.stdout is not None
            for line in process.stdout:
                if b'"progress"' in line:
                    break
            process.send_signal(signal.SIGSTOP)
            start_s = time.monotonic()
            time.sleep(0.5)
            process.send_signal(signal.SIGCONT)
            stopped_s = time.monotonic() - start_s
            time.sleep(0.1)
            process.terminate()
            lines = [json.loads(line) for line in process.stdout]
            assert process.wait(timeout=20) == 0
        finally:
            process.kill()
    return lines, stopped_s


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


def as_nobody(agent: Path, probe: str, *options: str) -> Lines:
    """The lines of a probe that an ordinary user runs; the agent has to be in a public place."""
    done = subprocess.run(
        [*NOBODY, agent, probe, "--json", *options], capture_output=True, timeout=60, check=False
    )
    assert done.returncode == 0, done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()]


def middle_ns(lines: Lines, name: str) -> float:
    """The median of the latencies of the thread of that name."""
    return statistics.median(samples(lines, thread=threads(lines)[name]["thread"]))


def refusal(agent: Path, probe: str, *options: str, prefix: tuple[str, ...] = ()) -> str:
    """The one sentence with which a probe refuses to measure."""
    done = subprocess.run(
        [*prefix, agent, probe, "-D", "1s", *options],
        capture_output=True,
        text=True,
        timeout=10,
        check=False,
    )
    assert done.returncode in (1, 2)
    assert done.stdout == ""
    sentences = [line for line in done.stderr.splitlines() if not line.startswith("warning: ")]
    assert len(sentences) == 1
    return sentences[0]
