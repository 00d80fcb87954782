# SPDX-License-Identifier: GPL-2.0-only
"""The probe event on the lab's kernels: every road, and which of them keeps a deadline."""

from collections.abc import Callable

import pytest

from rtscope.engine.measure import measure
from rtscope.engine.targets import target_of
from rtscope.lab.kernels import Kernel
from rtscope.model.errors import RtscopeError
from rtscope.model.machine import Machine
from rtscope.model.request import Request
from rtscope.model.run import Thread
from tests.lab.kernel_names import BUILT, BUILT_OTHERS, DEBIAN, OTHERS

KernelNamed = Callable[[str], Kernel]

WAITS = ["sigwait", "read", "ioctl", "poll", "epoll", "eventfd", "page"]
EVENTS = 300


def measured(kernel: Kernel, road: str, machine: str = "", **options: int) -> Thread:
    """The one series of a run, by the road, with more options."""
    named = {name.replace("_", "-"): str(value) for name, value in options.items()}
    request = Request(probe="event", samples=EVENTS, options={"via": road, **named})
    target = target_of(f"vm:{kernel.name}{machine}")
    run = measure(request, Machine(), lambda agent: None, lambda line: None, target)
    (thread,) = run.threads

    assert run.status == "complete"
    assert (thread.name, thread.count, thread.missed) == (road, EVENTS, 0)
    assert thread.metrics["lost"] == 0
    return thread


@pytest.mark.parametrize("road", WAITS)
@pytest.mark.parametrize("name", [*DEBIAN, *BUILT, *BUILT_OTHERS])
def test_a_thread_that_waits_keeps_the_deadline_with_a_busy_program(
    name: str, road: str, kernel_named: KernelNamed
) -> None:
    thread = measured(kernel_named(name), road)

    assert thread.metrics["deadline_violations"] == 0
    assert thread.metrics["taken_by_own_thread"] == EVENTS
    assert thread.metrics["merged"] == 0
    (waiter,) = thread.waiters
    assert (waiter.priority, waiter.count) == (94, EVENTS)


@pytest.mark.parametrize("name", [*DEBIAN, *BUILT])
def test_so_does_one_that_waits_in_io_uring(name: str, kernel_named: KernelNamed) -> None:
    assert measured(kernel_named(name), "uring").metrics["deadline_violations"] == 0


@pytest.mark.long
@pytest.mark.parametrize("name", OTHERS)
def test_a_kernel_without_io_uring_is_reported(name: str, kernel_named: KernelNamed) -> None:
    with pytest.raises(RtscopeError, match=r"--via uring .* built without CONFIG_IO_URING$"):
        measured(kernel_named(name), "uring")


@pytest.mark.parametrize("name", [*DEBIAN, *BUILT, *BUILT_OTHERS])
def test_a_handler_in_any_thread_does_not(name: str, kernel_named: KernelNamed) -> None:
    thread = measured(kernel_named(name), "sigio")

    assert thread.metrics["deadline_violations"] > EVENTS / 10
    assert thread.metrics["taken_by_own_thread"] == 0
    assert thread.metrics["merged"] > 0
    assert thread.waiters[0].name == "main"


@pytest.mark.parametrize("name", [*DEBIAN, *BUILT, *BUILT_OTHERS])
def test_a_program_at_rest_lets_a_handler_keep_it(name: str, kernel_named: KernelNamed) -> None:
    assert measured(kernel_named(name), "sigio", busy=0).metrics["deadline_violations"] == 0


@pytest.mark.parametrize("name", [*DEBIAN, *BUILT, *BUILT_OTHERS])
def test_an_interrupt_thread_as_the_kernel_makes_it_waits_for_the_busy_program(
    name: str, kernel_named: KernelNamed
) -> None:
    kernel = kernel_named(name)
    busy, quiet = (measured(kernel, "read", irq_priority=50, busy=busy) for busy in (40, 0))

    assert busy.metrics["deadline_violations"] > EVENTS / 10
    assert busy.metrics["interrupt_to_thread_max_ns"] > 1_000_000
    assert busy.metrics["wake_to_user_max_ns"] < 100_000
    assert quiet.metrics["deadline_violations"] == 0


@pytest.mark.parametrize("name", [*DEBIAN, *BUILT, *BUILT_OTHERS])
def test_who_watches_the_page_does_not_wait_for_the_interrupts_thread(
    name: str, kernel_named: KernelNamed
) -> None:
    kernel = kernel_named(name)
    watched = measured(kernel, "page", irq_priority=50)

    assert watched.metrics["deadline_violations"] == 0
    assert "interrupt_to_thread_max_ns" not in watched.metrics
    assert watched.max_ns is not None
    assert watched.max_ns < (measured(kernel, "read").min_ns or 0)


@pytest.mark.parametrize("name", [*DEBIAN, *BUILT, *BUILT_OTHERS])
def test_the_stages_add_up_to_the_delay_and_every_run_is_the_same(
    name: str, kernel_named: KernelNamed
) -> None:
    kernel = kernel_named(name)
    one, other = measured(kernel, "sigwait"), measured(kernel, "sigwait")
    stages = ("interrupt_to_thread", "thread_to_wake", "wake_to_user")

    assert sum(one.metrics[f"{stage}_mean_ns"] for stage in stages) == pytest.approx(one.mean_ns)
    assert one.histogram == other.histogram
    assert one.metrics == other.metrics


@pytest.mark.kernels
def test_an_interrupt_that_is_held_off_is_late_itself(kernel_named: KernelNamed) -> None:
    thread = measured(kernel_named("x86_64-rt"), "sigwait", ",load=rtdelay delay_us=200")

    assert 100_000 < thread.metrics["due_to_interrupt_max_ns"] < 300_000
    assert thread.max_ns is not None
    assert thread.max_ns < 50_000
