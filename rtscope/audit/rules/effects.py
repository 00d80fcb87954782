# SPDX-License-Identifier: GPL-2.0-only
"""What was asked for on the kernel's command line, and is not there."""

import re
from typing import Final

from rtscope.audit.commandline import flags_and_cpus
from rtscope.audit.rule import ADMIN, INTERRUPTS_AWAY, PARAMETERS, Rule, file_line
from rtscope.audit.rules.boot import cpus_asked
from rtscope.audit.state import CPU, NotSeen, State
from rtscope.model.cpulist import format_cpu_list


def _isolcpus_idle(state: State) -> str | None:
    asked = cpus_asked(state, "isolcpus")
    if not asked:
        return None
    flags, _ = flags_and_cpus(state.parameter("isolcpus") or "")
    if "domain" not in flags and {"nohz", "managed_irq"} & set(flags):
        return None
    missing = asked - state.isolated_at_boot
    if not missing:
        return None
    return f"isolcpus= asks for CPUs {format_cpu_list(missing)}, which are not isolated"


def _nohz_full_idle(state: State) -> str | None:
    if state.parameter("nohz_full") is None:
        return None
    if not state.built("CONFIG_NO_HZ_FULL"):
        return "nohz_full= was given to a kernel without CONFIG_NO_HZ_FULL"
    missing = (cpus_asked(state, "nohz_full") or set()) - state.nohz_full
    if not missing:
        return None
    return f"nohz_full= asks for CPUs {format_cpu_list(missing)}, whose tick never stops"


def _rcu_nocbs_idle(state: State) -> str | None:
    if state.parameter("rcu_nocbs") is None or state.built("CONFIG_RCU_NOCB_CPU"):
        return None
    return "rcu_nocbs= was given to a kernel without CONFIG_RCU_NOCB_CPU"


def _preempt_idle(state: State) -> str | None:
    asked = state.parameter("preempt")
    if asked is None:
        return None
    if not state.built("CONFIG_PREEMPT_DYNAMIC"):
        return f"preempt={asked[:40]} was given to a kernel without CONFIG_PREEMPT_DYNAMIC"
    if state.built("CONFIG_PREEMPT_RT") and asked in ("none", "voluntary"):
        return f"preempt={asked} was given to a kernel with CONFIG_PREEMPT_RT"
    return None


def _clocksource_idle(state: State) -> str | None:
    asked = state.parameter("clocksource")
    if not asked:
        return None
    current = state.machine.clock_source
    if current is None:
        raise NotSeen(f"{CPU.replace('cpu/', 'clocksource/')}clocksource0 cannot be read")
    return None if asked == current else f"clocksource={asked[:40]}, but the kernel uses {current}"


def _needlessly_threaded(state: State) -> str | None:
    if state.parameter("threadirqs") is None:
        return None
    if state.machine.preemption is None:
        raise NotSeen("the preemption model is not known")
    if state.machine.preemption == "rt":
        return "threadirqs was given to a kernel with CONFIG_PREEMPT_RT"
    if state.built("CONFIG_IRQ_FORCED_THREADING"):
        return None
    return "threadirqs was given to a kernel without CONFIG_IRQ_FORCED_THREADING"


def _irqaffinity_idle(state: State) -> str | None:
    asked = cpus_asked(state, "irqaffinity")
    if not asked:
        return None
    more = state.mask("/proc/irq/default_smp_affinity") - asked - {0}  # the kernel adds its own
    if not more:
        return None
    return f"irqaffinity= leaves CPUs {format_cpu_list(more)} out, which new interrupts may come to"


def _nosmt_idle(state: State) -> str | None:
    if state.parameter("nosmt") is None or state.number(CPU + "smt/active") == 0:
        return None
    return "nosmt was given, and two threads or more share each core all the same"


def _hugepages_idle(state: State) -> str | None:
    asked = [p.value or "" for p in state.parameters if p.key == "hugepages"]
    if len(asked) != 1 or not re.fullmatch("[0-9]{1,9}", asked[0], re.ASCII):
        return None  # of several sizes, or by node
    if state.parameter("hugepagesz") not in (None, state.parameter("default_hugepagesz")):
        return None
    there = state.number("/proc/sys/vm/nr_hugepages")
    return f"hugepages={asked[0]}, but there are {there}" if there < int(asked[0]) else None


