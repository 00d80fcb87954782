# SPDX-License-Identifier: GPL-2.0-only
"""Rules about interrupts: their CPUs, threads and priorities."""

import re
from typing import Final

from rtscope.audit.rule import INTERRUPTS_AWAY, PARAMETERS, Rule, boot_line, thread_line
from rtscope.audit.state import NotSeen, State
from rtscope.model.cpulist import format_cpu_list

_LIST: Final = re.compile(
    r"/proc/irq/([0-9]{1,6})/(?:effective_affinity_list|smp_affinity_list)", re.ASCII
)
_AFFINITY_PAGE: Final = "https://docs.kernel.org/core-api/irq/irq-affinity.html"
_DEFAULT: Final = "/proc/irq/default_smp_affinity"


def _balanced(state: State) -> str | None:
    running = any(task.name == "irqbalance" for task in state.tasks)
    return "irqbalance runs" if running else None


def _default_affinity(state: State) -> str | None:
    quiet = state.isolated | state.nohz_full
    if not quiet:
        return None
    open_to = state.mask(_DEFAULT) & quiet
    if not open_to:
        return None
    return f"new interrupts may be routed to the isolated CPUs {format_cpu_list(open_to)}"


def _on_isolated(state: State) -> str | None:
    quiet = state.isolated | state.nohz_full
    if not quiet:
        return None
    numbers = sorted({int(match[1]) for match in map(_LIST.fullmatch, state.files) if match})
    if not numbers:
        raise NotSeen("no /proc/irq/N/smp_affinity_list could be read")
    names = {interrupt.number: interrupt.name for interrupt in state.machine.interrupts}
    found = []
    for number in numbers:
        effective = f"/proc/irq/{number}/effective_affinity_list"
        allowed = f"/proc/irq/{number}/smp_affinity_list"
        cpus = state.cpus(effective) if state.files.get(effective, "").strip() else set()
        cpus = cpus or state.cpus(allowed)
        if number in names and cpus & quiet:
            found.append(f"{number} ({names[number][:24]}) on {format_cpu_list(cpus & quiet)}")
    if not found:
        return None
    more = f" and {len(found) - 6} more" if len(found) > 6 else ""
    return f"interrupts {', '.join(found[:6])}{more}"


def _in_place(state: State) -> str | None:
    if state.machine.preemption is None:
        raise NotSeen("the preemption model is not known")
    threaded = state.machine.preemption == "rt" or state.parameter("threadirqs") is not None
    return None if threaded else "handlers run in interrupt context, with interrupts disabled"


def _handler_demoted(state: State) -> str | None:
    handlers = [task for task in state.tasks if task.kernel and task.name.startswith("irq/")]
    low = sorted({task.name for task in handlers if not task.real_time})
    return f"{', '.join(low[:6])}: not real-time" if low else None


def _handlers_equal(state: State) -> str | None:
    priorities = [
        task.priority for task in state.tasks if task.kernel and task.name.startswith("irq/")
    ]
    if len(priorities) < 2 or len(set(priorities)) > 1:
        return None
    return f"all {len(priorities)} interrupts' threads have priority {priorities[0]}"


RULES: Final = [
    Rule(
        id="irq-balance",
        severity="medium",
        wanted="no irqbalance, or the real-time CPUs banned in its configuration",
        why="It moves interrupts every ten seconds, even to CPUs from which they were moved away.",
        how="systemctl disable --now irqbalance, or IRQBALANCE_BANNED_CPULIST= in "
        "/etc/default/irqbalance",
        link=_AFFINITY_PAGE,
        check=_balanced,
        profile='irqbalance = { ban = "{cpus}" }',
    ),
    Rule(
        id="irq-default-affinity",
        severity="medium",
        wanted="only housekeeping CPUs in " + _DEFAULT,
        why="The interrupt of a device that appears later, or of a driver that is reloaded, "
        "may be routed to an isolated CPU: some microseconds each time.",
        how=f"write the housekeeping CPUs' mask to {_DEFAULT}, or boot with irqaffinity=",
        link=_AFFINITY_PAGE,
        check=_default_affinity,
        profile=INTERRUPTS_AWAY,
    ),
    Rule(
        id="irq-on-isolated",
        severity="high",
        wanted="no device's interrupt on isolated CPUs, except the one that the program waits for",
        why="Each takes 1 us to 10 us from the program; on PREEMPT_RT the handler's thread, "
        "with priority 50, takes more.",
        how="echo HOUSEKEEPING > /proc/irq/N/smp_affinity_list; boot with irqaffinity=, and "
        "for interrupts that the kernel manages with isolcpus=managed_irq,domain,CPUS",
        link=_AFFINITY_PAGE,
        check=_on_isolated,
        profile=INTERRUPTS_AWAY,
    ),
    Rule(
        id="irq-not-threaded",
        severity="medium",
        wanted="interrupt handlers in threads",
        why="No priority helps against a handler that runs with interrupts disabled: 10 us to "
        "100 us and more, depending on its driver.",
        how="use a kernel with PREEMPT_RT, or boot with threadirqs",
        link=PARAMETERS,
        check=_in_place,
        profile=boot_line("threadirqs"),
    ),
    Rule(
        id="irq-thread-demoted",
        severity="high",
        wanted="each interrupt's thread with a real-time priority, by default 50",
        why="The device is served only when no other thread wants to run: milliseconds under load.",
        how="chrt -f -p 50 PID, and remove the cause",
        link="https://docs.kernel.org/core-api/real-time/differences.html",
        check=_handler_demoted,
        profile=thread_line("irq/*", priority=50),
    ),
    Rule(
        id="irq-equal-priorities",
        severity="info",
        wanted="the interrupt that the program waits for above the others",
        why="Threads of one priority run in order of arrival: the important one waits until "
        "the disk's and the network's are done, 10 us to 100 us.",
        how="chrt -f -p 60 PID of the thread irq/N-NAME",
        link="https://docs.kernel.org/core-api/real-time/differences.html",
        check=_handlers_equal,
        profile=thread_line("irq/*-NAME", priority=60),
    ),
]
