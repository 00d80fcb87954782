"""Where patches change the kernel's source: for the terminal, and as figures on a page."""

from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final

from rich.console import Group, RenderableType
from rich.filesize import decimal
from rich.text import Text

from rtscope.lab.patchstat import Area, PatchStat, together
from rtscope.report.chart import Chart
from rtscope.report.columns import Column, FittedTable
from rtscope.report.page import render_page
from rtscope.report.plots import figure_text
from rtscope.report.words import count_text, plain

_LONGEST_NAME: Final = 60
_BARS: Final = 40
_MOST_PIECES: Final = 8
_RED, _GREEN = 1, 2
_BAR_PX: Final = 24
_FRAME_PX: Final = 100
"""of a figure without its bars"""


def patchstat_view(stats: Sequence[PatchStat]) -> RenderableType:
    """All of them together by area and, where there are several, each by itself."""
    parts: list[RenderableType] = [Text(headline(stats)), Text(), FittedTable(area_columns(stats))]
    if len(stats) > 1:
        parts += [Text(), FittedTable(patch_columns(stats))]
    return Group(*parts)


def patchstat_page(stats: Sequence[PatchStat]) -> str:
    """The same as one HTML file with figures, which opens with no network.

    Raises RtscopeError where plotly's script is missing.
    """
    charts = patchstat_charts(stats)
    return render_page(
        "patchstat.html.jinja",
        {"runs": [], "each": False, "series": [], "marks": [], "charts": charts},
        name=", ".join(_name(stat.name) for stat in stats),
        headline=headline(stats),
        charts=charts,
        areas=area_columns(stats),
        patches=patch_columns(stats) if len(stats) > 1 else [],
    )


def headline(stats: Sequence[PatchStat]) -> str:
    """How many patches, and how long they are with all that they say."""
    whole = together(stats)
    patches = f"{whole.patches:,} patch{'' if whole.patches == 1 else 'es'}"
    return f"{patches}, {decimal(whole.bytes)} with their descriptions"


def area_columns(stats: Sequence[PatchStat]) -> list[Column]:
    """A row for each area, below arch and include one for each of their parts, and the total."""
    whole = together(stats)
    rows = [*_with_parts(whole.areas), whole.total]
    names: list[str | Text] = [
        f"{'  ' if '/' in area.name else ''}{_name(area.name)}" for area in rows[:-1]
    ]
    return [Column("area", 0, [*names, Text("total", style="bold")], left=True), *_counts(rows)]


def patch_columns(stats: Sequence[PatchStat]) -> list[Column]:
    """A row for each patch or series."""
    names: list[str | Text] = [_name(stat.name) for stat in stats]
    return [Column("patch", 0, names, left=True), *_counts([stat.total for stat in stats])]


def _with_parts(areas: Sequence[Area]) -> Iterator[Area]:
    for area in areas:
        yield area
        yield from area.parts


def _counts(areas: Sequence[Area]) -> list[Column]:
    seldom = [
        Column("new", 5, [count_text(area.new) for area in areas]),
        Column("deleted", 6, [count_text(area.deleted) for area in areas]),
        Column("renamed", 7, [count_text(area.renamed) for area in areas]),
        Column("binary", 8, [count_text(area.binary) for area in areas]),
    ]
    return [
        Column("files", 1, [count_text(area.files) for area in areas]),
        Column("added", 2, [count_text(area.added) for area in areas]),
        Column("removed", 3, [count_text(area.removed) for area in areas]),
        Column("size", 4, [decimal(area.bytes) for area in areas]),
        *(column for column in seldom if set(column.cells) != {"0"}),
    ]


def _name(name: str) -> str:
    """As much of its end as there is room for: that tells patches apart."""
    name = plain(name)
    return name if len(name) <= _LONGEST_NAME else f"…{name[1 - _LONGEST_NAME :]}"


def patchstat_charts(stats: Sequence[PatchStat]) -> list[Chart]:
    """Size, files and lines by area, then by the parts of arch and of include.

    Where there are a few patches or series, each has its piece of a bar.
    """
    whole = together(stats)
    pieces = stats if len(stats) <= _MOST_PIECES else [whole]
    charts: list[Chart] = []
    for folder, areas in [("", whole.areas), *((area.name, area.parts) for area in whole.areas)]:
        if areas:
            charts += _panel(f" in {folder}/" if folder else "", areas, pieces)
    for number, chart in enumerate(charts):
        chart["id"] = f"chart-{number}"
    return charts


def _panel(where: str, areas: Sequence[Area], pieces: Sequence[PatchStat]) -> list[Chart]:
    shown = areas[:_BARS]

    def stacked(figure: Callable[[Area], float]) -> list[dict[str, Any]]:
        traces = []
        for number, piece in enumerate(pieces):
            values = {area.name: figure(area) for area in _with_parts(piece.areas)}
            x = [values.get(area.name, 0) for area in shown]
            traces.append(_bars(_name(piece.name), number, x, shown))
        return traces

    lines = [
        _bars("added", _GREEN, [area.added for area in shown], shown),
        _bars("removed", _RED, [-area.removed for area in shown], shown),
    ]
    figures = [
        (f"Size{where}", "kB", stacked(lambda area: area.bytes / 1000)),
        (f"Files{where}", "files", stacked(lambda area: area.files)),
        (f"Lines{where}", "lines, the removed ones to the left", lines),
    ]
    left_out = len(areas) - len(shown)
    return [
        {
            "id": "",
            "title": title,
            "note": f"{left_out:,} smaller ones are left out." if left_out else "",
            "traces": traces,
            "layout": {
                "height": _FRAME_PX + _BAR_PX * len(shown),
                "barmode": "relative",
                "xaxis": {"title": {"text": unit}, "separatethousands": True},
                "yaxis": {"type": "category", "autorange": "reversed"},
            },
        }
        for title, unit, traces in figures
    ]


def _bars(name: str, colour: int, x: list[float], areas: Sequence[Area]) -> dict[str, Any]:
    return {
        "type": "bar",
        "orientation": "h",
        "name": figure_text(name),
        "colour": colour,
        "x": x,
        "y": [figure_text(_name(area.name)) for area in areas],
        "hoverinfo": "x+y+name",
    }