RULES: Final = [
    Rule(
        id="boot-isolcpus-no-effect",
        severity="high",
        wanted="every CPU of isolcpus= in /sys/devices/system/cpu/isolated",
        why="The scheduler still puts any thread there; each may run for milliseconds.",
        how="boot with isolcpus= and nohz_full= of the same CPUs, and leave the boot CPU out",
        link=PARAMETERS,
        look=_isolcpus_idle,
    ),
    Rule(
        id="boot-nohz-full-no-effect",
        severity="medium",
        wanted="every CPU of nohz_full= in /sys/devices/system/cpu/nohz_full",
        why="The tick goes on there, HZ times a second, some microseconds each.",
        how="use a kernel with CONFIG_NO_HZ_FULL=y, and leave the boot CPU out of the list",
        link="https://docs.kernel.org/timers/no_hz.html",
        look=_nohz_full_idle,
    ),
    Rule(
        id="boot-rcu-nocbs-no-effect",
        severity="medium",
        wanted="CONFIG_RCU_NOCB_CPU=y, where rcu_nocbs= is given",
        why="RCU's callbacks go on running on these CPUs, in batches of tens of microseconds.",
        how="use a kernel with CONFIG_RCU_NOCB_CPU=y, or give the parameter up",
        link=PARAMETERS,
        look=_rcu_nocbs_idle,
    ),
    Rule(
        id="boot-preempt-no-effect",
        severity="medium",
        wanted="preempt= only for a kernel with CONFIG_PREEMPT_DYNAMIC=y, and only what it has: "
        "lazy or full with PREEMPT_RT",
        why="The preemption model is the one that was built in, not the one asked for.",
        how="remove preempt=; PREEMPT_RT is chosen when the kernel is built",
        link=PARAMETERS,
        look=_preempt_idle,
    ),
    Rule(
        id="boot-clocksource-no-effect",
        severity="medium",
        wanted="the clock source that clocksource= asks for",
        why="Another clock may be ten to fifty times slower to read, or less fine.",
        how="see dmesg for why the kernel refused it, or remove clocksource=",
        link=PARAMETERS,
        look=_clocksource_idle,
    ),
    Rule(
        id="boot-threadirqs-no-effect",
        severity="info",
        wanted="threadirqs only for a kernel that needs it and can: CONFIG_IRQ_FORCED_THREADING=y "
        "without CONFIG_PREEMPT_RT",
        why="With PREEMPT_RT handlers are in threads already, and a kernel that cannot leaves them "
        "where the interrupt came.",
        how="remove threadirqs",
        link=PARAMETERS,
        look=_needlessly_threaded,
    ),
    Rule(
        id="boot-irqaffinity-no-effect",
        severity="medium",
        wanted="no CPU in /proc/irq/default_smp_affinity that irqaffinity= leaves out",
        why="Something has set it back since, and the interrupt of a device that appears later may "
        "come to any CPU: some microseconds each time.",
        how="find what writes it, irqbalance or a script; write the mask of irqaffinity= again",
        link=PARAMETERS,
        look=_irqaffinity_idle,
        profile=INTERRUPTS_AWAY,
    ),
    Rule(
        id="boot-nosmt-no-effect",
        severity="medium",
        wanted="one thread a core, where nosmt is given",
        why="Something has turned the siblings on again: paths become up to twice as long while "
        "they work.",
        how=f"echo forceoff > {CPU}smt/control, or boot with nosmt=force",
        link=PARAMETERS,
        look=_nosmt_idle,
        profile=file_line(CPU + "smt/control", "off"),
    ),
    Rule(
        id="boot-hugepages-no-effect",
        severity="medium",
        wanted="as many huge pages as hugepages= asks for",
        why="A program that counts on them gets small pages, and page faults and TLB misses with "
        "them, or does not start.",
        how="ask for fewer, or give the machine more memory",
        link=ADMIN + "mm/hugetlbpage.html",
        look=_hugepages_idle,
    ),
]
