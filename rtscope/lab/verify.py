# SPDX-License-Identifier: GPL-2.0-only
"""Verify that a lab measurement is bit-identical on every run, also on a busy host."""

import hashlib
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import msgspec

from rtscope.lab.guest import SAMPLES_LOST
from rtscope.model.errors import RtscopeError
from rtscope.model.request import Request
from rtscope.target.agent import Agent, Target
from rtscope.target.protocol import AgentWarning

_SILENCE_S: Final = 90.0
_BUSY: Final = "import os\np = os.getppid()\nwhile os.getppid() == p: pass"


class Repetition(msgspec.Struct, frozen=True):
    """One of the runs to compare."""

    beside: str
    """the host's load during the run"""
    lines: list[str]
    """every sample: thread, CPU, time and latency in ns"""
    sha256: str


def repeat(
    target: Target,
    request: Request,
    count: int,
    on_start: Callable[[Agent], None],
) -> Iterator[Repetition]:
    """Measure `count` times, the last under one busy process more than the host has CPUs.

    Raises RtscopeError.
    """
    for number in range(1, count + 1):
        busy = (os.cpu_count() or 1) + 1 if number == count else 0
        with tempfile.TemporaryDirectory(prefix="rtscope-verify-") as directory, _busy_host(busy):
            path = Path(directory) / "samples"
            asked = msgspec.structs.replace(request, samples_file=str(path))
            with target.started_agent(asked) as agent:
                on_start(agent)
                for line in agent.lines(_SILENCE_S):
                    if isinstance(line, AgentWarning) and line.code == SAMPLES_LOST:
                        raise RtscopeError(line.text)
            data = path.read_bytes()
        yield Repetition(
            beside=f"{busy} busy processes" if busy else "the host's own load only",
            lines=[line for line in data.decode().splitlines() if not line.startswith("#")],
            sha256=hashlib.sha256(data).hexdigest(),
        )


def first_difference(one: Repetition, other: Repetition) -> str | None:
    """The first difference of two repetitions, in words; None if they are identical."""
    if one.sha256 == other.sha256:
        return None
    for number, (a, b) in enumerate(zip(one.lines, other.lines, strict=False), 1):
        if a != b:
            return f"sample {number} was {_sample(a)} and then {_sample(b)}"
    return f"one has {len(one.lines)} samples and the other {len(other.lines)}"


def _sample(line: str) -> str:
    fields = line.split("\t")
    return f"{fields[3]} ns late at {fields[2]} ns" if len(fields) == 4 else repr(line)


@contextmanager
def _busy_host(processes: int) -> Iterator[None]:
    """Processes that each use a CPU, and end with the block or with this process."""
    busy = [subprocess.Popen([sys.executable, "-S", "-c", _BUSY]) for _ in range(processes)]
    try:
        yield
    finally:
        for process in busy:
            process.kill()
            process.wait()
