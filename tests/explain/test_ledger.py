# SPDX-License-Identifier: GPL-2.0-only
"""A latency is divided into terms that sum to it, each with its culprit."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rtscope.explain.encode import FORMATS, Event, pages_of
from rtscope.explain.ftrace import Events, Layout
from rtscope.explain.ledger import LateThread, ledger_of
from rtscope.model.timeline import Explanation, LedgerTerm, Remote

LAYOUT = Layout(4096, 8)
T = 100
"""the measuring thread"""
DUE = 1_000_000
LATE = LateThread(thread=0, time_ns=5, due_ns=DUE, latency_ns=10_000, tid=T, cpu=1)


def switch(at: int, tid: int, to: int, prio: int = 120, next_prio: int = 120) -> Event:
    names = {0: "swapper/1", T: "cyclic/1"}
    return Event(
        DUE + at, "sched_switch", tid,
        {"prev_comm": names.get(tid, f"task{tid}"), "prev_pid": tid, "prev_prio": prio,
         "next_comm": names.get(to, f"task{to}"), "next_pid": to, "next_prio": next_prio},
    )  # fmt: skip


def waking(at: int, tid: int, cpu: int = 1) -> Event:
    fields: dict[str, int | str] = {
        "comm": "cyclic/1", "pid": T, "prio": 19, "target_cpu": cpu,
    }  # fmt: skip
    return Event(DUE + at, "sched_waking", tid, fields)


def plain(at: int, name: str, tid: int, /, **fields: int | str) -> Event:
    return Event(DUE + at, name, tid, fields)


def told(*events: Event, others: list[Event] | None = None, lost: int | None = None) -> Explanation:
    pages = [pages_of(1, events, LAYOUT), pages_of(0, others or [], LAYOUT)]
    missing = frozenset() if lost is None else frozenset({lost})
    return ledger_of(LATE, Events(pages, LAYOUT, FORMATS), missing)


def terms(*events: Event, others: list[Event] | None = None) -> list[tuple[str, str, int]]:
    return [(term.kind, term.name, term.ns) for term in told(*events, others=others).ledger]


BEGINS = switch(-5000, T, 0)
TIMER = [plain(1000, "local_timer_entry", 0), waking(1500, 0), plain(2000, "local_timer_exit", 0)]
END = switch(12_000, T, 0)


@pytest.mark.parametrize(
    ("events", "expected"),
    [
        pytest.param(
            [BEGINS, plain(-4000, "cpu_idle", 0, state=2), *TIMER, switch(2500, 0, T), END],
            [("own", "", 7500), ("hard-interrupt", "local_timer", 1000),
             ("idle-exit", "idle state 2", 1000), ("switch", "", 500)],
            id="idle",
        ),
        pytest.param(
            [switch(-500, 0, 7), plain(6000, "local_timer_entry", 7), waking(6500, 7),
             plain(7000, "local_timer_exit", 7), switch(9000, 7, T), END],
            [("timer-late", "task7/7", 6000), ("preemption-off", "task7/7", 2000),
             ("hard-interrupt", "local_timer", 1000), ("own", "", 1000)],
            id="interrupts, then preemption off",
        ),
        pytest.param(
            [BEGINS, *TIMER, switch(3000, 0, 8, next_prio=0), switch(9000, 8, T, prio=0), END],
            [("thread", "task8/8", 6000), ("switch", "", 1000), ("idle-exit", "", 1000),
             ("hard-interrupt", "local_timer", 1000), ("own", "", 1000)],
            id="a thread of higher priority",
        ),
        pytest.param(
            [BEGINS, *TIMER, switch(3000, 0, T), plain(4000, "irq_handler_entry", T, name="eth0"),
             plain(6000, "irq_handler_exit", T), plain(7000, "softirq_entry", T, vec=3),
             plain(9000, "softirq_exit", T), END],
            [("own", "", 3000), ("hard-interrupt", "eth0", 2000),
             ("soft-interrupt", "NET_RX", 2000), ("hard-interrupt", "local_timer", 1000),
             ("idle-exit", "", 1000), ("switch", "", 1000)],
            id="interrupted itself",
        ),
        pytest.param(
            [BEGINS, *TIMER, plain(11_000, "softirq_entry", T, vec=1)],
            [("unexplained", "", 8000), ("hard-interrupt", "local_timer", 1000),
             ("idle-exit", "", 1000)],
            id="a switch that was not recorded",
        ),
        pytest.param(
            [BEGINS, *TIMER, switch(2500, 0, 9), plain(3000, "softirq_entry", 9, vec=1),
             switch(6000, 9, T), END],
            [("own", "", 4000), ("soft-interrupt", "TIMER", 3000),
             ("hard-interrupt", "local_timer", 1000), ("idle-exit", "", 1000),
             ("switch", "", 500), ("preemption-off", "task9/9", 500)],
            id="a task preempted in its soft interrupt",
        ),
        pytest.param(
            [BEGINS, *TIMER, switch(2500, 0, T), plain(7000, "nmi_handler", T, delta_ns=3000), END],
            [("own", "", 4500), ("nmi", "", 3000), ("hard-interrupt", "local_timer", 1000),
             ("idle-exit", "", 1000), ("switch", "", 500)],
            id="an NMI",
        ),
        pytest.param([], [("unexplained", "", 10_000)], id="no event"),
    ],
)  # fmt: skip
def test_each_part_of_the_latency_has_its_culprit(
    events: list[Event], expected: list[tuple[str, str, int]]
) -> None:
    assert sorted(terms(*events)) == sorted(expected)


def test_a_thread_that_moves_is_followed_to_its_new_cpu() -> None:
    moves = plain(3000, "sched_migrate_task", 9, pid=T, orig_cpu=1, dest_cpu=0)
    found = terms(
        switch(-500, 0, 9, next_prio=0), waking(1500, 9), moves, switch(20_000, 9, 0),
        others=[switch(-100, 0, 7), switch(8000, 7, T), switch(12_000, T, 0)],
    )  # fmt: skip
    assert sorted(found) == [
        ("own", "", 2000), ("preemption-off", "task7/7", 5000),
        ("thread", "task9/9", 1500), ("timer-late", "task9/9", 1500),
    ]  # fmt: skip


SITES = {0x5000: "send_it", 0x6000: "work_fn", 0x7000: "irqs_off_here"}


def term_of(kind: str, *events: Event, others: list[Event] | None = None) -> LedgerTerm:
    """The longest term of a kind; functions have the names in SITES."""
    pages = [pages_of(1, events, LAYOUT), pages_of(0, others or [], LAYOUT)]
    events_read = Events(pages, LAYOUT, FORMATS)
    found = ledger_of(LATE, events_read, frozenset(), lambda address: SITES.get(address, ""))
    assert sum(term.ns for term in found.ledger) == LATE.latency_ns
    return next(term for term in found.ledger if term.kind == kind and term.name != "local_timer")


CPU_1 = "\x02" + 6 * "\0"
"""a mask of CPUs"""
CALLED = [BEGINS, *TIMER, switch(2500, 0, T), plain(4000, "call_function_single_entry", T)]
RETURNS = [plain(6000, "call_function_single_exit", T), END]
OTHER_RAN = [switch(-900, 0, 7), switch(9000, 7, 0)]


@pytest.mark.parametrize(
    ("before", "within", "sent", "expected"),
    [
        pytest.param([], [], [], None, id="nobody"),
        pytest.param(
            [], [], [plain(3800, "ipi_send_cpu", 7, cpu=1, callsite=0x5000, callback=1)],
            Remote("task7/7", 0, "send_it"), id="to one CPU",
        ),
        pytest.param(
            [], [], [plain(3800, "ipi_send_cpumask", 7, cpumask=CPU_1, callsite=0x5001)],
            Remote("task7/7", 0, "0x5001"), id="to several CPUs",
        ),
        pytest.param(
            [], [plain(4500, "csd_function_entry", T, func=0x6000, csd=77)],
            [plain(-300, "csd_queue_cpu", 7, cpu=1, callsite=0x5000, func=0x6000, csd=77),
             plain(3800, "ipi_send_cpu", 7, cpu=1, callsite=0x9000, callback=1)],
            Remote("task7/7", 0, "send_it"), id="a call that was queued",
        ),
    ],
)  # fmt: skip
def test_an_interrupt_from_another_cpu_has_its_sender(
    before: list[Event], within: list[Event], sent: list[Event], expected: Remote | None
) -> None:
    others = sorted([*OTHER_RAN, *sent], key=lambda one: one.time_ns)
    found = term_of("hard-interrupt", *CALLED, *within, *RETURNS, others=others)

    assert (found.ns, found.cpus, found.remote) == (2000, [1], expected)
    assert found.function == ("work_fn" if within else "")


def test_a_worker_thread_has_its_work_item_and_who_queued_it() -> None:
    found = term_of(
        "thread", BEGINS, *TIMER, switch(3000, 0, 8, next_prio=0),
        plain(3000, "workqueue_execute_start", 8, work=55, function=0x6000),
        plain(9000, "workqueue_execute_end", 8, work=55, function=0x6000),
        switch(9000, 8, T, prio=0), END,
        others=[switch(-900, 0, 7), plain(500, "workqueue_queue_work", 7, work=55),
                switch(11_000, 7, 0)],
    )  # fmt: skip
    assert (found.name, found.ns, found.function) == ("task8/8", 6000, "work_fn")
    assert found.remote == Remote("task7/7", 0)


SPIN = [switch(-500, 0, 7), plain(-200, "contention_begin", 7, lock_addr=5, flags=1),
        plain(6000, "contention_end", 7, lock_addr=5), *(
            plain(at, name, 7) for at, name in ((6200, "local_timer_entry"),)),
        waking(6500, 7), plain(7000, "local_timer_exit", 7), switch(9000, 7, T), END]  # fmt: skip


@pytest.mark.parametrize(
    ("others", "holder"),
    [
        pytest.param(
            [switch(-900, 0, 9), switch(8000, 9, 0)], Remote("task9/9", 0, certain=False),
            id="the only task that ran all the time",
        ),
        pytest.param([switch(-900, 0, 9), switch(3000, 9, 0)], None, id="none ran all the time"),
        pytest.param(
            [switch(-900, 0, 9), plain(-600, "contention_begin", 9, lock_addr=5, flags=1),
             plain(-400, "contention_end", 9, lock_addr=5), switch(3000, 9, 0)],
            Remote("task9/9", 0, certain=False), id="took it last",
        ),
    ],
)  # fmt: skip
def test_a_wait_for_a_raw_lock_has_its_holder(others: list[Event], holder: Remote | None) -> None:
    found = term_of("lock", *SPIN, others=others)
    assert (found.name, found.ns, found.remote) == ("task7/7", 6000, holder)


def test_a_lock_that_the_measuring_thread_sleeps_for_has_the_boosted_holder() -> None:
    found = term_of(
        "lock", BEGINS, *TIMER, switch(2500, 0, T),
        plain(3000, "contention_begin", T, lock_addr=5, flags=8),
        plain(3100, "sched_pi_setprio", T, pid=9, oldprio=120, newprio=19),
        Event(DUE + 3500, "sched_switch", T, {"prev_pid": T, "prev_state": 2, "next_pid": 0}),
        waking(8000, 0), switch(8500, 0, T), plain(8600, "contention_end", T, lock_addr=5), END,
        others=[switch(-900, 0, 9), switch(9500, 9, 0)],
    )  # fmt: skip
    assert (found.name, found.ns, found.remote) == ("", 4500, Remote("task9/9", 0))


def test_moves_page_faults_and_the_function_that_disabled_interrupts_have_terms() -> None:
    moved = term_of(
        "migration", switch(-500, 0, 9, next_prio=0), waking(1500, 9),
        plain(3000, "sched_migrate_task", 9, pid=T, orig_cpu=1, dest_cpu=0), switch(20_000, 9, 0),
        others=[switch(-100, 7, 0), switch(4000, 0, T), switch(12_000, T, 0)],
    )  # fmt: skip
    assert (moved.ns, moved.cpus) == (1000, [0])
    fault = term_of(
        "page-fault", BEGINS, *TIMER, switch(2500, 0, T), plain(4000, "page_fault_user", T), END
    )
    assert fault.ns == 6000
    off = term_of(
        "timer-late", switch(-500, 0, 7), plain(-100, "irq_disable", 7, caller_offs=0x7000),
        plain(6000, "irq_enable", 7), waking(6500, 7), switch(9000, 7, T), END,
    )  # fmt: skip
    assert (off.ns, off.function) == (6000, "irqs_off_here")


def test_a_sample_whose_events_were_overwritten_is_not_explained() -> None:
    found = told(BEGINS, *TIMER, switch(2500, 0, T), END, lost=1)
    assert [(term.kind, term.ns) for term in found.ledger] == [("unexplained", 10_000)]
    assert found.notes


def test_silence_of_all_cpus_is_suspected_to_come_from_below_the_kernel() -> None:
    def notes(other_at: int) -> list[str]:
        late = LateThread(0, 5, DUE, 100_000, T, 1)
        ran = [
            switch(-500, 0, 7),
            waking(90_000, 7),
            switch(95_000, 7, T),
            switch(200_000, T, 0),
        ]
        others = [switch(-100, 0, 3), switch(other_at, 3, 0)]
        pages = [pages_of(1, ran, LAYOUT), pages_of(0, others, LAYOUT)]
        return ledger_of(late, Events(pages, LAYOUT, FORMATS), frozenset()).notes

    assert ["firmware" in note for note in notes(150_000)] == [True]
    assert notes(40_000) == []


STEPS = st.lists(
    st.tuples(
        st.integers(-6000, 16_000),
        st.sampled_from(
            [switch(0, 0, 7), switch(0, 7, T), switch(0, T, 0), waking(0, 7), waking(0, 0, cpu=0),
             plain(0, "local_timer_entry", 7), plain(0, "local_timer_exit", 7),
             plain(0, "softirq_entry", T, vec=77), plain(0, "softirq_exit", T),
             plain(0, "cpu_idle", 0, state=1), plain(0, "nmi_handler", 7, delta_ns=2000),
             plain(0, "sched_migrate_task", 7, pid=T, dest_cpu=0),
             plain(0, "contention_begin", T, lock_addr=5, flags=8),
             plain(0, "contention_begin", 7, lock_addr=5, flags=1),
             plain(0, "contention_end", 7, lock_addr=5), plain(0, "page_fault_user", T),
             plain(0, "call_function_single_entry", 7), plain(0, "ipi_send_cpu", 7, cpu=1),
             plain(0, "workqueue_execute_start", 7, work=1), plain(0, "irq_disable", 7)]
        ),
    ),
    max_size=30,
)  # fmt: skip


@given(STEPS, STEPS)
def test_the_terms_sum_to_the_latency_whatever_the_trace_holds(
    one: list[tuple[int, Event]], two: list[tuple[int, Event]]
) -> None:
    def timed(steps: list[tuple[int, Event]]) -> list[Event]:
        return [
            Event(DUE + at, event.name, event.tid, event.fields)
            for at, event in sorted(steps, key=lambda step: step[0])
        ]

    found = told(*timed(one), others=timed(two))
    assert sum(term.ns for term in found.ledger) == LATE.latency_ns
    assert all(term.ns > 0 for term in found.ledger)
    assert sum(part.ns for part in found.tasks or []) == LATE.latency_ns
