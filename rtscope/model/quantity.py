# SPDX-License-Identifier: GPL-2.0-only
"""What a sample of each probe is: a latency only where something was late."""

from typing import Final

LATENCY: Final = "latency"
DELAY: Final = "delay"
"""a latency whose deadline is an event, not a time"""
PERIODIC: Final = ("cyclic",)
"""probes whose samples are late against periodic deadlines"""
_QUANTITIES: Final = {
    "event": DELAY,
    "exec": "time",
    "gtod": "time between two reads",
    "interfere": "time",
    "loop": "period",
    "memory": "time of a load",
    "noise": "gap",
    "oslat": "gap",
    "pi": "wait",
    "scale": "time",
    "scaling": "time",
    "sched": DELAY,
    "signal": DELAY,
    "topology": "time of a message",
}
_COARSE: Final = "step of a coarse clock"


def quantity_of(probe: str, series: str = "") -> str:
    """The quantity of a probe's samples, or of those of one of its series."""
    if probe == "gtod" and series.endswith("_COARSE"):
        return _COARSE
    return _QUANTITIES.get(probe, LATENCY)
