# SPDX-License-Identifier: GPL-2.0-only
"""The table of measurement points fits any terminal and shows parts below their whole."""

import io

import pytest
from rich.cells import cell_len
from rich.console import Console

from rtscope.model.points import Point, Points
from rtscope.model.run import RunWarning
from rtscope.report.terminal.points import points_view

MAIN = Point(
    "MAINLOOP", True, 1200, "one pulse", None, 2_700_000, 3,
    1_970_364, 1_715_284, 1_970_364.5, 2_400_000, 2_765_317,
)  # fmt: skip
PART = Point("RFDEMO", True, 1200, "demodulate", 0, None, None, 1, 2, 3.0, 4, 5)


def shown(points: Points, width: int = 120, warnings: list[RunWarning] | None = None) -> list[str]:
    file = io.StringIO()
    console = Console(file=file, width=width, color_system=None)
    console.print(points_view(points, warnings or []))
    return [line.rstrip() for line in file.getvalue().splitlines()]


def test_the_reports_columns_are_there_with_units() -> None:
    title, head, main, part = shown(Points(0, "process 7 (llrf)", [MAIN, PART]))
    assert title == "process 7 (llrf), 2 measurement points"
    assert head.split() == [
        "Node", "name", "Enb", "Counter", "Last", "Mean", "Minimum", "p99.9", "Maximum",
        "Budget", "Over", "Description",
    ]  # fmt: skip
    for word in ["1,200", "1970.4 us", "1715.3 us", "2765.3 us", "2700.0 us", " 3 ", "one pulse"]:
        assert word in main
    assert part.startswith("  RFDEMO")
    assert part.endswith("demodulate")


def test_no_budget_column_where_none_was_declared() -> None:
    assert "Budget" not in shown(Points(0, "p", [PART]))[1]


def test_parts_stand_below_their_whole_however_they_were_added() -> None:
    points = [
        Point("A", True, 0),
        Point("B", True, 0),
        Point("A1", True, 0, parent=0),
        Point("B1", True, 0, parent=1),
        Point("A11", True, 0, parent=2),
        Point("A2", True, 0, parent=0),
    ]
    names = [line.split("  1 ")[0].rstrip() for line in shown(Points(0, "p", points))[2:]]
    assert names == ["A", "  A1", "    A11", "  A2", "B", "  B1"]


@pytest.mark.parametrize("parent", [0, 1, 7, -1])
def test_a_parent_that_cannot_be_is_none(parent: int) -> None:
    lines = shown(Points(0, "p", [Point("X", True, 0, parent=parent), Point("Y", True, 0)]))
    assert [line[:2] for line in lines[2:]] == ["X ", "Y "]


def test_pauses_warnings_and_points_that_are_off_are_told() -> None:
    points = Points(0, "p", [Point("OFF", False, 0)], paused=True)
    lines = shown(points, warnings=[RunWarning("process-ended", "the program has ended")])
    assert lines[0].endswith("– paused")
    assert lines[2].split()[:2] == ["OFF", "0"]
    assert lines[-1] == "! the program has ended"


@pytest.mark.parametrize("width", [30, 60, 80, 100, 200])
def test_it_never_outgrows_the_terminal(width: int) -> None:
    lines = shown(Points(0, "process 7 (llrf)", [MAIN, PART]), width)
    assert max(cell_len(line) for line in lines) <= width
    assert any(line.startswith("MAINLOOP") for line in lines)


def test_hostile_names_steer_nothing() -> None:
    evil = "\x1b[2J[red]\u202e"
    lines = shown(Points(0, evil, [Point(evil, True, 0, evil)], False), 120)
    assert "\x1b" not in "".join(lines)
    assert "\u202e" not in "".join(lines)
    assert "[red]" in "".join(lines)


def test_no_point_is_no_error() -> None:
    assert shown(Points(0, "p", []))[0] == "p, 0 measurement points"
