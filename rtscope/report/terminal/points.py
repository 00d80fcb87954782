# SPDX-License-Identifier: GPL-2.0-only
"""A program's measurement points as a table."""

from collections.abc import Sequence
from dataclasses import dataclass

from rich.console import Console, ConsoleOptions, RenderResult
from rich.text import Text

from rtscope.model.points import Point, Points
from rtscope.model.run import RunWarning
from rtscope.report.tables.column import Column
from rtscope.report.terminal.table import fitted
from rtscope.wording.plain import plain
from rtscope.wording.values import NOTHING, count_text, time_text

_GAP = 2
_NARROWEST_TEXT = 12


def points_view(points: Points, warnings: Sequence[RunWarning] = ()) -> "PointsView":
    """A renderable of `points`, each point below its parent."""
    return PointsView(points, warnings)


@dataclass
class PointsView:
    """Renders itself to the width it gets."""

    points: Points
    warnings: Sequence[RunWarning]

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """Rich's protocol."""
        state = " – paused" if self.points.paused else ""
        title = f"{self.points.process}, {len(self.points.points)} measurement points{state}"
        yield Text(plain(title), style="bold", no_wrap=True, overflow="ellipsis")
        yield fitted(_columns(self.points.points, options.max_width), options.max_width)
        for warning in self.warnings:
            yield Text.assemble(("! ", "bold yellow"), plain(warning.text))


def _in_order(points: list[Point]) -> list[tuple[int, Point]]:
    """(depth, point), each point followed by its parts; an impossible parent is none."""
    parts: dict[int | None, list[int]] = {}
    for index, point in enumerate(points):
        parent = point.parent
        possible = parent is not None and 0 <= parent < index
        parts.setdefault(parent if possible else None, []).append(index)
    ordered = []
    waiting = [(0, index) for index in reversed(parts.get(None, []))]
    while waiting:
        depth, index = waiting.pop()
        ordered.append((depth, points[index]))
        waiting += [(depth + 1, part) for part in reversed(parts.get(index, []))]
    return ordered


def _columns(points: list[Point], width: int) -> list[Column]:
    rows = _in_order(points)

    def times(attribute: str) -> list[str | Text]:
        return [time_text(getattr(point, attribute)) for _, point in rows]

    columns = [
        Column("Node name", 0, [_name(depth, point) for depth, point in rows], left=True),
        Column("Enb", 8, [str(int(point.enabled)) for _, point in rows]),
        Column("Counter", 3, [count_text(point.count) for _, point in rows]),
        Column("Last", 9, times("last_ns")),
        Column("Mean", 1, times("mean_ns")),
        Column("Minimum", 5, times("min_ns")),
        Column("p99.9", 7, times("p999_ns")),
        Column("Maximum", 2, [_maximum(point) for _, point in rows]),
    ]
    if any(point.budget_ns is not None for _, point in rows):
        columns += [
            Column("Budget", 4, times("budget_ns")),
            Column("Over", 6, [_over(point) for _, point in rows]),
        ]
    room = width - sum(column.width + _GAP for column in columns)
    cells: list[str | Text] = [_cut(plain(point.text), room) for _, point in rows]
    return [*columns, Column("Description", 10, cells, left=True)]


def _name(depth: int, point: Point) -> Text:
    return Text("  " * depth + plain(point.name), style="" if point.enabled else "dim")


def _maximum(point: Point) -> Text:
    over = None not in (point.budget_ns, point.max_ns) and (point.max_ns or 0) > (
        point.budget_ns or 0
    )
    return Text(time_text(point.max_ns), style="red" if over else "")


def _over(point: Point) -> Text:
    text = NOTHING if point.over_budget is None else count_text(point.over_budget)
    return Text(text, style="red" if point.over_budget else "")


def _cut(text: str, room: int) -> Text:
    """As much of a description as there is room for, where that is worth reading."""
    cut = Text(text)
    cut.truncate(max(room, _NARROWEST_TEXT), overflow="ellipsis")
    return cut
