# SPDX-License-Identifier: GPL-2.0-only
"""What CPUs share is named alike in every run, and a CPU that another program uses is named."""

import pytest

from rtscope.model.finding import CpusSlower, CpusTakeTurns, Disturbance, Sharing, TooFewRepeats
from rtscope.statistics.findings import findings_of
from rtscope.store.runfile import decode_run
from tests.agent.probing import LAST_CPU, hogged, needs_root, needs_two_cpus, undisturbed
from tests.cli.conftest import Rtscope

pytestmark = needs_two_cpus

QUIET = ("--json", "--no-report", "--quiet")
TRIES = 4
ABOVE_PRIORITY = 95


def named(rtscope: Rtscope, probe: str) -> set[str]:
    """What shares or disturbs, without the figures."""
    with undisturbed():
        done = rtscope("measure", probe, *QUIET)
    assert done.returncode == 0, done.stderr
    found = findings_of(decode_run(done.stdout.encode()))
    assert not any(isinstance(one, TooFewRepeats) for one in found)
    named = {f"{o.cpus} {o.work}" for o in found if isinstance(o, Sharing) and o.is_so == "yes"}
    named |= {f"{one.cpus} take turns" for one in found if isinstance(one, CpusTakeTurns)}
    return named | {
        f"{one.work} {[victim.level for victim in one.victims if not victim.changing]}"
        for one in found
        if isinstance(one, Disturbance)
    }


@pytest.mark.long
@pytest.mark.parametrize("probe", ["topology", "memory"])
def test_two_runs_name_the_same(rtscope: Rtscope, probe: str) -> None:
    """One after the other; the host of a virtual machine may have changed it between them."""
    last = named(rtscope, probe)
    for _ in range(TRIES):
        before, last = last, named(rtscope, probe)
        if before == last:
            return
    pytest.fail(f"{TRIES} times the next run named something else: {before} and {last}")


@needs_root
@pytest.mark.timing("another program can slow the other CPU too")
def test_a_cpu_of_which_another_program_has_half_is_slower(rtscope: Rtscope) -> None:
    cpus = ("--cpus", f"0,{LAST_CPU}")
    with hogged(LAST_CPU, 1, 2, ABOVE_PRIORITY):
        done = rtscope("measure", "topology", *cpus, "-O", "slot=4ms", *QUIET)
    assert done.returncode == 0, done.stderr
    found = findings_of(decode_run(done.stdout.encode()))
    assert [
        (one.cpus, one.than, one.reported)
        for one in found
        if isinstance(one, CpusSlower) and one.is_so == "yes" and "scalar" in one.times
    ] == [([LAST_CPU], [0], None)]
