# SPDX-License-Identifier: GPL-2.0-only
"""What runs a store is searched for, and how people write it."""

import operator
import re
from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any, Final, Literal, cast

import msgspec

from rtscope.model.budget import RESPONSE, parse_limit
from rtscope.model.errors import RtscopeError
from rtscope.store.searchable import EVERY_PROBES

Comparison = Literal["<", "<=", ">", ">="]
OPERATORS: Final[dict[Comparison, Callable[[Any, float], Any]]] = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}
"""of numbers, and of columns of a database"""

_CONDITION: Final = re.compile(r"\s*([a-z][a-z0-9_.]*)\s*(<=|>=|<|>)\s*(\S.*)", re.ASCII)
_AGE: Final = re.compile(r"([0-9]{1,5})([hdw])", re.ASCII)
_HOURS: Final = {"h": 1, "d": 24, "w": 24 * 7}


class Condition(msgspec.Struct, frozen=True):
    """A metric of all threads of a run (searchable_metrics), or a percentile of their response
    times (responses.py), compared with a value."""

    metric: str
    comparison: Comparison
    value: float
    """ns, a count, or as the probe has it"""


class Search(msgspec.Struct, frozen=True):
    """Runs that meet all of this; the one saved last first."""

    experiment: str = ""
    """the beginning of its id"""
    machine: str = ""
    """the beginning of its name"""
    kernel: str = ""
    """the beginning of its release"""
    tags: Sequence[str] = ()
    """each is a tag of the run"""
    without_tags: Sequence[str] = ()
    """none is a tag of the run"""
    metrics: Sequence[Condition] = ()
    since: datetime | None = None
    before: datetime | None = None
    limit: int | None = None


def parse_condition(text: str) -> Condition:
    """Read a condition such as p99.9>50us or missed>=1. Raises RtscopeError."""
    match = _CONDITION.fullmatch(text)
    if match is None:
        raise RtscopeError(
            f"'{text[:80]}' is not a condition: write METRIC>TIME (default unit: us), or <, <=, "
            f">=, with one of {', '.join(EVERY_PROBES)}, p99.9.response or a metric of the probe, "
            "such as 'p99.9>50us' or 'missed>=1'"
        )
    limit = parse_limit(f"{match[1]}<{match[3]}")
    if limit.percent is not None and limit.metric.removesuffix(RESPONSE) not in EVERY_PROBES:
        raise RtscopeError(
            f"runs cannot be searched by {limit.metric}: the store has {', '.join(EVERY_PROBES)} "
            "and the probes' metrics"
        )
    return Condition(limit.metric, cast("Comparison", match[2]), float(limit.value))


def parse_moment(text: str, option: str) -> datetime:
    """Read a date or time in UTC, or an age such as 90d. Raises RtscopeError."""
    age = _AGE.fullmatch(text)
    if age:
        return datetime.now(UTC) - timedelta(hours=int(age[1]) * _HOURS[age[2]])
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        raise RtscopeError(
            f"{option} {text[:40]} is not a date such as 2026-11-01, nor an age such as 90d, 2w or "
            "12h"
        ) from None
    return moment.astimezone(UTC) if moment.tzinfo else moment.replace(tzinfo=UTC)
