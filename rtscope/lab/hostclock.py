# SPDX-License-Identifier: GPL-2.0-only
"""The clock of an x86 VM whose time is the host's."""

import os
from functools import cache
from typing import Final

from rtscope.model.request import Request
from rtscope.target.local import started_agent
from rtscope.target.protocol import ThreadResult

_SILENCE_S: Final = 30.0
_HZ_PER_MHZ: Final = 1e6
_COUNTER: Final = Request(probe="gtod", samples=10, policy="other", options={"clock": "rdtsc"})


@cache
def emulated_tsc_khz() -> int | None:
    """The frequency of the guest's time stamp counter, to 1 MHz; None if unknown. QEMU gives the
    guest the host's counter, as include/qemu/timer.h reads it. A kernel without another clock
    would calibrate it against the emulated PIT, which fails on a busy host. Raises
    RtscopeError if the agent does not run.
    """
    if os.uname().machine != "x86_64":
        return None
    with started_agent(_COUNTER) as agent:
        for line in agent.lines(_SILENCE_S):
            if isinstance(line, ThreadResult) and (hz := line.metrics.get("frequency_hz")):
                return round(hz / _HZ_PER_MHZ) * 1000
    return None
