# SPDX-License-Identifier: GPL-2.0-only
"""Threads that can preempt those they serve are found, and nothing else."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from rtscope.model.finding import Finding
from rtscope.model.thread_finding import InterruptBelowWaiter, InterruptsBelowUsers
from rtscope.model.threads import SeenThread, Threads
from rtscope.statistics.threadorder import thread_findings
from rtscope.wording.findings import sentence
from rtscope.wording.threadorder import policy_words


def fifo(name: str, priority: int, cpus: str | None = "0-3", **more: object) -> SeenThread:
    thread = SeenThread(
        1, 1, name, False, -1 - priority, "S", 1, policy="fifo", priority=priority, cpus=cpus
    )
    return replace(thread, **more)


def other(name: str, **more: object) -> SeenThread:
    return replace(SeenThread(9, 9, name, True, 20, "S", 1, policy="other", cpus="0-3"), **more)


def interrupt(name: str, priority: int, cpus: str | None = "0-3", **more: object) -> SeenThread:
    number = int(name.removeprefix("irq/").partition("-")[0])
    return replace(fifo(name, priority, cpus), **{"kernel": True, "irq": number, "tid": 8} | more)


def about(*threads: SeenThread, realtime: bool = True) -> dict[str, Finding]:
    found = thread_findings(Threads(0, list(threads), realtime_kernel=realtime))
    kinds = [str(type(one).__struct_config__.tag) for one in found]
    assert len(set(kinds)) == len(found)
    return dict(zip(kinds, found, strict=True))


def waiters(found: dict[str, Finding]) -> InterruptBelowWaiter:
    one = found["interrupt-below-waiter"]
    assert isinstance(one, InterruptBelowWaiter)
    assert one.severity == "warning"
    return one


@pytest.mark.parametrize(
    ("action", "channel", "module", "waits"),
    [
        ("irq/19-sis8300", "sis8300_read_wait", None, True),
        ("irq/19-s-sis8300", "sis8300_read_wait", None, True),
        ("irq/19-rtc0", "rtc_dev_read.constprop.0", None, True),
        ("irq/19-MrfEvr:1", "mrfevr2_read", None, True),
        ("irq/19-snd_hda_intel:card0", "snd_hda_intel_wait", None, True),
        ("irq/19-Sis8300:1", "await_event", "sis8300", True),
        ("irq/19-sis8300", "futex_wait_queue", None, False),
        ("irq/19-sis8300", "sis", None, False),
        ("irq/19-sis8300", "sister_read", None, False),
        ("irq/19-sis8300", None, None, False),
        ("irq/19-do", "do_sys_poll", None, False),
        ("irq/19-0000:00:01.0", "_read", None, False),
        ("irq/19-", "_read", None, False),
        ("irq/19-daq0", "await_event", "other", False),
    ],
)
def test_an_interrupt_below_its_waiter_is_a_warning(
    action: str, channel: str | None, module: str | None, waits: bool
) -> None:
    waiter = fifo("LLRFControl", 94, wait_channel=channel, wait_module=module)
    low = interrupt(action, 50)
    found = about(low, waiter)
    assert ("interrupt-below-waiter" in found, "interrupts-below-users" in found) == (waits, True)
    assert not about(interrupt(action, 94), waiter)
    if waits:
        one = waiters(found)
        assert (one.interrupts, one.waiters, one.highest) == ([low], [waiter], waiter)
        assert "chrt -f -p 95 TID" in sentence(one).text


def test_the_highest_waiter_of_a_driver_is_compared_with_all_of_its_interrupts() -> None:
    low = [interrupt(f"irq/{number}-daq", 50, tid=number) for number in range(20, 26)]
    low.append(interrupt("irq/7-daq", 50, inherited=True, rank=-95))
    waiter = fifo("a", 90, wait_channel="daq_read")
    assert waiters(about(*low, waiter, interrupt("irq/6-daq", 95))).interrupts == low


def test_advice_is_given_where_no_priority_fits_above_the_waiter() -> None:
    high = about(interrupt("irq/1-rtc0", 50), fifo("a", 98, wait_channel="rtc_dev_read"))
    assert "below 98" in sentence(waiters(high)).text
    deadline = replace(
        fifo("d", 100, wait_channel="rtc_dev_read"), policy="deadline", priority=None
    )
    found = about(deadline, interrupt("irq/8-rtc0", 98))
    assert set(found) == {"interrupt-below-waiter", "interrupts-below-users"}
    assert waiters(found).waiters == [deadline]
    assert "above a deadline thread" in sentence(waiters(found)).text


SERIAL = interrupt("irq/4-ttyS0", 50, "0")
SOFTIRQS = other("ksoftirqd/0", softirq="all", cpus="0")


@pytest.mark.parametrize(
    ("threads", "severities"),
    [
        ([fifo("mine", 99)], {"user-at-99": "warning"}),
        ([fifo("mine", 98)], {}),
        ([fifo("migration/0", 99, kernel=True)], {}),
        ([interrupt("irq/1-rtc", 1), other("a", kernel=False, wait_channel="rtc_read")], {}),
        ([SERIAL, fifo("a", 51, "0-1")], {"interrupts-below-users": "info"}),
        ([SERIAL, fifo("a", 50, "0-1")], {}),
        ([SERIAL, fifo("a", 51, "1-3")], {}),
        ([SERIAL, fifo("a", 51, "0-1", kernel=True)], {}),
        ([SERIAL, fifo("a", 51, None)], {}),
        ([SERIAL, fifo("a", 51, "no list")], {}),
        ([SOFTIRQS, fifo("a", 1, "0")], {"softirqs-below-users": "info"}),
        ([SOFTIRQS, fifo("a", 1, "1")], {}),
    ],
)
def test_programs_above_their_servers(
    threads: list[SeenThread], severities: dict[str, str]
) -> None:
    found = about(*threads)
    assert {kind: one.severity for kind, one in found.items()} == severities
    without_softirqs = set(severities) - {"softirqs-below-users"}
    assert set(about(*threads, realtime=False)) == without_softirqs


def test_only_those_that_are_above_and_below_are_named() -> None:
    below = about(
        interrupt("irq/1-low", 10, "0", tid=11),
        interrupt("irq/2-high", 60, "0", tid=12),
        interrupt("irq/3-apart", 10, "3", tid=13),
        fifo("over", 50, "0-1", tid=21),
        fifo("under", 5, "0", tid=22),
        fifo("beside", 50, "1", tid=23),
    )["interrupts-below-users"]
    assert isinstance(below, InterruptsBelowUsers)
    assert [one.name for one in below.interrupts] == ["irq/1-low"]
    assert [one.name for one in below.users] == ["over"]


@pytest.mark.parametrize(
    ("rank", "words"), [(20, "other"), (-51, "other ↑50"), (-101, "other ↑deadline")]
)
def test_a_policy_is_shown_with_the_inherited_priority(rank: int, words: str) -> None:
    assert policy_words(other("a", rank=rank, inherited=rank < 0)) == words


TEXTS = st.text(max_size=20) | st.sampled_from(["irq/1-ab", "0-3", "ab_c", "0-99999999", "a_" * 99])


@given(
    st.lists(
        st.builds(
            SeenThread,
            pid=st.integers(0, 99), tid=st.integers(0, 99), name=TEXTS, kernel=st.booleans(),
            rank=st.integers(-102, 41), state=st.just("S"), cpu_ns=st.integers(0, 99),
            policy=st.none() | TEXTS, priority=st.none() | st.integers(1, 99),
            inherited=st.booleans(), cpus=st.none() | TEXTS, wait_channel=st.none() | TEXTS,
            wait_module=st.none() | TEXTS,
            irq=st.none() | st.integers(0, 99), softirq=st.none() | TEXTS,
        ),
        max_size=8,
    )
)  # fmt: skip
def test_findings_on_any_threads_have_few_words(threads: list[SeenThread]) -> None:
    for found in thread_findings(Threads(0, threads, realtime_kernel=True)):
        assert 0 < len(sentence(found).text) < 4000
