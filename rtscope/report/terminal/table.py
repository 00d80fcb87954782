# SPDX-License-Identifier: GPL-2.0-only
"""Tables of columns; a narrow terminal gets fewer columns, and no broken numbers."""

from dataclasses import dataclass

from rich.console import Console, ConsoleOptions, Group, RenderableType, RenderResult
from rich.table import Table
from rich.text import Text

from rtscope.report.tables.column import Column, rows_of

_GAP = 2


@dataclass
class FittedTable:
    """The columns that fit into the width it gets."""

    columns: list[Column]

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """Rich's protocol."""
        yield fitted(self.columns, options.max_width)


@dataclass
class PiecedTable:
    """All columns, in as many tables below each other as the width takes; each has the first."""

    columns: list[Column]

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """Rich's protocol."""
        first, *rest = self.columns
        piece = [first]
        for column in rest:
            width = sum(one.width + _GAP for one in piece) + column.width
            if len(piece) > 1 and width > options.max_width:
                yield _table(piece)
                yield Text()
                piece = [first]
            piece.append(column)
        yield _table(piece)


def _table(shown: list[Column]) -> Table:
    table = Table(box=None, pad_edge=False, padding=(0, _GAP, 0, 0), header_style="bold")
    for column in shown:
        table.add_column(
            Text(column.title), justify="left" if column.left else "right", no_wrap=True
        )
    for row in rows_of(shown):
        table.add_row(*(cell if isinstance(cell, Text) else Text(cell) for cell in row))
    return table


def fitted(columns: list[Column], width: int) -> RenderableType:
    """The table of the columns that fit, and a line that names those left out."""
    used = 0
    kept: list[Column] = []
    for column in sorted(columns, key=lambda column: column.rank):
        if kept and used + _GAP + column.width > width:
            break
        kept.append(column)
        used += column.width + (_GAP if used else 0)
    table = _table([column for column in columns if column in kept])
    left_out = [column.title.replace("\n", " ") for column in columns if column not in kept]
    if not left_out:
        return table
    return Group(table, Text(f"(not shown for want of room: {', '.join(left_out)})", style="dim"))
