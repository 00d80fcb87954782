# SPDX-License-Identifier: GPL-2.0-only
"""Rules about boot parameters without the requested effect."""

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
    return f"isolcpus= requests CPUs {format_cpu_list(missing)}, which are not isolated"


def _nohz_full_idle(state: State) -> str | None:
    if state.parameter("nohz_full") is None:
        return None
    if not state.built("CONFIG_NO_HZ_FULL"):
        return "nohz_full= was given to a kernel without CONFIG_NO_HZ_FULL"
    missing = (cpus_asked(state, "nohz_full") or set()) - state.nohz_full
    if not missing:
        return None
    return f"nohz_full= requests CPUs {format_cpu_list(missing)}, whose tick never stops"


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
    return (
        f"new interrupts may be routed to CPUs {format_cpu_list(more)}, which irqaffinity= excludes"
    )


def _nosmt_idle(state: State) -> str | None:
    if state.parameter("nosmt") is None or state.number(CPU + "smt/active") == 0:
        return None
    return "nosmt was given, but two or more threads share each core"


def _hugepages_idle(state: State) -> str | None:
    asked = [p.value or "" for p in state.parameters if p.key == "hugepages"]
    if len(asked) != 1 or not re.fullmatch("[0-9]{1,9}", asked[0], re.ASCII):
        return None  # of several sizes, or by node
    if state.parameter("hugepagesz") not in (None, state.parameter("default_hugepagesz")):
        return None
    there = state.number("/proc/sys/vm/nr_hugepages")
    return f"hugepages={asked[0]}, but the kernel has {there}" if there < int(asked[0]) else None


RULES: Final = [
    Rule(
        id="boot-isolcpus-no-effect",
        severity="high",
        wanted="every CPU of isolcpus= in /sys/devices/system/cpu/isolated",
        why="The scheduler still places any thread there; each may run for milliseconds.",
        how="boot with isolcpus= and nohz_full= of the same CPUs, and leave the boot CPU out",
        link=PARAMETERS,
        check=_isolcpus_idle,
    ),
    Rule(
        id="boot-nohz-full-no-effect",
        severity="medium",
        wanted="every CPU of nohz_full= in /sys/devices/system/cpu/nohz_full",
        why="The tick continues there, HZ times a second, some microseconds each.",
        how="use a kernel with CONFIG_NO_HZ_FULL=y, and leave the boot CPU out of the list",
        link="https://docs.kernel.org/timers/no_hz.html",
        check=_nohz_full_idle,
    ),
    Rule(
        id="boot-rcu-nocbs-no-effect",
        severity="medium",
        wanted="CONFIG_RCU_NOCB_CPU=y, if rcu_nocbs= is given",
        why="RCU's callbacks continue to run on these CPUs, in batches of tens of microseconds.",
        how="use a kernel with CONFIG_RCU_NOCB_CPU=y, or remove the parameter",
        link=PARAMETERS,
        check=_rcu_nocbs_idle,
    ),
    Rule(
        id="boot-preempt-no-effect",
        severity="medium",
        wanted="preempt= only for a kernel with CONFIG_PREEMPT_DYNAMIC=y, and only a model that "
        "it has: lazy or full with PREEMPT_RT",
        why="The preemption model is the one built in, not the requested one.",
        how="remove preempt=; PREEMPT_RT is selected when the kernel is built",
        link=PARAMETERS,
        check=_preempt_idle,
    ),
    Rule(
        id="boot-clocksource-no-effect",
        severity="medium",
        wanted="the clock source that clocksource= requests",
        why="Another clock may be ten to fifty times slower to read, or have a lower resolution.",
        how="read in dmesg why the kernel refused it, or remove clocksource=",
        link=PARAMETERS,
        check=_clocksource_idle,
    ),
    Rule(
        id="boot-threadirqs-no-effect",
        severity="info",
        wanted="threadirqs only for a kernel that needs and supports it: "
        "CONFIG_IRQ_FORCED_THREADING=y without CONFIG_PREEMPT_RT",
        why="With PREEMPT_RT handlers already run in threads; a kernel without support for it "
        "runs them in interrupt context.",
        how="remove threadirqs",
        link=PARAMETERS,
        check=_needlessly_threaded,
    ),
    Rule(
        id="boot-irqaffinity-no-effect",
        severity="medium",
        wanted="no CPU in /proc/irq/default_smp_affinity that irqaffinity= leaves out",
        why="Something has reset it since. The interrupt of a device that appears later may "
        "be routed to any CPU: some microseconds each time.",
        how="find the program that writes it, irqbalance or a script; write the mask of "
        "irqaffinity= again",
        link=PARAMETERS,
        check=_irqaffinity_idle,
        profile=INTERRUPTS_AWAY,
    ),
    Rule(
        id="boot-nosmt-no-effect",
        severity="medium",
        wanted="one thread per core, if nosmt is given",
        why="Something has enabled the siblings again: paths become up to twice as long while "
        "they work.",
        how=f"echo forceoff > {CPU}smt/control, or boot with nosmt=force",
        link=PARAMETERS,
        check=_nosmt_idle,
        profile=file_line(CPU + "smt/control", "off"),
    ),
    Rule(
        id="boot-hugepages-no-effect",
        severity="medium",
        wanted="as many huge pages as hugepages= requests",
        why="A program that relies on them gets small pages, with page faults and TLB misses, "
        "or does not start.",
        how="request fewer, or add memory",
        link=ADMIN + "mm/hugetlbpage.html",
        check=_hugepages_idle,
    ),
]
