# SPDX-License-Identifier: GPL-2.0-only
"""All cells of an experiment in one table, one display and one JUnit file."""

import io
from xml.etree import ElementTree as ET

from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console

from rtscope.model.progress import Progress, ThreadProgress
from rtscope.report.exchange.junit import junit_report
from rtscope.report.terminal.experiment import CellTable, ExperimentState
from rtscope.report.terminal.live import LiveState
from rtscope.statistics.cells import CellResult, not_passed
from tests.report.views import results
from tests.statistics.test_response import stalled

RESULTS = results()


def test_each_cell_has_a_verdict_and_only_the_good_ones_are_good() -> None:
    assert [one.verdict for one in RESULTS] == [
        *("measured", "pass", "fail", "inconclusive", "interrupted", "failed", "measured"),
        "not begun",
    ]
    assert [one.is_bad for one in RESULTS] == [False, False, True, True, True, True, False, True]
    assert [name for name, _ in not_passed(RESULTS)] == ["broken", "broken", "unproven", "cut"]


def test_the_display_reports_what_is_done_and_what_is_left() -> None:
    state = ExperimentState("Board", 10, done=3, left_ns=[60 * 10**9, None])
    assert state.progress() == ("3 of 10 cells done, about 1 min 0 s left, and 1 of unknown length")
    state.left_ns = [None, None]
    assert state.progress() == "3 of 10 cells done, 2 of unknown length left"
    state.left_ns = [60 * 10**9, None]
    state.cell, state.cell_ns = LiveState("cyclic, load idle"), 30 * 10**9
    assert "about 1 min 30 s left" in state.progress()
    state.cell.progress = Progress(20 * 10**9, [ThreadProgress(0, 5, max_ns=7000)])
    assert "about 1 min 10 s left" in state.progress()


@given(st.text())
def test_any_name_makes_valid_xml(name: str) -> None:
    root = ET.fromstring(junit_report(name, [CellResult(name, failure=name)]))
    assert len(list(root.iter("testcase"))) == 1


def test_cells_with_missed_periods_have_the_percentile_of_the_response_times() -> None:
    stall, calm = (
        stalled([5_000] * 1950 + [late], missed) for late, missed in ((50_000_000, 49), (5_000, 0))
    )
    results = [CellResult("a stall", stall), CellResult("calm", calm), CellResult("not begun")]
    table = shown(results)
    assert "p99 response" in table
    assert "30.0" in next(line for line in table.splitlines() if "a stall" in line)
    assert "p99 response" not in shown(results[1:])


def shown(results: list[CellResult]) -> str:
    """The table of the cells."""
    file = io.StringIO()
    Console(file=file, width=160).print(CellTable(results))
    return file.getvalue()
