# SPDX-License-Identifier: GPL-2.0-only
"""The threads of a real-time kernel in an emulated machine, seen by its agent."""

from collections.abc import Callable
from pathlib import Path

import pytest

from rtscope.lab.kernels import Kernel
from rtscope.lab.vm import vm_target
from rtscope.model.request import ThreadsRequest
from rtscope.model.thread_finding import InterruptBelowWaiter
from rtscope.model.threads import Threads
from rtscope.statistics.threadorder import thread_findings
from tests.lab.scripted import machine_of, reported

WAITING = """
agent event --via read --irq-priority 50 --interval 500ms --busy 0 --duration 1h > /dev/null &
waits() {
	look=0
	until agent threads --json | grep -q '"wait_module":"rtevent"'; do
		look=$((look + 1))
		[ $look = 100 ] && echo '@ failed: nobody waits for rtevent' && break
		sleep 0.2
	done
}
waits
tell below agent threads --json
schedule irq/ 94
waits
tell equal agent threads --json
schedule irq/ 95
waits
tell above agent threads --json
"""
"""A program's thread waits for a device's interrupt, whose own thread has another priority."""


def test_interrupts_and_soft_interrupts_have_their_threads(rt_kernel: Kernel) -> None:
    with vm_target(f"vm:{rt_kernel.name}").started_agent(ThreadsRequest()) as guest:
        lines = list(guest.lines(90))
    found = [line for line in lines if isinstance(line, Threads)]
    assert len(found) == 1
    seen = found[0]
    assert seen.realtime_kernel
    named = {thread.name: thread for thread in seen.threads}
    assert {thread.name for thread in seen.threads if not thread.kernel} == {"init", "exe"}

    interrupts = [thread for thread in seen.threads if thread.irq is not None]
    assert interrupts
    for thread in interrupts:
        assert thread.name.startswith(f"irq/{thread.irq}-")
        assert (thread.policy, thread.priority, thread.rank) == ("fifo", 50, -51)
        assert thread.wait_channel == "irq_thread"

    softirqs, timers = named["ksoftirqd/0"], named["ktimers/0"]
    assert (softirqs.policy, softirqs.nice, softirqs.softirq) == ("other", 0, "all")
    assert (timers.policy, timers.priority, timers.softirq) == ("fifo", 1, "timers")
    assert (softirqs.cpus, softirqs.cpu) == ("0", 0)

    place = {name: seen.threads.index(thread) for name, thread in named.items()}
    assert place["migration/0"] == 0
    assert place[interrupts[0].name] < place["ktimers/0"] < place["ksoftirqd/0"]


@pytest.mark.parametrize(
    "name", ["6.12-rt-amd64", pytest.param("6.12-amd64-vxlan", marks=pytest.mark.kernels)]
)
def test_an_interrupt_below_the_thread_that_waits_for_it_is_remarked_upon_while_it_is(
    name: str, kernel_named: Callable[[str], Kernel], tmp_path: Path
) -> None:
    machine = machine_of(kernel_named(name), "mode=fast,load=rtevent", ["loglevel=1"])
    seen = {
        when: look
        for when, lines in reported(machine, WAITING, tmp_path).items()
        for look in lines
        if isinstance(look, Threads)
    }
    for when, priority in {"below": 50, "equal": 94, "above": 95}.items():
        (waiter,) = (one for one in seen[when].threads if one.wait_module == "rtevent")
        (handler,) = (one for one in seen[when].threads if one.name.endswith("-rtevent"))
        assert (waiter.kernel, waiter.priority, waiter.wait_channel) == (False, 94, "await_event")
        assert handler.priority == priority
        found = [
            one for one in thread_findings(seen[when]) if isinstance(one, InterruptBelowWaiter)
        ]
        assert [(one.interrupts, one.waiters) for one in found] == (
            [([handler], [waiter])] if when == "below" else []
        )
