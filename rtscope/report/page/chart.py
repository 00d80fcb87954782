# SPDX-License-Identifier: GPL-2.0-only
"""A chart as data: panels with axes and marks, or a matrix of cells. `svg.py` draws it."""

from collections.abc import Sequence
from typing import Final, Literal

import msgspec
import numpy as np
from numpy.typing import ArrayLike, NDArray

from rtscope.report.page.scale import Scale, Tick, ticks

GREY = -1
"""the colour of thresholds and published values"""

Floats = NDArray[np.float64]
Shape = Literal["line", "hv", "vh", "dots", "band"]
Shown = Literal["", "each", "all"]


class Axis(msgspec.Struct, frozen=True):
    """One axis of a panel."""

    title: str
    scale: Scale
    ticks: list[Tick]
    unit: str = ""
    """of the read-out under the pointer; "%" on a percentile axis stands for 1 - 1 / value, and
    "date" for seconds since 1970"""
    rows: Sequence[str] = ()
    """names instead of numbers, from the top; the ticks are those names"""


class Mark(msgspec.Struct, frozen=True, kw_only=True):
    """A line, dots or a band. `hv` and `vh` are steps that go across first, or up and down first.

    A band is the area that its points surround.
    """

    name: str
    """marks of one name in a chart share an entry of its legend"""
    x: Floats
    y: Floats
    """NaN is a gap"""
    shape: Shape = "line"
    colour: int = 0
    dash: int = 0
    legend: bool = True
    soft: bool = False
    """fainter than the other marks of its name"""
    shown: Shown = ""
    """with which choice of the page's switch for lines; "" with both"""
    low: Sequence[float] = ()
    high: Sequence[float] = ()
    """limits of each value: of y, or of x where the panel has rows"""
    texts: Sequence[str] = ()
    """text of the read-out for each point; empty: the values"""
    links: Sequence[str] = ()
    """of dots: the address that each opens"""


class Bars(msgspec.Struct, frozen=True, kw_only=True):
    """Bars along x, one for each value, in the panel's rows."""

    name: str
    rows: Sequence[int]
    start: Sequence[float]
    end: Sequence[float]
    slot: int = 0
    slots: int = 1
    """bars of one row lie below each other in its slots"""
    colour: int = 0
    labels: Sequence[str] = ()
    """text at the end of each bar"""
    low: Sequence[float] = ()
    high: Sequence[float] = ()


LEVELS: Final = 8
"""of the darkness of cells"""


class Cells(msgspec.Struct, frozen=True, kw_only=True):
    """Columns of cells, darker where more samples are."""

    start: Floats
    end: Floats
    """of each column, on the x axis"""
    edges: Floats
    """of the rows, on the y axis, from the lowest"""
    levels: Sequence[Sequence[int]]
    """of each column, a level for each row: 0 is empty, LEVELS the darkest"""


class Note(msgspec.Struct, frozen=True):
    """A text that points at a place of the x axis."""

    x: float
    text: str
    shown: Shown = ""


class Panel(msgspec.Struct, frozen=True, kw_only=True):
    """A pair of axes and the elements between them."""

    x: Axis
    y: Axis
    marks: list[Mark] = []
    bars: list[Bars] = []
    cells: Cells | None = None
    notes: list[Note] = []
    title: str = ""
    height: float = 22.0
    """rem"""
    choice: Literal["", "log", "linear"] = ""
    """with which choice of the page's switch for the axis it is shown; "" with both"""


class Heat(msgspec.Struct, frozen=True):
    """A matrix of cells, darker where the share is greater."""

    across: str
    down: str
    columns: Sequence[str]
    rows: Sequence[str]
    texts: Sequence[Sequence[str]]
    shares: Sequence[Sequence[float | None]]
    """0 to 1"""
    hints: Sequence[Sequence[str]] = ()
    """shown under the pointer"""


class Chart(msgspec.Struct, frozen=True, kw_only=True):
    """One figure of a page."""

    title: str
    note: str = ""
    panels: list[Panel] = []
    heat: Heat | None = None
    id: str = ""

    @property
    def marks(self) -> list[Mark]:
        """The marks of all panels."""
        return [mark for panel in self.panels for mark in panel.marks]

    @property
    def bars(self) -> list[Bars]:
        """The bars of all panels."""
        return [bars for panel in self.panels for bars in panel.bars]


def axis(title: str, scale: Scale, unit: str = "", most: int = 11) -> Axis:
    """An axis with the scale's own ticks."""
    return Axis(title, scale, ticks(scale, most), unit)


def row_axis(names: Sequence[str]) -> Axis:
    """A vertical axis of names, the first on top."""
    marked = [Tick(number + 0.5, name) for number, name in enumerate(names)]
    return Axis("", Scale(len(names), 0), marked, rows=names)


def floats(values: ArrayLike | Sequence[float | None]) -> Floats:
    """An array whose missing values are NaN."""
    return np.asarray(values, dtype=np.float64)


def rule(
    name: str, at: float, from_: float, to: float, *, upright: bool, colour: int = GREY, dash: int
) -> Mark:
    """A straight line across a panel, from `from_` to `to` of its other axis."""
    along, across = floats([from_, to]), floats([at, at])
    x, y = (across, along) if upright else (along, across)
    return Mark(name=name, x=x, y=y, colour=colour, dash=dash)
