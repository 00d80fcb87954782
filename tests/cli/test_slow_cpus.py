# SPDX-License-Identifier: GPL-2.0-only
"""A CPU of which something else has half is named."""

import pytest

from rtscope.model.cpulist import format_cpu_list
from rtscope.model.finding import CpusSlower
from rtscope.statistics.findings import findings_of
from rtscope.store.runfile import decode_run
from tests.agent.probing import LAST_CPU, hogged, needs_root, needs_two_cpus
from tests.cli.conftest import Rtscope

pytestmark = [needs_root, needs_two_cpus]

CPUS = ("--cpus", format_cpu_list([0, LAST_CPU]), "--json", "--no-report")
ABOVE_PRIORITY = 95


@pytest.mark.timing("another program can slow the other CPU too")
def test_a_cpu_of_which_another_program_has_half_is_slower(rtscope: Rtscope) -> None:
    with hogged(LAST_CPU, 1, 2, ABOVE_PRIORITY):
        done = rtscope("measure", "topology", *CPUS, "-O", "slot=4ms", "--quiet")
    assert done.returncode == 0, done.stderr
    found = findings_of(decode_run(done.stdout.encode()))
    assert [
        (one.cpus, one.than, one.reported)
        for one in found
        if isinstance(one, CpusSlower) and one.is_so == "yes" and "scalar" in one.times
    ] == [([LAST_CPU], [0], "")]
