# SPDX-License-Identifier: GPL-2.0-only
"""The summary and the comparison, as read on terminals of any width and in pipes."""

import io
import re

import msgspec
import pytest
from rich.cells import cell_len
from rich.console import Console, RenderableType

from rtscope.model.budget import parse_limit
from rtscope.model.machine import Machine
from rtscope.model.run import LoadWork, Phase, Run, RunWarning
from rtscope.report.terminal.comparison import comparison_table
from rtscope.report.terminal.console import output_console
from rtscope.report.terminal.run import summary
from rtscope.statistics.comparison import compare
from rtscope.statistics.verdict import judge
from rtscope.wording.comparison import comparison_sentence
from tests.measured import run_of, thread_of

WIDTHS = [20, 40, 60, 80, 120, 200]
HOSTILE = "[bold red]x[/]\x1b]0;owned\x07\x1b[2J\u202e[link=file:///etc/passwd]y"


def shown(renderable: RenderableType, width: int = 120, terminal: bool = False) -> str:
    file = io.StringIO()
    console = Console(file=file, width=width, force_terminal=terminal, color_system=None)
    console.print(renderable)
    return file.getvalue()


def a_run() -> Run:
    return run_of(
        *(thread_of([1000 + cpu] * 12_000 + [40_000 + cpu], cpu) for cpu in range(4)),
        loads=[LoadWork("files", 4, 1, 2.0, {"stats": 3000})],
        warnings=[RunWarning("no-memlock", "memory is not locked")],
        status="interrupted",
    )


def test_everything_that_was_measured_is_there_with_units() -> None:
    text = shown(summary(a_run(), judge(a_run(), [parse_limit("max<10us")])))
    for words in [
        "cyclic",
        "PARTIAL: interrupted",
        "! memory is not locked",
        "fifo:90",
        "12,001",
        "40.00 us",
        "p99.99: needs 100,000 samples, has 48,004",
        "load files ×4: 1.50 k stats/s",
        "max<10us: fail, max is 40.00 us (on CPU 3, 12,001 samples)",
    ]:
        assert words in text
    assert "all  " in text
    assert "48,004" in text


def test_it_shows_when_the_load_ran_on_request() -> None:
    phases = [Phase("load alone", -3 * 10**9, 0), Phase("measuring", 0, 2 * 10**9)]
    run = msgspec.structs.replace(a_run(), phases=phases)
    line = "phases load alone −3 s to 0 s; measuring 0 s to 2 s"
    assert line in shown(summary(run, phases=True))
    assert line not in shown(summary(run))


def test_a_warning_is_printed_once_for_several_runs() -> None:
    old, new = RunWarning("old", "the old warning"), RunWarning("new", "the new warning")
    warned: set[str] = set()
    first = msgspec.structs.replace(a_run(), warnings=[old], status="interrupted")
    second = msgspec.structs.replace(first, warnings=[old, new])
    texts = [shown(summary(run, warned=warned)) for run in (first, second)]
    assert [text.count(old.text) for text in texts] == [1, 0]
    assert [text.count(new.text) for text in texts] == [0, 1]
    assert [text.count("PARTIAL") for text in texts] == [1, 1]


@pytest.mark.parametrize("width", WIDTHS)
def test_no_line_is_wider_than_the_terminal_and_no_number_is_broken(width: int) -> None:
    for renderable in (
        summary(a_run(), judge(a_run(), [parse_limit("max<10us")])),
        comparison_table(compare(a_run(), a_run())),
    ):
        lines = shown(renderable, width).splitlines()
        assert max(cell_len(line) for line in lines) <= width
    lines = shown(summary(a_run()), width).splitlines()
    table = [line for line in lines if re.match(r"\d\s", line)]
    assert len(table) == 4
    assert all("40.00 us" in line for line in table)


def test_columns_left_out_are_named() -> None:
    assert "not shown for want of room" not in shown(summary(a_run()), 120)
    assert "not shown for want of room: policy" in shown(summary(a_run()), 70)


