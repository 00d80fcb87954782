"""The threads of a real-time kernel in an emulated machine, seen by its agent."""

from rtscope.lab.kernels import Kernel
from rtscope.lab.vm import vm_target
from rtscope.model.threads import Threads


def test_interrupts_and_soft_interrupts_have_their_threads(rt_kernel: Kernel) -> None:
    with vm_target(f"vm:{rt_kernel.name}").started_agent(["threads", "--json"]) as guest:
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
