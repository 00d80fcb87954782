# SPDX-License-Identifier: GPL-2.0-only
"""The other party of a term: who sent the interrupt, queued the work, or holds the lock."""

from collections.abc import Callable
from typing import Final

import msgspec
import numpy as np
from numpy.typing import NDArray

from rtscope.explain.activity import Doing, Moments, running_at
from rtscope.model.timeline import Remote

NameOf = Callable[[int], str]
"""the function that an address of the kernel, or an offset from its _stext, lies in, or empty"""

_CALLS: Final = ("call_function", "ipi")
_SENT: Final = (*_CALLS, "reschedule", "irq_work")
"""beginnings of the names of interrupts that a CPU sends to another"""
_SENT_WITHIN_NS: Final = 10_000_000
_QUEUED_WITHIN_NS: Final = 1_000_000_000
_ADDRESS: Final = (1 << 64) - 1


def address_text(address: int, name_of: NameOf) -> str:
    """The function at an address; the address itself where it has no known name."""
    address &= _ADDRESS
    return (name_of(address) or f"{address:#x}") if address not in {0, _ADDRESS} else ""


class Parties(msgspec.Struct, frozen=True):
    """Finds the other parties in one trace."""

    moments: Moments
    name_of: NameOf

    def sender(self, cpu: int, doing: Doing) -> tuple[str, Remote | None]:
        """The function that an interrupt from another CPU called, and who sent it."""
        if doing.event < 0 or not doing.name.startswith(_SENT):
            return "", None
        if found := self._caller(cpu, doing):
            return found
        return "", self._ipi(cpu, doing)

    def _caller(self, cpu: int, doing: Doing) -> tuple[str, Remote | None] | None:
        """From csd_queue_cpu and csd_function_entry, which name the same call."""
        events = self.moments.events
        called = events.which("csd_function_entry")
        times = events.time_ns[called]
        inside = called[
            (events.cpu[called] == cpu)
            & (times >= events.time_ns[doing.event])
            & (times <= doing.end_ns)
        ]
        if not len(inside):
            return None
        first = int(inside[0])
        function = address_text(events.number(first, "func"), self.name_of)
        queued = events.which("csd_queue_cpu")
        same = (
            (events.numbers("csd_queue_cpu", "csd", queued) == events.number(first, "csd"))
            & (events.numbers("csd_queue_cpu", "cpu", queued) == cpu)
            & (events.time_ns[queued] <= events.time_ns[first])
        )
        if not same.any():
            return function, self._ipi(cpu, doing)
        return function, self._at(int(queued[np.flatnonzero(same)[-1]]))

    def _ipi(self, cpu: int, doing: Doing) -> Remote | None:
        """The last that sent an interrupt to this CPU before it came."""
        events = self.moments.events
        came_ns = int(events.time_ns[doing.event])
        single = events.which("ipi_send_cpu")
        to_here = single[events.numbers("ipi_send_cpu", "cpu", single) == cpu]
        many = [
            index
            for index in events.which("ipi_send_cpumask").tolist()
            if cpu in events.bits(index, "cpumask")
        ]
        sent = np.sort(np.concatenate((to_here, np.array(many, np.int64))))
        sent = sent[self._recent(sent, came_ns, _SENT_WITHIN_NS)]
        if not len(sent):
            return None
        calls = doing.name.startswith(_CALLS)
        fitting = [
            index
            for index in sent.tolist()[-8:]
            if (events.number(index, "callback") != 0) == calls
        ]
        return self._at(fitting[-1] if fitting else int(sent[-1]))

    def queuer(self, doing: Doing) -> tuple[str, Remote | None]:
        """The function of the work item that a thread executes, and who queued it."""
        if doing.work < 0:
            return "", None
        events = self.moments.events
        function = address_text(events.number(doing.work, "function"), self.name_of)
        queued = events.which("workqueue_queue_work")
        same = queued[
            events.numbers("workqueue_queue_work", "work", queued)
            == events.number(doing.work, "work")
        ]
        same = same[self._recent(same, int(events.time_ns[doing.work]), _QUEUED_WITHIN_NS)]
        return function, self._at(int(same[-1])) if len(same) else None

    def holder(self, cpu: int, begin: int, end_ns: int) -> Remote | None:
        """Who holds the lock that the task of the event `begin` waits for until `end_ns`."""
        events = self.moments.events
        begun_ns, waiter = int(events.time_ns[begin]), events.number(begin, "common_pid")
        boosts = events.which("sched_pi_setprio")
        times = events.time_ns[boosts]
        boosted = boosts[(events.tids[boosts] == waiter) & (times >= begun_ns) & (times <= end_ns)]
        if len(boosted):
            tid = events.number(int(boosted[0]), "pid")
            return Remote(events.task_name(tid), self._cpu_of(tid, begun_ns))
        taken = events.which("contention_end")
        lock = events.number(begin, "lock_addr")
        before = taken[
            (events.numbers("contention_end", "lock_addr", taken) == lock)
            & (events.tids[taken] != waiter)
        ]
        before = before[self._recent(before, begun_ns, _SENT_WITHIN_NS)]
        if len(before):
            return msgspec.structs.replace(self._at(int(before[-1])), certain=False)
        return self._only_runner(cpu, begun_ns, end_ns)

    def _only_runner(self, cpu: int, begun_ns: int, end_ns: int) -> Remote | None:
        """The task of another CPU that ran during the whole wait, if there is one only."""
        found = []
        for other in self.moments.cpus:
            tid = running_at(self.moments, other, begun_ns)
            if other == cpu or tid <= 0:
                continue
            inside = [one for one in self.moments.of(other) if begun_ns < one.time_ns < end_ns]
            lasts = running_at(self.moments, other, end_ns) == tid
            if lasts and all(one.tid == tid for one in inside):
                name = self.moments.events.task_name(tid)
                found.append(Remote(name, other, certain=False))
        return found[0] if len(found) == 1 else None

    def _cpu_of(self, tid: int, time_ns: int) -> int | None:
        """The CPU on which a task ran last at a time."""
        found = [cpu for cpu in self.moments.cpus if running_at(self.moments, cpu, time_ns) == tid]
        return found[0] if found else None

    def _recent(self, which: NDArray[np.int64], until_ns: int, ns: int) -> NDArray[np.bool_]:
        times = self.moments.events.time_ns[which]
        return (times <= until_ns) & (times >= until_ns - ns)

    def _at(self, index: int) -> Remote:
        """The task of an event, and the call site if it has one."""
        events = self.moments.events
        return Remote(
            task=events.task_name(events.number(index, "common_pid")),
            cpu=int(events.cpu[index]),
            site=address_text(events.number(index, "callsite"), self.name_of),
        )
