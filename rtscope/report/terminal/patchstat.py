# SPDX-License-Identifier: GPL-2.0-only
"""The source that patches change, on the terminal."""

from collections.abc import Sequence

from rich.console import Group, RenderableType
from rich.text import Text

from rtscope.lab.patchstat import PatchStat
from rtscope.report.tables.patchstat import area_columns, headline, patch_columns
from rtscope.report.terminal.table import FittedTable


def patchstat_view(stats: Sequence[PatchStat]) -> RenderableType:
    """All of them together by area and, where there are several, each by itself."""
    parts: list[RenderableType] = [Text(headline(stats)), Text(), FittedTable(area_columns(stats))]
    if len(stats) > 1:
        parts += [Text(), FittedTable(patch_columns(stats))]
    return Group(*parts)
