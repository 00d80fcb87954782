# SPDX-License-Identifier: GPL-2.0-only
"""Explain the worst samples of a lab run: repeat the run exactly, with a trace source."""

import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Final

import msgspec

from rtscope.engine.measure import measure
from rtscope.explain.recording import read_recordings
from rtscope.explain.timeline import Late, explanation
from rtscope.lab.recording import RECORDED_ARCHITECTURES, Wanted, kernel_symbols, watched
from rtscope.lab.vm import VmTarget, vm_target
from rtscope.model.errors import RtscopeError
from rtscope.model.request import Request
from rtscope.model.run import Run
from rtscope.target.agent import Agent, Target
from rtscope.target.protocol import AnyLine, Hello, Start, ThreadResult, WorstSample


class Received(msgspec.Struct):
    """The data needed to find a run's worst samples in its repetition."""

    pid: int = 0
    start: Start | None = None
    worst: list[tuple[int, WorstSample]] = []
    """with the index of the thread"""

    def receive(self, line: AnyLine) -> None:
        """Take a line of the agent."""
        match line:
            case Hello():
                self.pid = line.pid
            case Start():
                self.start = line
            case ThreadResult():
                self.worst += [(line.thread, sample) for sample in line.worst]


WORST_DEFAULT: Final = 10
"""default number for each thread"""


def repeats_exactly(target: Target) -> bool:
    """Whether the emulator's plugin explains this target's samples, in a repetition of the run."""
    return target.capabilities.exact_time and target.capabilities.cpus == 1


def check_explainable(target: Target, count: int, request: Request) -> None:
    """Refuse a request whose samples cannot be explained. Raises RtscopeError."""
    _check_noticed_at_once(request)
    if repeats_exactly(target):
        _watchable(target)
    recorded = WORST_DEFAULT if request.worst is None else request.worst
    if count > recorded:
        raise RtscopeError(
            f"--explain {count} needs at least as many recorded samples: --worst {count}, not "
            f"{recorded}"
        )


def _check_noticed_at_once(request: Request) -> None:
    """Refuse samples that the agent notices later than they are measured. Raises RtscopeError."""
    if request.loops_in_kernel:
        raise RtscopeError(
            "--explain cannot explain a loop in the kernel: the agent notices its periods later, "
            "and what was executed before that is not what made them long"
        )


def _watchable(target: Target) -> VmTarget:
    machine = vm_target(target.name)
    if machine.kernel.arch not in RECORDED_ARCHITECTURES:
        raise RtscopeError(
            f"--explain supports exact VMs of {', '.join(RECORDED_ARCHITECTURES)}, not of "
            f"{machine.kernel.arch}: add ,mode=fast to {target.name}, to use the kernel's trace"
        )
    return machine


def explained(
    run: Run,
    received: Received,
    request: Request,
    target: Target,
    count: int,
    on_start: Callable[[Agent], None],
) -> Run:
    """Return the run with explanations of its `count` worst samples, from a repetition.

    Raises RtscopeError, also where the two runs are not the same.
    """
    machine = _watchable(target).fitted(request)
    worst = sorted(received.worst, key=lambda pair: (-pair[1].latency_ns, pair[1].time_ns))[:count]
    start = received.start
    if not worst or start is None:
        raise RtscopeError("there is nothing to explain: no sample was taken")
    if not start.notice_address or not all(sample.notice for _, sample in worst):
        raise RtscopeError("the agent does not report where its worst samples are: rebuild it")
    ns_per_instruction = int(1000 / (machine.spec.mips or 1000))
    symbols = kernel_symbols(machine, on_start)
    with tempfile.TemporaryDirectory(prefix="rtscope-explain-") as name:
        output = Path(name) / "seen"
        wanted = [
            Wanted(sample.notice, sample.latency_ns // ns_per_instruction) for _, sample in worst
        ]
        again = request
        if request.samples_file:
            again = msgspec.structs.replace(request, samples_file=str(Path(name) / "samples"))
        place = watched(machine, symbols, start.notice_address, wanted, output)
        other = measure(again, run.machine, on_start, lambda line: None, place)
        _check_same(run, other)
        seen = read_recordings(output.read_bytes())
    tids = {thread.thread: thread.tid for thread in start.threads}
    found = []
    for thread, sample in worst:
        if sample.notice not in seen:
            raise RtscopeError("the plugin did not see all of the worst samples")
        late = Late(
            thread=thread,
            time_ns=sample.time_ns,
            latency_ns=sample.latency_ns,
            task=f"{run.probe}/{thread}",
            tid=tids.get(thread, 0),
            pid=received.pid,
        )
        found.append(explanation(late, seen[sample.notice], symbols, ns_per_instruction))
    return msgspec.structs.replace(run, explanations=found)


def _check_same(run: Run, other: Run) -> None:
    for what, one, two in [
        ("samples", run.threads, other.threads),
        ("start", run.start_monotonic_ns, other.start_monotonic_ns),
        ("end", run.elapsed_ns, other.elapsed_ns),
        ("status", run.status, other.status),
    ]:
        if one != two:
            raise RtscopeError(
                f"the run and its repetition with the plugin part in their {what}, so that what "
                "the plugin saw explains nothing: is an interrupt or another version between them?"
            )
