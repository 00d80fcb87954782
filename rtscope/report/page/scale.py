# SPDX-License-Identifier: GPL-2.0-only
"""Axis scales: where a value lies on an axis, and which values get a tick."""

import math
from collections.abc import Sequence
from typing import Final, NamedTuple

import msgspec
import numpy as np
from numpy.typing import ArrayLike, NDArray

MOST_TICKS: Final = 11
MOST_ON_NARROW: Final = 6
_LEAST_TICKS: Final = 4
_LINEAR_BELOW: Final = 10
"""a logarithmic axis over a longer range would have linear ticks at its end alone"""
_LEAST_LENGTH: Final = 1e-300
"""of a linear axis: the steps of a shorter one are 0"""
_LEAST_SHARE: Final = 1e-18
_ONE_TWO_FIVE: Final = (1, 2, 5)


class Scale(msgspec.Struct, frozen=True):
    """A linear or logarithmic axis. `low` is at its start; it may be the greater value."""

    low: float
    high: float
    log: bool = False

    def share(self, values: ArrayLike) -> NDArray[np.float64]:
        """Position of each value: 0 at the start of the axis, 1 at its end.

        A logarithmic axis has no place for 0: values below half of its start are moved there.
        """
        given = np.asarray(values, dtype=np.float64)
        if not self.log:
            return (given - self.low) / (self.high - self.low)
        return np.log(np.maximum(given, self.low / 2) / self.low) / math.log(self.high / self.low)


class Tick(NamedTuple):
    """A labelled value of an axis."""

    at: float
    text: str
    fine: bool = False
    """a page narrower than 640 px omits it"""


def linear(high: float, low: float = 0.0) -> Scale:
    """A linear scale with a little room beyond `high`, and beyond `low` where that is not 0."""
    if high - low < _LEAST_LENGTH:
        return Scale(low, low + 1.0)
    room = 0.02 * (high - low)
    return Scale(low - room if low else low, high + room)


def logarithmic(low: float, high: float) -> Scale:
    """A logarithmic scale with a little room at both ends, and at least a factor of 1.5 long.

    Values that are not above 0, which only a broken file has, are left out of it.
    """
    high = high if high > 0 else 1.0
    low = max(min(low, high), high * _LEAST_SHARE)
    ratio = max(high / low, 1.2)
    room = max(ratio**0.02, 1.5**0.5 / ratio**0.5)
    return Scale(low / room, low * ratio * room, log=True)


def ticks(scale: Scale, most: int = MOST_TICKS) -> list[Tick]:
    """Round values of the scale with their texts, at most `most`."""
    low, high = sorted((scale.low, scale.high))
    if not scale.log:
        return _marked(_linear(low, high, min(most, 9)), _linear(low, high, 5))
    rows = [_of_decades(low, high, digits) for digits in (range(1, 10), _ONE_TWO_FIVE)]
    rows += [_powers(low, high, step) for step in (1, 2, 3, 6, 12)]
    fitting = [row for row in rows if len(row) <= most]
    if len(fitting[0]) < _LEAST_TICKS:
        thirds = _of_decades(low, high, (1, 3))
        if high < low * _LINEAR_BELOW:
            fitting.insert(0, _linear(low, high, min(most, 9)))
        elif len(fitting[0]) < len(thirds) <= most:
            fitting.insert(0, thirds)
    narrow = [row for row in fitting[1:] if 2 < len(row) <= MOST_ON_NARROW]
    return _marked(fitting[0], narrow[0] if narrow else fitting[0][::2])


def percentile_ticks(scale: Scale) -> list[Tick]:
    """Ticks of an axis of 1 / (share of samples beyond): 0 %, 50 %, 90 %, 99 % ..."""
    nines = range(1, math.floor(math.log10(scale.high) + 1e-9) + 1)
    shown = [Tick(10.0**n, f"{100 - 100 / 10**n:.{max(0, n - 2)}f} %") for n in nines]
    every = 1 + len(shown) // MOST_ON_NARROW
    return [
        Tick(1, "0 %"),
        Tick(2, "50 %", len(shown) > 2),
        *(tick._replace(fine=bool(number % every)) for number, tick in enumerate(shown[::-1])),
    ]


def number_text(value: float) -> str:
    """A number of an axis: 0.005, 20, 1,000."""
    return f"{value:,.10g}"


def _marked(values: Sequence[float], narrow: Sequence[float]) -> list[Tick]:
    few = len(values) <= MOST_ON_NARROW
    return [Tick(value, number_text(value), not few and value not in narrow) for value in values]


def _linear(low: float, high: float, most: int) -> list[float]:
    step = round_up((high - low) / most)
    first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
    return [float(f"{number * step:.12g}") for number in range(first, last + 1)]


def round_up(value: float) -> float:
    """The next of 1, 2, 5, 10, 20, 50 ... times a power of ten."""
    power: float = 10.0 ** math.floor(math.log10(value))
    return next(step * power for step in (1, 2, 5, 10) if step * power >= value * (1 - 1e-9))


def _of_decades(low: float, high: float, digits: Sequence[int]) -> list[float]:
    decades = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    values = (float(f"{digit}e{decade}") for decade in decades for digit in digits)
    return [value for value in values if low <= value <= high]


def _powers(low: float, high: float, step: int) -> list[float]:
    decades = range(math.ceil(math.log10(low)), math.floor(math.log10(high)) + 1)
    return [float(f"1e{decade}") for decade in decades if decade % step == 0]
