# SPDX-License-Identifier: GPL-2.0-only
"""rtscope measure with the probes whose runs differ from cyclic's."""

import pytest

from rtscope.model.finding import OnlyCpu
from rtscope.statistics.findings import findings_of
from rtscope.store.runfile import decode_run
from tests.cli.conftest import Rtscope

QUIET = ("--json", "--no-report", "--quiet")


def test_a_probe_with_an_end_of_its_own_is_measured_to_it(rtscope: Rtscope) -> None:
    done = rtscope("measure", "gtod", "-O", "clock=CLOCK_MONOTONIC", *QUIET)
    assert done.returncode == 0, done.stderr
    run = decode_run(done.stdout.encode())
    assert [(thread.name, thread.count) for thread in run.threads] == [
        ("CLOCK_MONOTONIC", 1_000_000)
    ]
    assert (run.asked.samples, run.asked.duration_ns) == (1_000_000, None)


def test_an_undisturbed_cpu_is_no_failed_measurement(rtscope: Rtscope) -> None:
    limits = ("--budget", "gaps<1", "--budget", "longest_gap_ns<20us")
    done = rtscope("measure", "noise", "-D", "300ms", "-O", "threshold=1h", *limits, *QUIET)
    assert done.returncode == 0, done.stderr
    run = decode_run(done.stdout.encode())
    assert "no-samples" not in {warning.code for warning in run.warnings}
    assert all(thread.facts["observed_ns"] > 0 for thread in run.threads)


@pytest.mark.parametrize(("criterion", "code"), [("1h", 0), ("1ns", 1)])
def test_the_published_criterion_is_a_budget(rtscope: Rtscope, criterion: str, code: int) -> None:
    words = ("sched", "-l", "20", "-i", "10ms", "-O", "busy=0", "--budget", "failed<1")
    done = rtscope("measure", *words, "-O", f"criterion={criterion}", *QUIET)
    assert done.returncode == code, done.stderr


def test_memory_of_one_cpu_is_measured_and_told(rtscope: Rtscope) -> None:
    small = ("-O", "largest=8", "-O", "slot=1ms", "-l", "2", "--cpus", "0")
    done = rtscope("measure", "memory", *small, *QUIET)
    assert done.returncode == 0, done.stderr
    run = decode_run(done.stdout.encode())
    assert isinstance(findings_of(run)[0], OnlyCpu)
    assert [matrix.name for matrix in run.matrices] == ["latency", "read", "write", "copy"]
