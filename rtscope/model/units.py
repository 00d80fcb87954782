# SPDX-License-Identifier: GPL-2.0-only
"""Times with units, as people write them; integer nanoseconds inside."""

import math
import re
from collections.abc import Sequence
from enum import StrEnum
from typing import Final

from rtscope.model.errors import RtscopeError

NS_PER_UNIT: Final = {
    "ns": 1,
    "us": 1_000,
    "µs": 1_000,
    "μs": 1_000,
    "ms": 1_000_000,
    "s": 1_000_000_000,
    "m": 60 * 1_000_000_000,
    "min": 60 * 1_000_000_000,
    "h": 3600 * 1_000_000_000,
    "d": 86400 * 1_000_000_000,
}
LONGEST_NS: Final = 2**63 - 1


class Unit(StrEnum):
    """A unit in which other tools print latencies."""

    US = "us"
    NS = "ns"


_TIME = re.compile(r"\s*([0-9]{1,15}(?:\.[0-9]{1,9})?)\s*([a-zµμ]*)\s*", re.ASCII | re.IGNORECASE)


def parse_time_ns(text: str, bare_unit: str | None = None) -> int:
    """Read "200us", "1.5 ms" or "30s" as integer nanoseconds.

    A bare number takes `bare_unit`, or is refused where that is None. Raises RtscopeError.
    """
    match = _TIME.fullmatch(text)
    unit = (match[2].lower() or bare_unit) if match else None
    if match is None or unit not in NS_PER_UNIT:
        raise RtscopeError(
            f"'{text}' is not a time: write a number and a unit, such as 200us, 1ms, 30s, 5m or 2h"
        )
    whole, _, fraction = match[1].partition(".")
    scale = NS_PER_UNIT[unit]
    ns = int(whole) * scale + (int(fraction) * scale // 10 ** len(fraction) if fraction else 0)
    if ns > LONGEST_NS:
        raise RtscopeError(f"'{text}' is longer than 292 years, the longest time that can be held")
    return ns


def counted(count: int, noun: str) -> str:
    """A count with its noun: "1 sample", "1,204 samples"."""
    return f"{count:,} {noun}{'' if count == 1 else 's'}"


def format_size(size: float) -> str:
    """A number of bytes: 48 KiB, 2 MiB, 1.5 MiB."""
    for scale, unit in ((1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB")):
        if size >= scale:
            return f"{size / scale:.4g} {unit}"
    return f"{size:g} B"


def format_ns(ns: float) -> str:
    """A latency for people: microseconds below 10 ms, then ms and s; three significant places."""
    if abs(ns) < 10_000_000:
        return f"{ns / 1_000:.{_digits_of_us(abs(ns))}f} us"
    if abs(ns) < 10_000_000_000:
        return f"{ns / 1_000_000:.2f} ms"
    return f"{ns / 1_000_000_000:.2f} s"


def format_column_ns(values: Sequence[float | None], missing: str) -> list[str]:
    """Latencies of one column, in the unit of the largest and with the digits of the smallest.

    Less than 1 ns, as a deviation may be, gets no more digits than that.
    """
    known = [abs(value) for value in values if value]
    largest, smallest = max(known, default=0.0), min(known, default=0.0)
    if largest < 10_000_000:
        scale, unit, digits = 1e3, "us", _digits_of_us(smallest)
    else:
        scale, unit = (1e6, "ms") if largest < 10_000_000_000 else (1e9, "s")
        digits = max(2, 2 - math.floor(math.log10(max(1.0, smallest) / scale)))
    return [missing if ns is None else f"{ns / scale:,.{digits}f} {unit}" for ns in values]


def _digits_of_us(ns: float) -> int:
    return 3 if ns < 1_000 else 2 if ns < 100_000 else 1


def format_signed_ns(ns: float) -> str:
    """A difference: +1.50 us, −0.020 us; 0 has no sign."""
    return f"{'+' if ns > 0 else '−' if ns < 0 else ''}{format_ns(abs(ns))}"


def format_duration_ns(ns: int) -> str:
    """A span of time in the unit it was most likely asked in: 30s, 250ms, 200us, 90ns."""
    for unit in ("s", "ms", "us"):
        if ns and ns % NS_PER_UNIT[unit] == 0:
            return f"{ns // NS_PER_UNIT[unit]}{unit}"
    return f"{ns}ns"
