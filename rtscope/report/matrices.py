"""The tables of figures that belong to no thread alone: in columns, as heat maps and as curves."""

from typing import Any, Final

from rtscope.model.run import Matrix, Run
from rtscope.report.chart import Chart
from rtscope.report.columns import Column
from rtscope.report.plots import figure_text
from rtscope.report.words import NOTHING, plain
from rtscope.statistics.reach import reported_caches, seen_caches, size_text, sizes_of

_TITLES: Final = {
    ("speed", "operations_per_s"): "What each CPU does alone",
    ("message", "ns"): "Time of a message from CPU to CPU",
    ("awake", "ratio"): "Slowdown by a CPU that is only awake",
    ("scalar", "ratio"): "Slowdown in scalar arithmetic",
    ("vector", "ratio"): "Slowdown in vector arithmetic",
    ("L1", "ratio"): "Slowdown of loads from the L1 cache",
    ("L2", "ratio"): "Slowdown of loads from the L2 cache",
    ("L3", "ratio"): "Slowdown of loads from the L3 cache",
    ("memory", "ratio"): "Slowdown of reading memory",
    ("latency", "ns"): "Time of a load",
    ("read", "bytes_per_s"): "Reading",
    ("write", "bytes_per_s"): "Writing",
    ("copy", "bytes_per_s"): "Copying",
    ("disturbance", "ratio"): "Slowdown of the first CPU's loads by what the others do",
    ("partitioned", "ratio"): "The same with half of the caches for the first CPU",
}
_AXES_OF: Final = {"ratio": ("beside", "slowed"), "operations_per_s": ("work", "CPU")}
"""of heat maps"""
_AXES: Final = {"ns": ("a load (ns)", 1.0), "bytes_per_s": ("GB/s", 1e-9)}
"""of curves: title, and scale of the figures"""
_TICKS: Final = [4**power for power in range(5, 26)]
"""sizes in bytes: 1 KiB, 4 KiB, 16 KiB, ..."""
_ROW_PX: Final = 34
_FRAME_PX: Final = 110
_LEAST_ROWS: Final = 3
_SLOWEST_DRAWN: Final = 3.0
"""a ratio from which on the colour is that of the most"""


def matrix_title(matrix: Matrix) -> str:
    """What a person calls it."""
    return _TITLES.get((matrix.name, matrix.unit), plain(matrix.name))


def figure_of(value: float | None, unit: str) -> str:
    """A figure with its unit: 69.1 ns, 1.93 times, 12.1 GB/s."""
    if value is None:
        return NOTHING
    if unit == "ratio":
        return f"{value:.2f}"
    if unit == "ns":
        return f"{value:.3g} ns" if value < 1000 else f"{value / 1000:.4g} us"
    if unit == "bytes_per_s":
        return f"{value / 1e9:.3g} GB/s"
    if unit == "operations_per_s":
        return f"{value / 1e9:.3g} billion a second"
    return f"{value:.4g} {plain(unit)}"


def matrix_columns(matrix: Matrix) -> list[Column]:
    """One row for each of the matrix; for each size where its columns are working sets."""
    if sizes := sizes_of(matrix):
        return [
            Column("working set", 0, [size_text(size) for size in sizes]),
            *(
                Column(plain(name), place + 1, [figure_of(one, matrix.unit) for one in values])
                for place, (name, values) in enumerate(zip(matrix.rows, matrix.value, strict=True))
            ),
        ]
    return [
        Column("", 0, [plain(row) for row in matrix.rows], left=True),
        *(
            Column(
                plain(name), place + 1, [figure_of(row[place], matrix.unit) for row in matrix.value]
            )
            for place, name in enumerate(matrix.columns)
        ),
    ]


def matrix_chart(run: Run, matrix: Matrix, label: str) -> Chart:
    """Curves where the columns are working sets, else a heat map."""
    return _curves(run, matrix, label) if sizes_of(matrix) else heat_map(matrix, label)


