# SPDX-License-Identifier: GPL-2.0-only
"""Names and values of the probes' own metrics: a name ends in its unit, or it is a count."""

import math
import re
from typing import Final

from rtscope.wording.plain import plain
from rtscope.wording.values import NOTHING, time_text

_FLAGS: Final = ("pass", "vdso")
_SCALED: Final = {"_hz": ("Hz", 6), "_bytes_per_s": ("B/s", 4), "_operations_per_s": ("/s", 4)}
"""units by how a name ends, and how many digits are shown"""


def metric_title(key: str) -> str:
    """ "longest gap" for longest_gap_ns, "drift per s" for drift_ns_per_s, "L1 load"."""
    key = re.sub(r"(_bytes|(?<=_operations))_per_s$", "", plain(key))
    words = [word for word in key.split("_") if word not in ("ns", "percent", "hz")]
    text = re.sub(r"^l([1-3])\b", r"L\1", " ".join(words))
    return re.sub(r"([0-9])pct\b", r"\1 %", text)


def metric_text(key: str, value: float | None) -> str:
    """A metric with its unit: 26.5 ns, 10.87 ms, 16.5 %, 2.00 GHz, 3.217 G/s, 12,345, yes."""
    if value is None or not math.isfinite(value):
        return NOTHING
    parts = key.split("_")
    if "ns" in parts:
        return f"{value:.4g} ns" if 0 < abs(value) < 1000 else time_text(value)
    for end, (unit, digits) in _SCALED.items():
        if f"_{key}".endswith(end):
            return _scaled(value, unit, digits)
    if parts[-1] == "percent":
        return f"{value:.4g} %"
    if key in _FLAGS and value in (0, 1):
        return "yes" if value else "no"
    return f"{value:,.0f}" if value % 1 == 0 else f"{value:,.6g}"


def _scaled(value: float, unit: str, digits: int) -> str:
    for scale, prefix in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if value >= scale:
            return f"{value / scale:.{digits}g} {prefix}{unit}"
    return f"{value:.{digits}g} {unit}"
