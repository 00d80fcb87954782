# SPDX-License-Identifier: GPL-2.0-only
"""Ranges of the numbers of a plan: the agent's where a key is an option of it, else the model's."""

from functools import cache
from typing import Final

import msgspec
from msgspec import inspect

from rtscope.model.description import Option
from rtscope.model.plan import Measure, PlacementSeries, Plan
from rtscope.model.units import LONGEST_NS
from rtscope.target.description import our_description

ALGORITHM: Final = "scaling"
"""the probe that computes the reference algorithm"""


class Range(msgspec.Struct, frozen=True):
    """The smallest and the largest number; None: no limit of ours."""

    low: int | None = None
    high: int | None = None

    def has(self, number: int) -> bool:
        """Whether the number is in this range."""
        return (self.low is None or self.low <= number) and (
            self.high is None or number <= self.high
        )

    def words(self, before: str) -> str:
        """Return `before` with the range, such as "a number from 1 to 99"."""
        low = "" if self.low is None else f"from {self.low}"
        high = "" if self.high in (None, LONGEST_NS) else f"to {self.high}"
        return " ".join(word for word in (before, low, high) if word)


@cache
def number_ranges() -> dict[str, Range]:
    """Return the range of each key that is a number. Raises RtscopeError."""
    session = {option.name: option for option in our_description().session}
    algorithm = our_description().options_of(ALGORITHM) or {}
    return {
        **_ranges(Plan, {}),
        **_ranges(Measure, session),
        **_ranges(PlacementSeries, algorithm),
    }


def _ranges(record: type[msgspec.Struct], options: dict[str, Option]) -> dict[str, Range]:
    info = inspect.type_info(record)
    assert isinstance(info, inspect.StructType)
    ranges = {}
    for field in info.fields:
        kinds = field.type.types if isinstance(field.type, inspect.UnionType) else (field.type,)
        for kind in kinds:
            if isinstance(kind, inspect.IntType):
                option = options.get(field.encode_name)
                low = kind.ge if kind.ge is not None or not option else option.min
                high = kind.le if kind.le is not None or not option else option.max
                ranges[field.encode_name] = Range(low, high)
    return ranges
