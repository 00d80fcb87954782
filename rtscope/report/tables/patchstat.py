# SPDX-License-Identifier: GPL-2.0-only
"""The source that patches change, as tables."""

from collections.abc import Iterator, Sequence
from typing import Final

from rich.filesize import decimal
from rich.text import Text

from rtscope.lab.patchstat import Area, PatchStat, together
from rtscope.report.tables.column import Column
from rtscope.wording.plain import plain
from rtscope.wording.values import count_text

_LONGEST_NAME: Final = 60


def headline(stats: Sequence[PatchStat]) -> str:
    """How many patches, and how long they are with all that they say."""
    whole = together(stats)
    patches = f"{whole.patches:,} patch{'' if whole.patches == 1 else 'es'}"
    return f"{patches}, {decimal(whole.bytes)} with their descriptions"


def area_columns(stats: Sequence[PatchStat]) -> list[Column]:
    """A row for each area, below arch and include one for each of their parts, and the total."""
    whole = together(stats)
    rows = [*with_parts(whole.areas), whole.total]
    names: list[str | Text] = [
        f"{'  ' if '/' in area.name else ''}{patch_name(area.name)}" for area in rows[:-1]
    ]
    return [Column("area", 0, [*names, Text("total", style="bold")], left=True), *_counts(rows)]


def patch_columns(stats: Sequence[PatchStat]) -> list[Column]:
    """A row for each patch or series."""
    names: list[str | Text] = [patch_name(stat.name) for stat in stats]
    return [Column("patch", 0, names, left=True), *_counts([stat.total for stat in stats])]


def with_parts(areas: Sequence[Area]) -> Iterator[Area]:
    """Each area, then its parts."""
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


def patch_name(name: str) -> str:
    """The end of the path, shortened to the width: it distinguishes patches."""
    name = plain(name)
    return name if len(name) <= _LONGEST_NAME else f"…{name[1 - _LONGEST_NAME :]}"
