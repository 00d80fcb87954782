# SPDX-License-Identifier: GPL-2.0-only
"""What each CPU did, from the kernel's trace: stretches between two of its events.

numpy reads the fields of all events at once (`Moments`); one loop over a CPU's events then keeps
its state. An event names the task that was on the CPU. Where that is not the task of the last
recorded switch, a switch was lost, and the time since the event before is unknown.
"""

import bisect
from collections.abc import Iterator
from typing import Final, NamedTuple

import msgspec
import numpy as np

from rtscope.explain.ftrace import Events

_IDLE: Final = 0xFFFFFFFF
"""state of cpu_idle at its end"""
SPINS: Final = 1
"""flag of contention_begin: the CPU waits, the task does not sleep"""
_SOFTIRQS: Final = (
    *("HI", "TIMER", "NET_TX", "NET_RX", "BLOCK"),
    *("IRQ_POLL", "TASKLET", "SCHED", "HRTIMER", "RCU"),
)
_OTHER, _SWITCH, _IDLES, _IRQ, _IRQ_END, _SOFT, _SOFT_END, _NMI, _WORK, _WORK_END = range(10)
_LOCK, _LOCK_END, _FAULT, _IRQS_OFF, _IRQS_ON, _PREEMPT_OFF, _PREEMPT_ON = range(10, 17)
_NESTED: Final = frozenset({_IRQ, _IRQ_END, _SOFT, _SOFT_END, _NMI, _LOCK, _LOCK_END})
"""events that happen within a page fault"""

_EVENTS: Final = {
    "sched_switch": (_SWITCH, "next_pid", "next_prio"),
    "cpu_idle": (_IDLES, "state", ""),
    "irq_handler_entry": (_IRQ, "irq", ""),
    "irq_handler_exit": (_IRQ_END, "irq", ""),
    "softirq_entry": (_SOFT, "vec", ""),
    "softirq_exit": (_SOFT_END, "vec", ""),
    "nmi_handler": (_NMI, "delta_ns", ""),
    "workqueue_execute_start": (_WORK, "function", "work"),
    "workqueue_execute_end": (_WORK_END, "function", "work"),
    "contention_begin": (_LOCK, "lock_addr", "flags"),
    "contention_end": (_LOCK_END, "lock_addr", ""),
    "page_fault_user": (_FAULT, "", ""),
    "page_fault_kernel": (_FAULT, "", ""),
    "irq_disable": (_IRQS_OFF, "caller_offs", ""),
    "irq_enable": (_IRQS_ON, "", ""),
    "preempt_disable": (_PREEMPT_OFF, "caller_offs", ""),
    "preempt_enable": (_PREEMPT_ON, "", ""),
}
"""by name: what it does to the state, and the fields that say more"""
_NO_VECTORS: Final = ("softirq_", "csd_", "hrtimer_", "timer_expire_", "irq_handler_", "ipi_")


class Doing(NamedTuple):
    """A CPU's state over a stretch of time."""

    start_ns: int
    end_ns: int
    tid: int
    """task on the CPU; 0: the idle task; -1: unknown"""
    priority: int
    """of the task, as the kernel counts: the lower, the more urgent"""
    idle: int | None
    """idle state; None: none"""
    context: str
    """hard-interrupt, soft-interrupt, nmi, lock or page-fault; empty: the task itself"""
    name: str
    """of the handler"""
    event: int
    """index of the event with which the context began; -1: before the trace, or no context"""
    work: int
    """index of the event with which the task began a work item; -1: none"""
    irqs_off: int
    """index of the event that disabled interrupts; -1: on, or not recorded"""
    preempt_off: int


UNKNOWN: Final = (-1, 120, None, "", "", -1, -1, -1, -1)


class Moment(NamedTuple):
    """One event, as the state needs it."""

    time_ns: int
    tid: int
    code: int
    a: int
    b: int
    event: int
    """its index"""


class Moments:
    """The events of each CPU in the order of time."""

    def __init__(self, events: Events) -> None:
        self.events = events
        count = len(events.time_ns)
        code = np.zeros(count, np.int64)
        a, b = np.zeros(count, np.int64), np.zeros(count, np.int64)
        for one in events.formats:
            what, first, second = _EVENTS.get(one.name, (_OTHER, "", ""))
            if what == _OTHER and is_vector(one.name):
                what = _IRQ if one.name.endswith("_entry") else _IRQ_END
            if what == _OTHER or not len(which := events.which(one.name)):
                continue
            code[which] = what
            if first:
                a[which] = events.numbers(one.name, first, which)
            if second:
                b[which] = events.numbers(one.name, second, which)
        self._columns = events.time_ns, events.tids, code, a, b
        self._by_cpu: dict[int, list[Moment]] = {}

    @property
    def cpus(self) -> list[int]:
        """The CPUs with events."""
        return [int(cpu) for cpu in np.unique(self.events.cpu)]

    def of(self, cpu: int) -> list[Moment]:
        """The events of one CPU."""
        if cpu not in self._by_cpu:
            which = np.flatnonzero(self.events.cpu == cpu)
            fields = (column[which].tolist() for column in self._columns)
            self._by_cpu[cpu] = list(map(Moment, *fields, which.tolist()))
        return self._by_cpu[cpu]

    def handler(self, moment: Moment) -> str:
        """The name of the hard interrupt that an event begins or ends."""
        name = self.events.name(moment.event)
        if name == "irq_handler_entry":
            return self.events.text(moment.event, "name") or f"irq {moment.a}"
        if name == "irq_handler_exit":
            return f"irq {moment.a}"
        return name.removesuffix("_entry").removesuffix("_exit")


