"""Budgets: limits that a run must keep, written as `max<50us` or `p99.99<30us`."""

import re
from typing import Final

import msgspec

from rtscope.model.errors import RtscopeError
from rtscope.model.units import parse_time_ns

_LIMIT: Final = re.compile(
    r"\s*(max|mean|avg|missed|p[0-9]{1,2}(?:\.[0-9]{1,9})?)\s*(<=|<)\s*(\S.*)"
)


class Limit(msgspec.Struct, frozen=True):
    """One limit: `figure` must be below (or, `inclusive`, at most) `value` in every thread."""

    figure: str
    """max, mean, missed, or p99.9"""
    value: int
    """nanoseconds, or a count for missed"""
    inclusive: bool
    text: str

    @property
    def percent(self) -> float | None:
        """99.9 for the figure p99.9, None for the others."""
        return float(self.figure[1:]) if self.figure.startswith("p") else None


def parse_limit(text: str) -> Limit:
    """Read one limit. Raises RtscopeError."""
    match = _LIMIT.fullmatch(text)
    if match is None:
        raise RtscopeError(
            f"'{text}' is not a budget: write FIGURE<TIME with a figure of max, mean, missed or "
            "pNN.N, such as 'max<50us', 'p99.99<=30us' or 'missed<1'"
        )
    figure = "mean" if match[1] == "avg" else match[1]
    if figure == "missed":
        if not re.fullmatch(r"[0-9]{1,18}", match[3], re.ASCII):
            raise RtscopeError(f"'{text}' is not a budget: missed periods are a plain count")
        value = int(match[3])
    else:
        value = parse_time_ns(match[3])
    return Limit(figure, value, match[2] == "<=", text.replace(" ", ""))
