# SPDX-License-Identifier: GPL-2.0-only
"""What patches change is drawn whole, and nothing in a patch acts on a terminal or a page."""

import io
import re
from pathlib import Path

from rich.console import Console

from rtscope.lab.patchstat import PatchStat, patchstat
from rtscope.report.page.patchstat import patchstat_charts, patchstat_page
from rtscope.report.tables.patchstat import area_columns
from rtscope.report.terminal.patchstat import patchstat_view

ATTACK = "<script>alert(1)<b>\x1b[31m"


def stat_of(folder: Path, name: str, paths: dict[str, int]) -> PatchStat:
    """Of a patch that adds so many lines to these files."""
    parts = [
        f"--- a/{path}\n+++ b/{path}\n@@ -0,0 +1,{lines} @@\n" + "+a\n" * lines
        for path, lines in paths.items()
    ]
    (folder / name).write_text("".join(parts))
    return patchstat(str(folder / name))


def test_bars_of_all_patches_add_up_to_the_table(tmp_path: Path) -> None:
    one = stat_of(tmp_path, "one", {"arch/mips/a.c": 5, "arch/x86/b.c": 2, "mm/c.c": 1})
    two = stat_of(tmp_path, "two", {"arch/mips/d.c": 7, "Makefile": 3})

    charts = {chart.title: chart for chart in patchstat_charts([one, two])}

    assert set(charts) == {
        "Size", "Files", "Lines", "Size in arch/", "Files in arch/", "Lines in arch/"
    }  # fmt: skip
    files = charts["Files"]
    assert [bars.name.split("/")[-1] for bars in files.bars] == ["one", "two"]
    assert list(files.panels[0].y.rows) == ["arch", "top level", "mm"]
    assert [list(bars.start) for bars in files.bars] == [[0, 0, 0], [2, 0, 1]]
    assert list(files.bars[1].end) == [3, 1, 1]
    size = charts["Size in arch/"].bars[-1].end
    assert round(sum(size) * 1000) == one.areas[0].bytes + two.areas[0].bytes
    added, removed = charts["Lines in arch/"].bars
    assert list(charts["Lines in arch/"].panels[0].y.rows) == ["arch/mips", "arch/x86"]
    assert list(added.end) == [12, 2]
    assert not any(removed.end)
    assert [column.cells[-1] for column in area_columns([one, two])][1:4] == ["5", "18", "0"]


def test_names_in_a_patch_do_nothing_to_a_terminal_or_a_page(tmp_path: Path) -> None:
    hostile = [stat_of(tmp_path, name, {f"arch/{ATTACK}/x.c": 1}) for name in ("a", "b")]

    page = patchstat_page(hostile)
    terminal = io.StringIO()
    Console(width=200, file=terminal).print(patchstat_view(hostile))

    tables = re.sub(r"<script\b.*?</script>", "", page, flags=re.DOTALL)
    assert "arch/&lt;script&gt;alert(1)" in tables
    assert "<script" not in tables
    assert "<script>alert" not in page
    assert "\x1b[31m" not in page + terminal.getvalue()
    assert "arch/<script>alert(1)<b>\ufffd[31m" in terminal.getvalue()
