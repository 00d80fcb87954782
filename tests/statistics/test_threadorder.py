# SPDX-License-Identifier: GPL-2.0-only
"""What is wrong in who can preempt whom is said, and nothing else."""

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


def fifo(name: str, priority: int, **more: object) -> SeenThread:
    thread = SeenThread(
        1, 1, name, False, -1 - priority, "S", 1, policy="fifo", priority=priority, cpus="0-3"
    )
    return replace(thread, **more)


def other(name: str, **more: object) -> SeenThread:
    return replace(SeenThread(9, 9, name, True, 20, "S", 1, policy="other", cpus="0-3"), **more)


def interrupt(name: str, priority: int, **more: object) -> SeenThread:
    number = int(name.removeprefix("irq/").partition("-")[0])
    thread = replace(fifo(name, priority), kernel=True, irq=number, tid=1023)
    return replace(thread, **more)


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
    ("action", "channel"),
    [
        ("irq/19-sis8300", "sis8300_read_wait"),
        ("irq/19-s-sis8300", "sis8300_read_wait"),
        ("irq/19-mrfevr", "mrfevr_read"),
        ("irq/19-rtc0", "rtc_dev_read.constprop.0"),
        ("irq/19-MrfEvr:1", "mrfevr2_read"),
        ("irq/19-snd_hda_intel:card0", "snd_hda_intel_wait"),
    ],
)
def test_an_interrupt_below_the_thread_that_waits_for_it_is_a_warning(
    action: str, channel: str
) -> None:
    waiter = fifo("LLRFControl", 94, wait_channel=channel)
    found = waiters(about(interrupt(action, 50), waiter))
    assert (found.interrupts[0].name, found.waiters) == (action, [waiter])
    assert "chrt -f -p 95 TID" in sentence(found).text
    assert "interrupt-below-waiter" not in about(interrupt(action, 94), waiter)
    assert "interrupt-below-waiter" not in about(interrupt(action, 95), waiter)


@pytest.mark.parametrize(
    ("action", "channel"),
    [
        ("irq/19-sis8300", "futex_wait_queue"),
        ("irq/19-sis8300", "sis"),
        ("irq/19-sis8300", "sister_read"),
        ("irq/19-sis8300", None),
        ("irq/19-do", "do_sys_poll"),
        ("irq/19-0000:00:01.0", "_read"),
        ("irq/19-", "_read"),
    ],
)
def test_what_waits_elsewhere_is_no_waiter(action: str, channel: str | None) -> None:
    found = about(interrupt(action, 50), fifo("a", 94, wait_channel=channel))
    assert set(found) == {"interrupts-below-users"}


@pytest.mark.parametrize(
    ("action", "module"),
    [("irq/19-rtevent", "rtevent"), ("irq/19-Sis8300:1", "sis8300"), ("irq/19-daq0", "daq")],
)
def test_a_driver_whose_functions_have_other_names_is_known_by_its_module(
    action: str, module: str
) -> None:
    waiter = fifo("LLRFControl", 94, wait_channel="await_event", wait_module=module)
    assert waiters(about(interrupt(action, 50), waiter)).highest.wait_module == module
    assert "interrupt-below-waiter" not in about(interrupt(action, 95), waiter)
    elsewhere = replace(waiter, wait_module="other")
    assert "interrupt-below-waiter" not in about(interrupt(action, 50), elsewhere)


def test_a_thread_without_real_time_policy_may_wait_above_nobody() -> None:
    assert not about(interrupt("irq/1-rtc", 1), other("a", kernel=False, wait_channel="rtc_read"))


def test_a_waiter_so_high_that_nothing_fits_above_is_to_be_lowered() -> None:
    found = about(interrupt("irq/1-rtc0", 50), fifo("a", 98, wait_channel="rtc_dev_read"))
    assert "below 98" in sentence(waiters(found)).text


