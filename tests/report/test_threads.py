# SPDX-License-Identifier: GPL-2.0-only
"""The table of threads fits any terminal, and nothing in it steers one."""

import io

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace
from rich.cells import cell_len
from rich.console import Console

from rtscope.model.run import RunWarning
from rtscope.model.threads import SeenThread, Threads, ThreadTimes
from rtscope.report.terminal.threads import threads_view

INTERRUPT = SeenThread(
    1023, 1023, "irq/19-mrfevr", True, -51, "S", 13_250_000_000, policy="fifo", priority=50,
    cpus="0-3", cpu=1, wait_channel="irq_thread", irq=19, voluntary=120_400, forced=3,
)  # fmt: skip
LLRF = SeenThread(
    1020, 1024, "LLRFControl", False, -95, "S", 39_000_000, policy="fifo", priority=94, cpus="1",
    cpu=1, wait_channel="mrfevr_wait.constprop.0", voluntary=99, forced=0,
)  # fmt: skip
DEADLINE = SeenThread(
    7, 7, "edf", False, -101, "R", 1, policy="deadline", runtime_ns=1_000_000,
    deadline_ns=5_000_000, period_ns=10_000_000, cpus="0-3", cpu=0,
)  # fmt: skip
SHELL = SeenThread(800, 800, "bash", False, 15, "S", 5, policy="other", nice=-5, cpus="0-3", cpu=0)
SOFTIRQ = SeenThread(
    16, 16, "ksoftirqd/0", True, 20, "S", 5, policy="other", nice=0, cpus="0", cpu=0, softirq="all"
)


def shown(
    *threads: SeenThread,
    width: int = 160,
    warnings: list[RunWarning] | None = None,
    every: bool = False,
    **more: object,
) -> list[str]:
    file = io.StringIO()
    console = Console(file=file, width=width, color_system=None)
    seen = replace(Threads(0, list(threads)), **more)
    console.print(threads_view(seen, warnings or [], every=every))
    return [line.rstrip() for line in file.getvalue().splitlines()]


def test_the_reports_columns_and_what_one_looks_up_beside_them_are_there() -> None:
    title, head, llrf, interrupt, shell = shown(LLRF, INTERRUPT, SHELL, every=True)[:5]
    assert title == "3 of 3 threads"
    assert head.split() == [
        "PID", "TID", "Policy", "CPUs", "On", "S", "CPU", "time", "Voluntary", "Forced", "Serves",
        "Waits", "in", "Name",
    ]  # fmt: skip
    assert llrf.split() == [
        "1020", "1024", "fifo", "94", "1", "1", "S", "39.000", "ms", "99", "0", "mrfevr_wait",
        "LLRFControl",
    ]  # fmt: skip
    assert interrupt.split() == [
        "1023", "1023", "fifo", "50", "0-3", "1", "S", "13.250", "s", "120,400", "3", "irq", "19",
        "irq_thread", "[irq/19-mrfevr]",
    ]  # fmt: skip
    assert "other nice -5" in shell


def test_an_order_that_is_wrong_is_a_warning_below_the_table() -> None:
    lines = shown(LLRF, INTERRUPT, width=2000)
    assert lines[-2].startswith("! irq/19-mrfevr (tid 1023, fifo 50): below what waits")
    assert lines[-1].startswith("i ")


def test_only_real_time_threads_and_those_on_isolated_cpus_are_shown_unless_all_are() -> None:
    isolated = replace(SHELL, name="stray", isolated=True)
    boosted = replace(SHELL, name="lent", rank=-95, inherited=True, nice=None)
    threads = [LLRF, boosted, SHELL, isolated]
    few = shown(*threads, isolated="2-3", nohz_full="3", partition="1")
    assert few[0] == "3 of 4 threads: real-time policies, and isolated CPUs"
    assert few[1] == "isolated CPUs: 2-3, without a tick (nohz_full): 3, in isolated cpusets: 1"
    assert [line.split()[-1] for line in few[3:6]] == ["LLRFControl", "lent", "stray"]
    assert "other ↑94" in few[4]
    assert any(line.endswith("bash") for line in shown(*threads, every=True))


def test_what_was_done_since_the_last_look_takes_the_place_of_all() -> None:
    since = replace(LLRF, since=ThreadTimes(2_000_000, 17, 4))
    title, _, row = shown(since, since_ns=1_000_000_000)[:3]
    assert title == "1 of 1 threads; CPU time and switches in the last 1.0 s"
    assert row.split()[7:11] == ["2.000", "ms", "17", "4"]


def test_a_deadline_thread_has_its_runtime_deadline_and_period() -> None:
    assert "deadline 1ms/5ms/10ms" in shown(DEADLINE)[2]


def test_who_serves_soft_interrupts_is_told() -> None:
    timers = replace(SOFTIRQ, name="ktimers/0", softirq="timers")
    lines = shown(SOFTIRQ, timers, every=True)
    assert "softirqs" in lines[2]
    assert "softirq timers" in lines[3]


def test_what_is_not_known_is_a_dash() -> None:
    row = shown(SeenThread(1, 1, "a", False, -2, "S", 0))[2]
    assert row.split() == ["1", "1", "?", "–", "–", "S", "0.000", "ms", "–", "–", "–", "a"]


def test_warnings_are_told() -> None:
    lines = shown(LLRF, warnings=[RunWarning("threads-denied", "3 processes may not be seen")])
    assert "! 3 processes may not be seen" in lines


def test_no_thread_is_no_error() -> None:
    assert shown(SHELL) == ["0 of 1 threads: real-time policies, and isolated CPUs"]


@pytest.mark.parametrize("width", [20, 40, 60, 80, 120, 200])
def test_it_never_outgrows_the_terminal(width: int) -> None:
    long = replace(INTERRUPT, name="irq/19-" + "x" * 56, cpus="0,2,4,6," * 400, tid=2**31 - 1)
    lines = shown(DEADLINE, LLRF, long, SHELL, width=width, every=True)
    assert max(cell_len(line) for line in lines) <= width
    assert any("LLRF" in line for line in lines)


EVIL = "\x1b[2J\n[red]\u202e\x07"


def test_hostile_names_steer_nothing() -> None:
    evil = replace(
        LLRF, name=EVIL, policy=EVIL[:16], cpus=EVIL, state=EVIL[:4], wait_channel="mrfevr_" + EVIL,
        softirq=EVIL, priority=99,
    )  # fmt: skip
    lines = shown(evil, INTERRUPT, isolated=EVIL, width=400)
    text = "".join(lines)
    for steering in ("\x1b", "\x07", "\u202e"):
        assert steering not in text
    assert "[red]" in text
    assert len([line for line in lines if "[irq/19-mrfevr]" in line]) == 1


@given(st.text(max_size=64), st.integers(8, 200))
def test_any_name_makes_one_row_that_fits(name: str, width: int) -> None:
    lines = shown(replace(SHELL, name=name), width=width, every=True)
    assert max(map(cell_len, lines), default=0) <= width
    rows = [line for line in lines if line and "threads" not in line]
    assert rows
