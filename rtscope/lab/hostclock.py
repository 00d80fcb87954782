# SPDX-License-Identifier: GPL-2.0-only
"""The clock that an emulated x86 machine has where time is the host's."""

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
    """How fast QEMU lets the guest's time stamp counter run, to 1 MHz; None where nobody can tell.

    It gives the guest the host's own counter, as include/qemu/timer.h reads it. A kernel with no
    other clock would measure that against the emulated PIT, which a busy host lets fail. Raises
    RtscopeError where the agent does not run.
    """
    if os.uname().machine != "x86_64":
        return None
    with started_agent(_COUNTER) as agent:
        for line in agent.lines(_SILENCE_S):
            if isinstance(line, ThreadResult) and (hz := line.facts.get("frequency_hz")):
                return round(hz / _HZ_PER_MHZ) * 1000
    return None
