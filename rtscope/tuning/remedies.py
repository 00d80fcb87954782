# SPDX-License-Identifier: GPL-2.0-only
"""From a cause of late samples to what addresses it: rules of `check`, and a step for `tune`.

A step is reversible and needs no boot, so that `rtscope prove` can switch it on and off.
"""

import json
import re
from typing import Final

import msgspec

from rtscope.model.cause import Cause
from rtscope.model.timeline import TermKind

_OWN_TIMERS: Final = ("local_timer", "arch_timer", "timer_interrupt", "riscv-timer", "timer")
"""interrupts of the CPU's own timer, which stay on their CPU"""
_FROM_CPUS: Final = ("call_function", "reschedule", "irq_work", "ipi", "IPI")
"""interrupts that another CPU sends"""
_TASKS_AWAY: Final = 'tasks = { away = "{cpus}" }'
_INTERRUPTS_AWAY: Final = 'interrupts = { away = "{cpus}" }\nirqbalance = { ban = "{cpus}" }'
_WORK_AWAY: Final = (
    'file = [{ path = "/sys/devices/virtual/workqueue/cpumask", value = "{others_mask}" }]'
)
_SHALLOW: Final = 'latency = { limit = "0us" }'
_QUIET_MEMORY: Final = (
    'file = [{ path = "/sys/kernel/mm/transparent_hugepage/enabled", value = "never" }, '
    '{ path = "/sys/kernel/mm/ksm/run", value = "0" }, '
    '{ path = "/proc/sys/kernel/numa_balancing", value = "0" }]'
)
_NO_NMI: Final = 'file = [{ path = "/proc/sys/kernel/nmi_watchdog", value = "0" }]'

_RULES: Final[dict[TermKind, tuple[str, ...]]] = {
    "timer-late": ("kernel-preempt-rt", "firmware-smi", "virtual-machine"),
    "idle-exit": ("power-deep-idle", "kernel-cpu-idle", "virtual-machine"),
    "hard-interrupt": ("irq-on-isolated", "irq-balance", "irq-not-threaded"),
    "soft-interrupt": ("irq-on-isolated", "sched-ksoftirqd", "sched-ktimers"),
    "nmi": ("timers-nmi-watchdog",),
    "thread": ("isolation-programs", "isolation-kernel-threads", "sched-priority-99"),
    "preemption-off": ("kernel-preempt-rt", "isolation-kernel-threads"),
    "lock": ("isolation-programs", "kernel-preempt-rt"),
    "migration": ("isolation-programs",),
    "page-fault": ("limits-memory", "memory-huge-pages", "memory-ksm", "memory-numa-balancing"),
    "switch": ("power-governor", "power-mitigations"),
    "own": ("power-governor", "power-smt"),
    "unexplained": (),
}


_STEPS: Final[dict[TermKind, str]] = {
    "soft-interrupt": _INTERRUPTS_AWAY,
    "nmi": _NO_NMI,
    "idle-exit": _SHALLOW,
    "switch": _SHALLOW,
    "page-fault": _QUIET_MEMORY,
}


class Remedy(msgspec.Struct, frozen=True):
    """What addresses a cause."""

    rules: tuple[str, ...]
    """ids of rules of `check`"""
    step: str = ""
    """the keys of a profile's step as TOML, with {cpus} where others are kept off; empty: there is
    no change that can be undone"""


def remedy_of(cause: Cause) -> Remedy:
    """What addresses this cause."""
    own_timer = cause.kind == "hard-interrupt" and cause.name.startswith(_OWN_TIMERS)
    sent = cause.kind == "hard-interrupt" and cause.name.startswith(_FROM_CPUS)
    if own_timer:
        return Remedy(("isolation-nohz-full", "kernel-no-hz"))
    if sent:
        return Remedy(("isolation-programs", "isolation-kernel-threads"), _TASKS_AWAY)
    rules = _RULES[cause.kind]
    if cause.name.startswith("kworker"):
        rules = ("isolation-workqueues", *rules)
    return Remedy(rules, _step(cause))


def _step(cause: Cause) -> str:
    if cause.kind in _STEPS:
        return _STEPS[cause.kind]
    match cause.kind:
        case "hard-interrupt" if cause.name:
            return f'interrupt = [{{ name = {_pattern(cause.name)}, cpus = "{{others}}" }}]'
        case "thread" | "preemption-off" | "timer-late" | "lock" if cause.name not in {"", "idle"}:
            moved = f'thread = [{{ name = {_pattern(cause.name)}, cpus = "{{others}}" }}]'
            return _WORK_AWAY if cause.name.startswith("kworker") else moved
        case _:
            return ""


def _pattern(name: str) -> str:
    """A name as TOML; characters that a pattern or a rule gives a meaning match any character."""
    return json.dumps(re.sub(r"[^\w./:+@-]", "?", name, flags=re.ASCII))
