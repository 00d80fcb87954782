# SPDX-License-Identifier: GPL-2.0-only
"""A recorded run of one late sample: a task of another CPU interrupts the measuring thread."""

from rtscope.explain.encode import FORMATS, Event, format_text, pages_of
from rtscope.explain.ftrace import Layout
from rtscope.explain.recorded import explained_window, formats_of, layout_of, packed
from rtscope.model.recording import EventFormat, RecordedWindow, Recording
from rtscope.model.run import Run
from tests.measured import run_of, thread_of

LAYOUT = Layout(4096, 8)
DUE = 12_345_678_000_000
LATENCY = 60_000
TID = 100
NAMES = {0: "swapper/1", TID: "cyclic/1", 7: "make", 8: "irq/9-eth 0"}


def switch(at: int, tid: int, to: int, next_prio: int = 120, state: int = 0) -> Event:
    """A task switch, `at` ns after the deadline."""
    return Event(
        DUE + at, "sched_switch", tid,
        {"prev_comm": NAMES[tid], "prev_pid": tid, "prev_prio": 120, "prev_state": state,
         "next_comm": NAMES[to], "next_pid": to, "next_prio": next_prio},
    )  # fmt: skip


CPU_1 = [
    switch(-30_000, TID, 7, state=1),
    Event(DUE + 2_000, "local_timer_entry", 7, {"vector": 236}),
    Event(DUE + 3_000, "sched_waking", 7,
          {"comm": "cyclic/1", "pid": TID, "prio": 19, "target_cpu": 1}),
    Event(DUE + 4_000, "local_timer_exit", 7, {"vector": 236}),
    switch(5_000, 7, 8, next_prio=9),
    Event(DUE + 10_000, "irq_handler_entry", 8, {"irq": 9, "name": "eth0"}),
    Event(DUE + 20_000, "irq_handler_exit", 8, {"irq": 9, "ret": 1}),
    switch(45_000, 8, TID, next_prio=19, state=1),
    switch(70_000, TID, 0, state=1),
]  # fmt: skip
CPU_0 = [switch(-1_000_000, 0, 7), switch(200_000, 7, 0)]
TERMS = [
    ("thread", "irq/9-eth 0/8", 30_000), ("own", "", 15_000), ("hard-interrupt", "eth0", 10_000),
    ("hard-interrupt", "local_timer", 2_000), ("timer-late", "make/7", 2_000),
    ("preemption-off", "make/7", 1_000),
]  # fmt: skip


def recording() -> Recording:
    """The trace around the sample."""
    parts = [
        packed(cpu, pages_of(cpu, events, LAYOUT).data) for cpu, events in ((0, CPU_0), (1, CPU_1))
    ]
    return Recording(
        clock="mono",
        page_size=4096,
        commit_size=8,
        little_endian=True,
        events=[EventFormat(f"test/{one.name}", format_text(one.name)) for one in FORMATS],
        windows=[RecordedWindow(DUE, LATENCY, TID, 1, parts)],
    )


def recorded_run() -> Run:
    """The run with its explanation."""
    recorded = recording()
    told = explained_window(
        recorded.windows[0], layout_of(recorded), formats_of(recorded), 0, DUE - 5_000_000
    )
    thread = thread_of([1000] * 99 + [LATENCY], 1)
    return run_of(thread, explanations=[told], recording=recorded)
