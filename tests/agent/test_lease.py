# SPDX-License-Identifier: GPL-2.0-only
"""A pause that outlasts the watchdog's lease ends no probe, and none measures its wait for it."""

import json
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
        begun = None
        assert process.stdout is not None
        for raw in process.stdout:
            line = json.loads(raw)
            if line["type"] != "progress" or line["time_ns"] < 0.9e9:
                continue
            counted = sum(thread["count"] for thread in line["threads"])
            begun = counted if begun is None else begun
            if counted > begun:
                break
        process.terminate()
        lines = lines_left(process)
    assert [line["code"] for line in of_type(lines, "warning") if line["code"] == "watchdog"] == []
    assert lines[-1]["status"] == "interrupted"
