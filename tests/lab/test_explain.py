# SPDX-License-Identifier: GPL-2.0-only
"""What made the worst samples late is told by function, and telling it changes no sample."""

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest

from rtscope.engine.explain import Received, explained
from rtscope.engine.measure import measure
from rtscope.explain.timeline import ASLEEP
from rtscope.lab.kernels import Kernel
from rtscope.lab.vm import vm_target
from rtscope.model.errors import RtscopeError
from rtscope.model.machine import Machine
from rtscope.model.request import Request
from rtscope.model.run import Run
from rtscope.model.timeline import Explanation

TIMER_PATH = {"hrtimer_interrupt", "__hrtimer_run_queues", "hrtimer_wakeup", "try_to_wake_up"}


def measured(kernel: Kernel, folder: Path, *options: str) -> tuple[Run, bytes]:
    """A run from the command line and the file of its samples."""
    samples = folder / f"samples-{len(options)}"
    done = subprocess.run(
        [sys.executable, "-m", "rtscope.cli.main", "measure", "--json", "--no-report",
         "--target", f"vm:{kernel.name}", "--samples", "300", "--samples-file", str(samples),
         *options],
        capture_output=True, text=True, check=False,
        env={**os.environ, "XDG_DATA_HOME": str(folder)},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return msgspec.json.decode(done.stdout, type=Run), samples.read_bytes()


def check_story(reported: Explanation) -> None:
    """It is whole, in the order of time, and every piece of it has a name."""
    assert sum(function.ns for function in reported.functions) == reported.latency_ns
    assert sum(call.ns for call in reported.calls if not call.depth) <= reported.latency_ns
    assert sum(call.ns for call in reported.calls if not call.depth) > 0.95 * reported.latency_ns
    assert [call.start_ns for call in reported.calls] == sorted(
        call.start_ns for call in reported.calls
    )
    assert not [one for one in reported.functions if one.function.startswith("0x")]
    assert reported.cause
    assert reported.notes == []


def test_the_worst_idle_latency_of_the_standard_kernel_is_named_by_function(
    standard_kernel: Kernel, tmp_path: Path
) -> None:
    plain, plain_samples = measured(standard_kernel, tmp_path)
    run, samples = measured(standard_kernel, tmp_path, "--explain", "2")

    assert samples == plain_samples
    assert run.threads == plain.threads
    assert plain.explanations == []
    worst = [sample.latency_ns for sample in run.threads[0].worst[:2]]
    assert [reported.latency_ns for reported in run.explanations] == worst
    for reported in run.explanations:
        check_story(reported)
        # Nothing else ran at the deadline: the timer is late by next to nothing, or by nothing.
        assert sum(call.ns for call in reported.calls if call.function == ASLEEP) < 150
        first = next(call for call in reported.calls if call.function != ASLEEP)
        assert first.start_ns < 150
        assert {call.function for call in reported.calls} > TIMER_PATH
        assert reported.tasks is not None
        assert reported.tasks[0].name == "swapper/0"
        assert reported.tasks[-1].name.startswith("cyclic/0/")
        assert reported.interrupts_off
        assert reported.preemption_off


@pytest.mark.kernels
def test_an_arm64_machine_is_explained_too_and_a_run_that_parts_is_not(
    arm64_kernel: Kernel,
) -> None:
    target, request, received = (
        vm_target(f"vm:{arm64_kernel.name}"),
        Request(samples=100),
        Received(),
    )
    run = measure(request, Machine(), lambda agent: None, received.receive, target)
    (reported,) = explained(run, received, request, target, 1, lambda agent: None).explanations

    check_story(reported)
    assert {call.function for call in reported.calls} > TIMER_PATH
    assert reported.tasks is not None
    assert reported.tasks[-1].name.startswith("cyclic/0/")
    assert reported.interrupts_off
    other = msgspec.structs.replace(run, elapsed_ns=(run.elapsed_ns or 0) + 1)
    with pytest.raises(RtscopeError, match="part in their end"):
        explained(other, received, request, target, 1, lambda agent: None)


@pytest.mark.kernels
def test_two_cpus_with_64_mb_of_memory_are_explained_by_their_own_trace(
    built: Callable[[str], Kernel], tmp_path: Path
) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "rtscope.cli.main", "measure", "--json", "--no-report",
         "--target", f"vm:{built('x86_64-rt').name},cpus=2,memory=64", "--samples", "200",
         "--explain", "3"],
        capture_output=True, text=True, check=False,
        env={**os.environ, "XDG_DATA_HOME": str(tmp_path)},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    run = msgspec.json.decode(done.stdout, type=Run)

    assert "traced" in {warning.code for warning in run.warnings}
    worst = sorted((one.latency_ns for t in run.threads for one in t.worst), reverse=True)
    assert [one.latency_ns for one in run.explanations] == worst[:3]
    for one in run.explanations:
        assert sum(term.ns for term in one.ledger) == one.latency_ns
        assert not [term for term in one.ledger if term.kind == "unexplained"]


def test_more_explanations_than_samples_kept_are_refused_before_measuring(
    rt_kernel: Kernel,
) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "rtscope.cli.main", "measure", "--explain", "11",
         "--worst", "10", "--target", f"vm:{rt_kernel.name}"],
        capture_output=True, text=True, check=False, timeout=60,
    )  # fmt: skip

    assert done.returncode == 2
    assert "--worst 11, not 10" in " ".join(done.stderr.split())
