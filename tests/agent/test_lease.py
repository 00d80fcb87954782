# SPDX-License-Identifier: GPL-2.0-only
"""A pause that outlasts the watchdog's lease ends no probe, and none measures its wait for it."""

import signal
import time

import pytest

from tests.agent.probing import lines_left, needs_root, of_type, started, undisturbed

PROBES = (
    "cyclic", "gtod", "noise", "sched", "async", "signal", "loop", "pi", "migrate", "scaling",
)  # fmt: skip


@needs_root
@pytest.mark.parametrize("probe", PROBES)
def test_a_lease_that_is_renewed_late_ends_no_probe(probe: str) -> None:
    options = ("-D", "60s", "--watchdog", "400ms", "--progress", "50ms")
    with undisturbed(), started(probe, *options) as process:
        process.send_signal(signal.SIGSTOP)
        time.sleep(0.7)
        process.send_signal(signal.SIGCONT)
        time.sleep(0.6)
        process.terminate()
        lines = lines_left(process)
    assert [line["code"] for line in of_type(lines, "warning") if line["code"] == "watchdog"] == []
    assert lines[-1]["status"] == "interrupted"
    late = [line for line in of_type(lines, "progress") if line["time_ns"] > 0.9e9]
    counted = [sum(thread["count"] for thread in line["threads"]) for line in late]
    assert counted[-1] > counted[0]
