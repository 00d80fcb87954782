# SPDX-License-Identifier: GPL-2.0-only
"""How a sample came about is told in a sentence, a tree of calls and a timeline."""

import io
import re

import msgspec
from hypothesis import given
from rich.console import Console

from rtscope.model.run import Run
from rtscope.model.timeline import Call, Explanation, FunctionTime, Stretch
from rtscope.report.page.report import html_report
from rtscope.report.page.timeline import lanes
from rtscope.report.tables.explanation import tree_columns
from rtscope.report.terminal.run import summary
from rtscope.wording.explanation import headline, off_line, totals_line, tree
from tests.measured import run_of, thread_of
from tests.strategies import explanations

CALLS = [
    Call(0, 100, 0, "(the CPU slept)"),
    Call(100, 9_000, 0, "timer_interrupt"),
    Call(150, 8_900, 1, "run_timers"),
    Call(200, 7_000, 2, "slow_driver [driver]"),
    Call(7_500, 20, 2, "tiny"),
    Call(9_100, 900, 0, "schedule"),
]
TOLD = Explanation(
    0,
    5_000_000,
    10_000,
    "a witness",
    CALLS[1:4],
    CALLS,
    [FunctionTime("slow_driver [driver]", 7_000), FunctionTime("timer_interrupt", 3_000)],
    [Stretch(0, 9_500, "swapper/0"), Stretch(9_500, 500, "cyclic/0/118")],
    [Stretch(100, 5_000)],
    [Stretch(100, 9_000)],
    ["a note"],
)


def a_run(*told: Explanation) -> Run:
    return run_of(thread_of([1000, 10_000]), explanations=list(told))


def shown(run: Run) -> str:
    file = io.StringIO()
    Console(file=file, width=140, color_system=None).print(summary(run))
    return file.getvalue()


def test_the_sentence_names_the_function_its_callers_and_what_was_off() -> None:
    assert headline(a_run(), TOLD) == (
        "10.00 us late, due 0.005000 s after the start: 7.00 us of it in slow_driver [driver], "
        "called by run_timers ← timer_interrupt (while swapper/0 ran, interrupts partly off, "
        "preemption off)"
    )
    blind = msgspec.structs.replace(TOLD, tasks=None, interrupts_off=None, preemption_off=None)
    assert headline(a_run(), blind).endswith("called by run_timers ← timer_interrupt")


def test_where_no_call_took_long_the_sentence_names_who_ran() -> None:
    spread = msgspec.structs.replace(TOLD, cause=[], calls=[Call(0, 50, 0, "short")])

    assert headline(a_run(), spread).endswith(
        "start: no call took a good part of it, swapper/0 ran for 9.50 us, slow_driver [driver] "
        "took 7.00 us in all"
    )
    assert tree(spread) == []
    assert "swapper/0 ran for" in " ".join(shown(a_run(spread)).split())
    assert "as a table" not in html_report([a_run(spread)])


def test_the_tree_shows_what_took_long_below_what_called_it() -> None:
    assert [(row.depth, [call.function for call in row.calls]) for row in tree(TOLD)] == [
        (0, ["timer_interrupt", "run_timers"]),
        (1, ["slow_driver [driver]"]),
        (0, ["schedule"]),
    ]
    columns = {column.title: [str(cell) for cell in column.cells] for column in tree_columns(TOLD)}
    assert columns["at"] == ["0.100 us", "0.200 us", "9.10 us"]
    assert columns["for"] == ["9.00 us", "7.00 us", "0.900 us"]
    assert columns["task"] == ["swapper/0"] * 2 + ["cyclic/0/118"]
    assert columns["irqs"] == ["partly off", "partly off", "on"]
    assert columns["function"][1] == "  slow_driver [driver]"


def test_the_terminal_tells_all_of_it_with_its_units() -> None:
    text = shown(a_run(TOLD))

    assert "interrupts off for 5.00 us, preemption off for 9.00 us" in text
    assert "slow_driver [driver] 7.00 us, timer_interrupt 3.00 us" in text
    assert "a note" in text
    assert off_line(TOLD) in text
    assert totals_line(TOLD) in text


def test_the_page_draws_a_timeline_that_needs_no_script() -> None:
    page = html_report([a_run(TOLD)])

    drawn = re.search(r'<svg class="timeline".*?</svg>', page, re.DOTALL)
    assert drawn is not None
    assert drawn[0].count("<rect") == len(lanes(TOLD).bars) == len(CALLS) + 4
    assert "<title>slow_driver [driver], from 0.200 us for 7.00 us</title>" in drawn[0]
    assert [name for _, name in lanes(TOLD).names] == [
        "task",
        "interrupts off",
        "preemption off",
        "function",
    ]


@given(explanations())
def test_parts_that_do_not_fit_together_are_shown_within_the_picture(told: Explanation) -> None:
    drawn = lanes(told)

    assert all(0 <= bar.x <= 1000 and 0 <= bar.width <= 1000 for bar in drawn.bars)
    assert all(0 <= bar.lane < drawn.lanes for bar in drawn.bars)
    assert "\x1b" not in shown(a_run(told))
