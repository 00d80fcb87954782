# SPDX-License-Identifier: GPL-2.0-only
"""The terminal's views: what each shows when, besides what its golden file shows."""

import io
import re

import pytest
from msgspec.structs import replace
from rich.cells import cell_len
from rich.console import Console, RenderableType

from rtscope.model.progress import LoadProgress, Progress, ThreadProgress
from rtscope.model.run import RunWarning
from rtscope.model.threads import SeenThread, Threads
from rtscope.report.terminal.live import LiveState, follow, live_view
from rtscope.report.terminal.run import summary
from rtscope.report.terminal.runlist import run_table
from rtscope.report.terminal.threads import threads_view
from rtscope.report.terminal.tuning import PlanView
from rtscope.store.summary import summary_of
from rtscope.target.protocol import Start, StartThread
from tests.report.views import a_run, change, live_state, progress

SHELL = SeenThread(800, 800, "bash", False, 15, "S", 5, policy="other", nice=-5, cpus="0-3", cpu=0)


def shown(
    view: RenderableType, width: int = 120, height: int = 24, *, terminal: bool = False
) -> str:
    file = io.StringIO()
    Console(
        file=file, width=width, height=height, force_terminal=terminal, color_system=None
    ).print(view)
    return file.getvalue()


def test_a_warning_is_printed_once_for_several_runs() -> None:
    old, new = RunWarning("old", "the old warning"), RunWarning("new", "the new warning")
    warned: set[str] = set()
    runs = [replace(a_run(), warnings=warnings) for warnings in ([old], [old, new])]
    texts = [shown(summary(run, warned=warned)) for run in runs]
    assert [text.count(old.text) for text in texts] == [1, 0]
    assert [text.count(new.text) for text in texts] == [0, 1]
    assert [text.count("PARTIAL") for text in texts] == [1, 1]
    assert ["phases" in text for text in texts] == [False, False]


@pytest.mark.parametrize("width", [20, 40, 60, 80, 120, 200])
def test_a_narrow_terminal_loses_columns_by_name_and_breaks_no_number(width: int) -> None:
    text = shown(summary(a_run()), width)
    assert max(map(cell_len, text.splitlines())) <= width
    rows = [line for line in text.splitlines() if re.match(r"\d\s+", line)]
    assert [row.split()[0] for row in rows if "00 us" in row] == ["0", "1"]
    assert ("not shown for want of room: policy" in " ".join(text.split())) == (width < 80)


def test_a_list_of_runs_keeps_the_probe_on_a_narrow_terminal() -> None:
    listed = [summary_of(replace(a_run(), probe=probe)) for probe in ("cyclic", "gtod")]
    lines = [line.split() for line in shown(run_table(listed), 80).splitlines()]
    assert [line[lines[0].index("probe")] for line in lines[1:3]] == ["cyclic", "gtod"]


def test_only_real_time_threads_and_those_on_isolated_cpus_are_shown_unless_all_are() -> None:
    isolated = replace(SHELL, name="stray", isolated=True)
    boosted = replace(SHELL, name="lent", rank=-95, inherited=True, nice=None)
    threads = Threads(0, [boosted, SHELL, isolated])
    few = shown(threads_view(threads, [])).splitlines()
    assert few[0] == "2 of 3 threads: real-time policies, and isolated CPUs"
    assert [line.split()[-1] for line in few[2:4]] == ["lent", "stray"]
    assert "bash" in shown(threads_view(threads, [], every=True))


@pytest.mark.parametrize("height", [8, 12, 24, 60])
@pytest.mark.parametrize("width", [20, 40, 100])
def test_the_live_view_never_outgrows_the_terminal(width: int, height: int) -> None:
    lines = shown(live_view(live_state(64)), width, height).splitlines()
    assert max(map(cell_len, lines)) <= width
    if width >= 40:
        assert len(lines) <= height + 2


def test_the_loads_rate_is_the_present_one() -> None:
    state = live_state(1, "files")
    loads = [LoadProgress("files", {"bytes_written": 8_000_000})]
    state.previous = replace(progress(1), time_ns=2_000_000_000, loads=loads)
    assert "1.00 M bytes written/s" in shown(live_view(state))


def test_the_live_view_shows_when_the_run_will_end() -> None:
    by_count = shown(live_view(LiveState("t", {0: None}, samples=30_000, progress=progress(1))))
    assert "15,000 of 30,000 samples, about 3 s left" in by_count
    assert "thread 0" in by_count
    assert "Ctrl-C" in shown(live_view(LiveState("t", progress=progress(1))))
    assert "waiting for the first sample" in shown(live_view(LiveState("t")))


def test_the_live_view_fills_in_missed_periods() -> None:
    """Two threads at 1 ms, of which one stalls for 50 ms: the sample and 49 filled periods."""
    state = LiveState("t")
    threads = [StartThread(number, "fifo", 90, cpu=number) for number in (0, 1)]
    follow(state, Start("cyclic", 0, 1_000_000, "fifo", 90, threads))
    punctual = ThreadProgress(1, 20_000, 0, 5000, 5000.0, 5100, 5100, gained=[(4992, 20_000)])
    stalled = ThreadProgress(
        0, 20_000, 49, 5000, 5e4, 5100, 50_000_000,
        gained=[(4992, 19_999), (49_283_072, 1)],
    )  # fmt: skip
    follow(state, Progress(2 * 10**9, [punctual]))
    assert "response" not in shown(live_view(state))
    follow(state, Progress(4 * 10**9, [stalled, punctual]))
    assert list(state.responses) == [0]
    assert state.responses[0].value_ns == pytest.approx(30e6, rel=0.05)
    header, late, early = shown(live_view(state), 120).splitlines()[-3:]
    assert "p99.9 response" in header
    assert late.split()[7:9] == early.split()[7:9] == early.split()[9:11] == ["5.10", "us"]
    assert late.split()[10] == "ms"


def test_a_plan_of_tuning_has_a_row_for_each_step() -> None:
    states = [("planned", "a"), ("planned", "b"), ("immovable", "b"), ("failed", "")]
    planned = [replace(change("irq 24", state), rule=rule) for state, rule in states]
    unmatched = [RunWarning("rule-unmatched", "the rule 'c' matches nothing here")]
    view = PlanView("x", [("one", ["a", "b"]), ("two", ["c"])], planned, unmatched)
    assert list(view.rows()) == [
        ("one", {"planned": 2, "immovable": 1}),
        ("two", {}),
        ("other", {"failed": 1}),
    ]
    assert re.search(r"one +3 +2 planned, 1 immovable", shown(view))
    assert "rules that match nothing on this system: 1\neach of them: --all" in shown(view)
