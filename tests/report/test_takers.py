# SPDX-License-Identifier: GPL-2.0-only
"""Who took a program's events is told by name, in the terminal and in the HTML page."""

import io

import msgspec
import pytest
from rich.cells import cell_len
from rich.console import Console

from rtscope.model.run import Run, Sample, Taker
from rtscope.report.page.report import html_report
from rtscope.report.tables.takers import takers_columns
from rtscope.report.terminal.run import summary
from tests.measured import run_of, thread_of


def signal_run(takers: int) -> Run:
    """Events that the main thread took half of, and `takers` others the rest."""
    others = [Taker(f"signal/{number}", 100 + number, 10, 1, 1) for number in range(takers)]
    series = msgspec.structs.replace(
        thread_of([1000] * (2 * takers), None),
        name="asynchronous",
        takers=[Taker("main", 99, 0, None, takers), *others],
        worst=[Sample(5, 1000, 3)],
    )
    return run_of(series, probe="signal")


def text_of(run: Run, width: int = 100) -> str:
    file = io.StringIO()
    Console(file=file, width=width, color_system=None).print(summary(run))
    return file.getvalue()


def test_each_thread_that_took_events_is_a_row() -> None:
    columns = takers_columns(signal_run(2).threads)
    assert [column.title for column in columns] == [
        "", "taken by", "tid", "priority", "pinned to", "events", "share",
    ]  # fmt: skip
    rows = [tuple(map(str, row)) for row in zip(*(c.cells for c in columns), strict=True)]
    assert rows == [
        ("asynchronous", "main", "99", "ordinary", "–", "2", "50.0 %"),
        ("asynchronous", "signal/0", "100", "10", "CPU 1", "1", "25.0 %"),
        ("asynchronous", "signal/1", "101", "10", "CPU 1", "1", "25.0 %"),
    ]
    assert takers_columns([thread_of([1000] * 50)]) == []


def test_of_many_threads_those_that_took_most_are_named() -> None:
    text = text_of(signal_run(30))
    assert "signal/8" in text
    assert "signal/9" not in text
    assert "21 more threads" in text


@pytest.mark.parametrize("width", [30, 60, 120])
def test_the_table_fits_into_the_terminal(width: int) -> None:
    text = text_of(signal_run(3), width)
    assert max(cell_len(line) for line in text.splitlines()) <= max(width, 40)
    assert "taken by" in text


def test_the_page_tells_who_took_and_where_the_worst_was_taken() -> None:
    page = html_report([signal_run(3)])
    assert "Who took the events" in page
    assert "signal/2" in page
    assert "asynchronous on CPU 3" in page