def is_vector(name: str) -> bool:
    """Whether an event is the entry or the exit of an interrupt vector."""
    if not name.endswith(("_entry", "_exit")):
        return False
    return not name.startswith(_NO_VECTORS) or name in {"ipi_entry", "ipi_exit"}


class _Context(NamedTuple):
    kind: str
    name: str
    event: int
    lock: int = 0


class _State(msgspec.Struct):
    """What one CPU does."""

    tid: int = -1
    priority: int = 120
    idle: int | None = None
    nested: list[_Context] = []
    """hard interrupts, and locks that they wait for"""
    of_task: dict[int, list[_Context]] = {}
    """soft interrupts and locks; on PREEMPT_RT a task in a soft interrupt can be preempted"""
    work: dict[int, int] = {}
    fault: int = -1
    irqs_off: int = -1
    preempt_off: int = -1

    def now(self) -> tuple[int, int, int | None, str, str, int, int, int, int]:
        """The fields of Doing after its times."""
        inmost = self.nested or self.of_task.get(self.tid)
        if inmost:
            context = inmost[-1]
        elif self.fault >= 0:
            context = _Context("page-fault", "", self.fault)
        else:
            context = _NONE
        return (
            self.tid, self.priority, self.idle, context.kind, context.name, context.event,
            self.work.get(self.tid, -1), self.irqs_off, self.preempt_off,
        )  # fmt: skip

    def step(self, moment: Moment, moments: Moments) -> None:
        """Let one event happen."""
        code = moment.code
        if code not in _NESTED:
            self.fault = -1
        if code == _SWITCH:
            self.tid, self.priority = moment.a, moment.b
            self.nested.clear()  # no switch happens within an interrupt
        elif code == _IDLES:
            number = moment.a & _IDLE
            self.idle = None if number == _IDLE else number
        elif code == _IRQ:
            self.nested.append(_Context("hard-interrupt", moments.handler(moment), moment.event))
        elif code == _IRQ_END:
            _end(self.nested, "hard-interrupt")
        elif code == _SOFT:
            self._task().append(_Context("soft-interrupt", softirq_name(moment.a), moment.event))
        elif code == _SOFT_END:
            _end(self._task(), "soft-interrupt")
        elif code == _LOCK and moment.b & SPINS:
            held = self.nested or self._task()
            held.append(_Context("lock", "", moment.event, moment.a))
        elif code == _LOCK_END:
            held = self.nested if self.nested else self._task()
            if held and held[-1].kind == "lock" and held[-1].lock == moment.a:
                held.pop()
        elif code == _FAULT:
            self.fault = moment.event
        else:
            self._step_rest(moment)

    def _step_rest(self, moment: Moment) -> None:
        code, index = moment.code, moment.event
        if code == _WORK:
            self.work[self.tid] = index
        elif code == _WORK_END:
            self.work.pop(self.tid, None)
        elif code in {_IRQS_OFF, _IRQS_ON}:
            self.irqs_off = index if code == _IRQS_OFF else -1
        elif code in {_PREEMPT_OFF, _PREEMPT_ON}:
            self.preempt_off = index if code == _PREEMPT_OFF else -1

    def _task(self) -> list[_Context]:
        return self.of_task.setdefault(self.tid, [])


_NONE: Final = _Context("", "", -1)


def _end(contexts: list[_Context], kind: str) -> None:
    """End the innermost context of a kind, and what is left of those within it."""
    for place in range(len(contexts) - 1, -1, -1):
        if contexts[place].kind == kind:
            del contexts[place:]
            return


def doings(
    moments: Moments, cpu: int, start: int, stop: int, *, lasts: bool = False
) -> Iterator[Doing]:
    """Yield what a CPU did from `start` to `stop`, without a gap.

    After the CPU's last event its state is unknown, unless it `lasts`. The event of an NMI comes at
    its end and contains its length.
    """
    events = moments.of(cpu)
    state = _first_state(moments, events)
    at = start
    for moment in events:
        time_ns = moment.time_ns
        matches = moment.tid == state.tid
        if time_ns > at:
            now = state.now() if matches else UNKNOWN
            until = min(time_ns, stop)
            if moment.code == _NMI:
                begun = max(min(time_ns - max(moment.a, 0), until), at)
                if begun > at:
                    yield Doing(at, begun, *now)
                if until > begun:
                    yield Doing(begun, until, *now[:3], "nmi", "", moment.event, -1, -1, -1)
            else:
                yield Doing(at, until, *now)
            at = until
        if time_ns >= stop:
            return
        if not matches:
            state.tid, state.priority = moment.tid, moments.events.task(moment.tid)[1]
            state.irqs_off = state.preempt_off = -1
        state.step(moment, moments)
    if at < stop:
        yield Doing(at, stop, *(state.now() if lasts and events else UNKNOWN))


def _first_state(moments: Moments, events: list[Moment]) -> _State:
    """Return the state before the first event, from what the events say of it."""
    state = _State()
    if not events:
        return state
    state.tid = events[0].tid
    state.priority = moments.events.task(state.tid)[1]
    for moment in events:
        if moment.code == _IRQ_END:
            state.nested.append(_Context("hard-interrupt", moments.handler(moment), -1))
        if moment.code in {_IRQ, _IRQ_END, _SWITCH}:
            break
    return state


def softirq_name(number: int) -> str:
    """The kernel's name of a soft interrupt."""
    return _SOFTIRQS[number] if 0 <= number < len(_SOFTIRQS) else f"vector {number}"


def running_at(moments: Moments, cpu: int, time_ns: int) -> int:
    """The task on a CPU at a time; -1: unknown."""
    events = moments.of(cpu)
    place = bisect.bisect_right(events, time_ns, key=lambda one: one.time_ns)
    if place < len(events):
        return events[place].tid
    if not events:
        return -1
    last = events[-1]
    return last.a if last.code == _SWITCH else last.tid
