# SPDX-License-Identifier: GPL-2.0-only
"""Where patches change the kernel's source, as a page of bar charts."""

from collections.abc import Callable, Sequence
from typing import Final

from rtscope.lab.patchstat import Area, PatchStat, together
from rtscope.report.page.chart import Bars, Chart, Panel, axis, row_axis
from rtscope.report.page.probe_charts import numbered
from rtscope.report.page.render import render_page
from rtscope.report.page.scale import linear
from rtscope.report.tables.patchstat import (
    area_columns,
    headline,
    patch_columns,
    patch_name,
    with_parts,
)

_BARS: Final = 40
_MOST_PIECES: Final = 8
_RED, _GREEN = 1, 2
_ROW_REM: Final = 1.5


def patchstat_page(stats: Sequence[PatchStat]) -> str:
    """Tables and charts as one HTML file, which opens with no network."""
    return render_page(
        "patchstat.html.jinja",
        name=", ".join(patch_name(stat.name) for stat in stats),
        headline=headline(stats),
        charts=patchstat_charts(stats),
        areas=area_columns(stats),
        patches=patch_columns(stats) if len(stats) > 1 else [],
    )


def patchstat_charts(stats: Sequence[PatchStat]) -> list[Chart]:
    """Size, files and lines by area, then by the parts of arch and of include.

    Where there are a few patches or series, each has its piece of a bar.
    """
    whole = together(stats)
    pieces = stats if len(stats) <= _MOST_PIECES else [whole]
    charts: list[Chart] = []
    for folder, areas in [("", whole.areas), *((area.name, area.parts) for area in whole.areas)]:
        if areas:
            charts += _charts(f" in {folder}/" if folder else "", areas, pieces)
    return numbered(charts)


def _charts(where: str, areas: Sequence[Area], pieces: Sequence[PatchStat]) -> list[Chart]:
    shown = areas[:_BARS]

    def stacked(figure: Callable[[Area], float]) -> list[Bars]:
        bars = []
        ends = [0.0] * len(shown)
        for number, piece in enumerate(pieces):
            values = {area.name: figure(area) for area in with_parts(piece.areas)}
            starts = ends
            ends = [end + values.get(area.name, 0) for end, area in zip(ends, shown, strict=True)]
            bars.append(_bars(patch_name(piece.name), number, starts, ends))
        return bars

    zeros = [0.0] * len(shown)
    lines = [
        _bars("added", _GREEN, zeros, [float(area.added) for area in shown]),
        _bars("removed", _RED, zeros, [-float(area.removed) for area in shown]),
    ]
    figures = [
        (f"Size{where}", "kB", stacked(lambda area: area.bytes / 1000)),
        (f"Files{where}", "files", stacked(lambda area: area.files)),
        (f"Lines{where}", "lines, the removed ones to the left", lines),
    ]
    left_out = len(areas) - len(shown)
    note = f"{left_out:,} smaller ones are left out." if left_out else ""
    names = [patch_name(area.name) for area in shown]
    return [
        Chart(title=title, note=note, panels=[_panel(unit, names, bars)])
        for title, unit, bars in figures
    ]


def _panel(unit: str, names: list[str], bars: list[Bars]) -> Panel:
    ends = [end for one in bars for end in one.end]
    return Panel(
        x=axis(unit, linear(max(1.0, *ends), min(0.0, *ends)), unit.partition(",")[0]),
        y=row_axis(names),
        bars=bars,
        height=_ROW_REM * len(names),
    )


def _bars(name: str, colour: int, start: list[float], end: list[float]) -> Bars:
    return Bars(name=name, rows=range(len(start)), start=start, end=end, colour=colour)
