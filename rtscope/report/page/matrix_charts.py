# SPDX-License-Identifier: GPL-2.0-only
"""Matrices as charts: curves over the working set, else heat maps."""

from typing import Final

from rtscope.model.run import Matrix, Run
from rtscope.model.units import format_size
from rtscope.report.page.chart import Axis, Chart, Heat, Mark, Panel, axis, floats, rule
from rtscope.report.page.scale import Tick, linear, logarithmic
from rtscope.statistics.reach import reported_caches, seen_caches, sizes_of
from rtscope.wording.matrices import matrix_title, value_text
from rtscope.wording.plain import plain

_AXES_OF: Final = {"ratio": ("other CPU", "slowed CPU"), "operations_per_s": ("work", "CPU")}
"""across and down a heat map"""
_AXES: Final = {"ns": ("a load (ns)", 1.0, "ns"), "bytes_per_s": ("GB/s", 1e-9, "GB/s")}
"""of curves: title, scale of the figures, unit"""
_TICKS: Final = [4**power for power in range(5, 26)]
"""sizes in bytes: 1 KiB, 4 KiB, 16 KiB, ..."""
_MOST_TICKS_NARROW: Final = 5
_SLOWEST_DRAWN: Final = 3.0
"""a ratio from which on the colour is that of the most"""


def matrix_chart(run: Run, matrix: Matrix, label: str) -> Chart:
    """Curves where the columns are working sets, else a heat map."""
    return _curves(run, matrix, label) if sizes_of(matrix) else heat_map(matrix, label)


def _titled(matrix: Matrix, label: str) -> str:
    return f"{label}: {matrix_title(matrix)}" if label else matrix_title(matrix)


def _curves(run: Run, matrix: Matrix, label: str) -> Chart:
    """Charts over the size of the working set, with the reported and the seen caches."""
    title, factor, unit = _AXES.get(matrix.unit, (plain(matrix.unit), 1.0, plain(matrix.unit)))
    sizes = sizes_of(matrix)
    known = [value * factor for row in matrix.value for value in row if value is not None]
    if not known:
        return Chart(title=_titled(matrix, label))
    kib = floats([size / 1024 for size in sizes])
    marks = [
        Mark(
            name=plain(name),
            x=kib,
            y=floats([None if value is None else value * factor for value in values]),
            colour=number,
        )
        for number, (name, values) in enumerate(zip(matrix.rows, matrix.value, strict=True))
    ]
    seen = [size for size in seen_caches(run) if size in sizes]
    first = matrix.value[0]
    marks += [
        rule(f"L{level}: {format_size(size)}", size / 1024, min(known), max(known), upright=True,
             dash=dash)
        for dash, (level, size) in enumerate(reported_caches(run).items(), 1)
    ]  # fmt: skip
    note = "Medians of the repeats. Vertical lines: caches that the kernel reports."
    if seen:
        at = [first[sizes.index(size)] for size in seen]
        marks.append(
            Mark(
                name="caches seen",
                x=floats([size / 1024 for size in seen]),
                y=floats([None if value is None else value * factor for value in at]),
                shape="dots",
                texts=[format_size(size) for size in seen],
            )
        )
        note += (
            f" Dots: where the time of loads shows one to end: {', '.join(map(format_size, seen))}."
        )
    shown = [size for size in _TICKS if sizes[0] <= size <= sizes[-1]]
    every = 1 + len(shown) // _MOST_TICKS_NARROW
    scale = logarithmic(min(known), max(known)) if matrix.unit == "ns" else linear(max(known))
    panel = Panel(
        x=Axis(
            "working set",
            logarithmic(float(kib[0]), float(kib[-1])),
            [Tick(s / 1024, format_size(s), bool(n % every)) for n, s in enumerate(shown)],
            "KiB",
        ),
        y=axis(title, scale, unit),
        marks=marks,
    )
    return Chart(title=_titled(matrix, label), note=note, panels=[panel])


def heat_map(matrix: Matrix, label: str) -> Chart:
    """The matrix in colours, darkest where the figure is greatest."""
    across, down = _AXES_OF.get(matrix.unit, ("to", "from"))
    if not any(value is not None for row in matrix.value for value in row):
        return Chart(title=_titled(matrix, label))
    heat = Heat(
        across,
        down,
        [plain(name) for name in matrix.columns],
        [plain(name) for name in matrix.rows],
        [
            ["" if value is None else value_text(value, matrix.unit) for value in row]
            for row in matrix.value
        ],
        _shares(matrix),
        _limits(matrix),
    )
    return Chart(title=_titled(matrix, label), note=_note(matrix), heat=heat)


def _shares(matrix: Matrix) -> list[list[float | None]]:
    """Darkness of each cell; different works are no measure of each other, so by column there."""
    if matrix.unit == "operations_per_s":
        ends = [(0.0, max((v or 0.0 for v in column), default=0.0))
                for column in zip(*matrix.value, strict=True)]  # fmt: skip
    else:
        known = [value for row in matrix.value for value in row if value is not None]
        whole = (1.0, _SLOWEST_DRAWN) if matrix.unit == "ratio" else (min(known), max(known))
        ends = [whole] * len(matrix.columns)
    return [
        [
            None if value is None else (value - low) / (high - low) if high > low else 1.0
            for value, (low, high) in zip(row, ends, strict=True)
        ]
        for row in matrix.value
    ]


def _note(matrix: Matrix) -> str:
    if matrix.unit == "ratio":
        return (
            "How many times as long the row's work takes while the column's runs; 1.00: not "
            "slowed. Medians of the repeats, their 95 % limits under the pointer."
        )
    return "Medians of the repeats, their 95 % limits under the pointer."


def _limits(matrix: Matrix) -> list[list[str]]:
    return [
        [
            ""
            if low is None or high is None
            else f"{value_text(low, matrix.unit)} to {value_text(high, matrix.unit)}"
            for low, high in zip(lows, highs, strict=True)
        ]
        for lows, highs in zip(matrix.low, matrix.high, strict=True)
    ]