@pytest.mark.parametrize("terminal", [True, False])
def test_names_from_machines_neither_steer_the_terminal_nor_are_markup(terminal: bool) -> None:
    run = run_of(
        thread_of([1000] * 50),
        machine=Machine(
            hostname=HOSTILE,
            cpu_model=HOSTILE,
            kernel_release=HOSTILE,
            preemption=HOSTILE,
            preemption_evidence=HOSTILE,
            virtualisation=HOSTILE,
        ),
        probe=HOSTILE,
        load=HOSTILE,
        id=HOSTILE,
        source=HOSTILE,
        loads=[LoadWork(HOSTILE, 1, 1, 1.0, {HOSTILE: 5})],
        warnings=[RunWarning(HOSTILE, HOSTILE)],
    )
    other = run_of(thread_of([1000] * 50))
    for renderable in (summary(run), comparison_table(compare(run, other))):
        text = shown(renderable, terminal=terminal)
        assert "[bold red]x[/]" in text.replace("\n", "")
        for steering in ("\x1b]", "\x1b[2J", "\x07", "\u202e", "\x1b[31m"):
            assert steering not in text


def test_a_pipe_gets_120_columns_and_no_colours(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("COLUMNS", raising=False)
    monkeypatch.delenv("FORCE_COLOR", raising=False)
    file = io.StringIO()
    output_console(file).print(summary(a_run()))
    assert "\x1b" not in file.getvalue()
    assert "not shown for want of room" not in file.getvalue()


@pytest.mark.parametrize("run", [run_of(), run_of(thread_of([], 0)), run_of(thread_of([], None))])
def test_a_run_without_samples_is_said_to_have_none(run: Run) -> None:
    text = shown(summary(run, judge(run, [parse_limit("max<1s")])))
    assert "This run has no samples." in text
    assert "max<1s: inconclusive" in text
    assert "nan" not in text


def test_the_comparison_shows_figures_limits_and_the_sentence() -> None:
    a = run_of(thread_of([1000] * 5000))
    b = run_of(thread_of([2000] * 5000), load="mixed")
    text = shown(comparison_table(compare(a, b)), 140)
    for words in [
        "2.00 us … 2.00 us",
        "+1.00 us",
        "worse",
        "! load differs: A idle, B mixed",
        "B is worse than A: p99 is 2.00 us against 1.00 us",
        "p99.9 was not tested: A: needs 10,000 samples, has 5,000",
    ]:
        assert words in text


def test_a_comparison_begins_with_the_verdict_and_ends_with_untested_rows() -> None:
    comparison = compare(run_of(thread_of([1000] * 5000)), run_of(thread_of([2000] * 5000)))
    tested = [row.figure for row in comparison.rows if row.effect != "untested"]
    untested = [row.figure for row in comparison.rows if row.effect == "untested"]
    assert tested
    assert untested
    lines = shown(comparison_table(comparison), 140).splitlines()
    assert lines[0] == comparison_sentence(comparison)
    figures = [line.split()[0] for line in lines[1:] if line.split()]
    assert [one for one in figures if one in {*tested, *untested}][: len(comparison.rows)] == [
        *tested,
        *untested,
    ]


def test_readings_of_clocks_are_a_table_by_microsecond() -> None:
    clocks = [
        msgspec.structs.replace(thread_of([20] * 99 + [1500]), name="CLOCK_MONOTONIC"),
        msgspec.structs.replace(thread_of([1000] * 100), thread=1, name="gettimeofday"),
    ]
    text = shown(summary(run_of(*clocks, probe="gtod")))
    assert re.search(r"^ 0 +99 +0 *$", text, re.MULTILINE)
    assert re.search(r"^ 1 +1 +100 *$", text, re.MULTILINE)
    assert "rows without a sample" in text
    assert "rows without a sample" not in shown(summary(run_of(*clocks)))