def _curves(run: Run, matrix: Matrix, label: str) -> Chart:
    """Figures over the size of the working set, with the caches: those told of and those seen."""
    title = matrix_title(matrix)
    axis, scale = _AXES.get(matrix.unit, (plain(matrix.unit), 1.0))
    sizes = sizes_of(matrix)
    kib = [size / 1024 for size in sizes]
    traces: list[dict[str, Any]] = [
        {
            "mode": "lines",
            "name": figure_text(plain(name)),
            "colour": number,
            "x": kib,
            "y": [None if value is None else value * scale for value in values],
        }
        for number, (name, values) in enumerate(zip(matrix.rows, matrix.value, strict=True))
    ]
    known = [value * scale for row in matrix.value for value in row if value is not None]
    caches = reported_caches(run).items()
    marks: list[dict[str, Any]] = [
        {
            "mode": "lines",
            "name": f"L{level}: {size_text(size)}",
            "colour": -1,
            "dash": dash % 6,
            "x": [size / 1024] * 2,
            "y": [min(known), max(known)],
        }
        for dash, (level, size) in enumerate(caches, 1)
        if known
    ]
    note = "Medians of the repeats. Upright lines: caches that the kernel tells of."
    seen = [size for size in seen_caches(run) if size in sizes]
    if seen and known:
        marks.append(
            {
                "mode": "markers",
                "name": "caches seen",
                "colour": 0,
                "x": [size / 1024 for size in seen],
                "y": [traces[0]["y"][sizes.index(size)] for size in seen],
                "text": [size_text(size) for size in seen],
                "hoverinfo": "text+name",
            }
        )
        note += f" Dots: where loads show one to end: {', '.join(map(size_text, seen))}."
    ticks = [size for size in _TICKS if sizes[0] <= size <= sizes[-1]]
    return {
        "id": "",
        "title": f"{label}: {title}" if label else title,
        "note": note,
        "traces": [*traces, *marks] if known else [],
        "layout": {
            "xaxis": {
                "title": {"text": "working set"},
                "type": "log",
                "tickvals": [size / 1024 for size in ticks],
                "ticktext": [size_text(size) for size in ticks],
            },
            "yaxis": {"title": {"text": axis}, **({"type": "log"} if matrix.unit == "ns" else {})},
        },
    }


def heat_map(matrix: Matrix, label: str) -> Chart:
    """The matrix in colours, darkest where the figure is greatest."""
    title = matrix_title(matrix)
    trace: dict[str, Any] = {
        "type": "heatmap",
        "x": [figure_text(plain(name)) for name in matrix.columns],
        "y": [figure_text(plain(name)) for name in matrix.rows],
        "z": _of_each_column(matrix) if matrix.unit == "operations_per_s" else matrix.value,
        "text": [
            ["" if value is None else figure_text(figure_of(value, matrix.unit)) for value in row]
            for row in matrix.value
        ],
        "texttemplate": "%{text}",
        "hovertext": _limits(matrix),
        "hoverinfo": "x+y+text",
        "colorscale": "Blues",
        "reversescale": True,
        "showscale": False,
        "xgap": 2,
        "ygap": 2,
    }
    across, down = _AXES_OF.get(matrix.unit, ("to", "from"))
    if matrix.unit == "ratio":
        trace |= {"zmin": 1.0, "zmax": _SLOWEST_DRAWN}
    return {
        "id": "",
        "title": f"{label}: {title}" if label else title,
        "note": _note(matrix),
        "traces": [trace]
        if any(value is not None for row in matrix.value for value in row)
        else [],
        "layout": {
            "height": _FRAME_PX + _ROW_PX * max(len(matrix.rows), _LEAST_ROWS),
            "xaxis": {"type": "category", "showgrid": False, "title": {"text": across}},
            "yaxis": {
                "type": "category",
                "showgrid": False,
                "autorange": "reversed",
                "title": {"text": down, "standoff": 12},
            },
        },
    }


def _of_each_column(matrix: Matrix) -> list[list[float | None]]:
    """Shares of the most in each column: different works are no measure of each other."""
    most = [
        max((v or 0.0 for v in column), default=0.0) for column in zip(*matrix.value, strict=True)
    ]
    return [
        [
            None if value is None or not top else value / top
            for value, top in zip(row, most, strict=True)
        ]
        for row in matrix.value
    ]


def _note(matrix: Matrix) -> str:
    if matrix.unit == "ratio":
        return (
            "How many times as long the row's work takes beside the column's; 1.00: not slowed. "
            "Medians of the repeats, their 95 % limits under the pointer."
        )
    return "Medians of the repeats, their 95 % limits under the pointer."


def _limits(matrix: Matrix) -> list[list[str]]:
    return [
        [
            ""
            if low is None or high is None
            else figure_text(f"{figure_of(low, matrix.unit)} to {figure_of(high, matrix.unit)}")
            for low, high in zip(lows, highs, strict=True)
        ]
        for lows, highs in zip(matrix.low, matrix.high, strict=True)
    ]