def test_all_interrupts_of_a_driver_are_one_remark() -> None:
    low = [interrupt(f"irq/{number}-daq", 50, tid=number) for number in range(20, 26)]
    found = about(*low, fifo("a", 90, wait_channel="daq_read"), interrupt("irq/7-daq", 95))
    assert waiters(found).interrupts == low


def test_what_is_inherited_for_a_moment_excuses_no_interrupt() -> None:
    boosted = interrupt("irq/1-rtc0", 50, inherited=True, rank=-95)
    found = about(boosted, fifo("a", 90, wait_channel="rtc_dev_read"))
    assert waiters(found).interrupts == [boosted]


def test_a_programs_thread_at_99_is_a_warning_and_a_kernels_is_not() -> None:
    assert about(fifo("mine", 99))["user-at-99"].severity == "warning"
    assert not about(fifo("mine", 98))
    assert not about(fifo("migration/0", 99, kernel=True))


def test_an_interrupt_below_a_thread_of_the_same_cpu_is_an_information() -> None:
    low = interrupt("irq/4-ttyS0", 50, cpus="0")
    assert about(low, fifo("a", 51, cpus="0-1"))["interrupts-below-users"].severity == "info"
    assert not about(low, fifo("a", 50, cpus="0-1"))
    assert not about(low, fifo("a", 51, cpus="1-3"))
    assert not about(low, fifo("a", 51, cpus="0-1", kernel=True))
    assert not about(low, fifo("a", 51, cpus=None))
    assert not about(low, fifo("a", 51, cpus="no list"))


def test_who_serves_soft_interrupts_below_a_thread_is_an_information_where_it_matters() -> None:
    threads = [other("ksoftirqd/0", softirq="all", cpus="0"), fifo("a", 1, cpus="0")]
    assert about(*threads)["softirqs-below-users"].severity == "info"
    assert not about(*threads, realtime=False)
    apart = [other("ksoftirqd/0", softirq="all", cpus="0"), fifo("a", 1, cpus="1")]
    assert not about(*apart)


def test_only_those_that_are_above_and_below_are_named() -> None:
    found = about(
        interrupt("irq/1-low", 10, cpus="0", tid=11),
        interrupt("irq/2-high", 60, cpus="0", tid=12),
        interrupt("irq/3-apart", 10, cpus="3", tid=13),
        fifo("over", 50, cpus="0-1", tid=21),
        fifo("under", 5, cpus="0", tid=22),
        fifo("beside", 50, cpus="1", tid=23),
    )
    below = found["interrupts-below-users"]
    assert isinstance(below, InterruptsBelowUsers)
    assert [one.name for one in below.interrupts] == ["irq/1-low"]
    assert [one.name for one in below.users] == ["over"]


def test_a_deadline_thread_is_above_every_priority() -> None:
    deadline = SeenThread(
        5, 5, "d", False, -101, "S", 1, policy="deadline", cpus="0-3", wait_channel="rtc_dev_read"
    )
    found = about(deadline, interrupt("irq/8-rtc0", 98))
    assert set(found) == {"interrupt-below-waiter", "interrupts-below-users"}
    assert waiters(found).waiters == [deadline]
    assert "above a deadline thread" in sentence(waiters(found)).text


def test_a_policy_is_told_with_what_is_inherited() -> None:
    assert policy_words(fifo("a", 50)) == "fifo 50"
    assert policy_words(other("a")) == "other"
    assert policy_words(other("a", rank=-51, inherited=True)) == "other ↑50"
    assert policy_words(other("a", rank=-101, inherited=True)) == "other ↑deadline"
    assert policy_words(SeenThread(1, 1, "a", False, 20, "S", 0)) == "?"


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
def test_whatever_a_machine_says_has_remarks_of_few_words(threads: list[SeenThread]) -> None:
    for found in thread_findings(Threads(0, threads, realtime_kernel=True)):
        assert 0 < len(sentence(found).text) < 4000
