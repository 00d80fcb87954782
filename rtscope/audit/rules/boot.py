# SPDX-License-Identifier: GPL-2.0-only
"""Rules about the kernel's command line: typing errors, and harmful parameters.

The kernel does not report an unknown parameter: it passes it to the first process, and treats one
with a dot in its name as a module's. So this compares each parameter with those that matter here.
"""

import difflib
import re
from typing import Final

from rtscope.audit.commandline import Parameter, cpus_of, flags_and_cpus
from rtscope.audit.rule import PARAMETERS, Rule
from rtscope.audit.state import CPU, NotSeen, State
from rtscope.model.cpulist import format_cpu_list

_ANY: Final = ".*"
_BOOLEAN: Final = "on|off|[yYtT1nNfF0].*"
_VALUES: Final = {
    "acpi_irq_nobalance": _ANY,
    "amd_pstate": "disable|passive|active|guided",
    "audit": "0|1|on|off",
    "clocksource": _ANY,
    "console": _ANY,
    "cpufreq.default_governor": "performance|powersave|userspace|ondemand|conservative|schedutil",
    "cpufreq.off": "0|1",
    "cpuidle.governor": "ladder|menu|teo|haltpoll",
    "cpuidle.off": "0|1",
    "default_hugepagesz": _ANY,
    "efi": _ANY,
    "highres": _BOOLEAN,
    "hugepages": _ANY,
    "hugepagesz": _ANY,
    "idle": "poll|halt|nomwait",
    "intel_idle.max_cstate": "[0-9]+",
    "intel_pstate": _ANY,
    "irqaffinity": _ANY,
    "isolcpus": _ANY,
    "lapic_timer_c2_ok": _ANY,
    "loglevel": "[0-9]+",
    "maxcpus": "[0-9]+",
    "mce": _ANY,
    "mitigations": "(off|auto)(,.*)?",
    "nmi_watchdog": _ANY,
    "nohz": _BOOLEAN,
    "nohz_full": _ANY,
    "noirqdebug": _ANY,
    "nosmt": "|force",
    "nosoftlockup": _ANY,
    "nowatchdog": _ANY,
    "nr_cpus": "[0-9]+",
    "numa_balancing": "enable|disable",
    "pcie_aspm": "off|force",
    "preempt": "none|voluntary|full|lazy",
    "processor.max_cstate": "[0-9]+",
    "psi": _ANY,
    "rcu_nocb_poll": _ANY,
    "rcu_nocbs": _ANY,
    "rcupdate.rcu_expedited": _ANY,
    "rcupdate.rcu_normal": _ANY,
    "rcutree.kthread_prio": "[0-9]+",
    "skew_tick": "[0-9]+",
    "threadirqs": _ANY,
    "transparent_hugepage": "always|madvise|never",
    "tsc": "reliable|noirqtime|unstable|nowatchdog|recalibrate|watchdog",
    "watchdog_thresh": "[0-9]+",
    "workqueue.power_efficient": _ANY,
    "workqueue.unbound_cpus": _ANY,
}
"""Parameters that change latency, and their accepted values if these are few."""
_NEIGHBOURS: Final = {
    *("acpi_irq_balance", "netconsole", "nosmp", "pcie_pme", "watchdog"),
}
"""Other parameters of Linux 6.12 with similar names."""
_CPU_LISTS: Final = ("isolcpus", "nohz_full", "rcu_nocbs", "irqaffinity")
_ONCE: Final = (*_CPU_LISTS, "preempt", "idle", "clocksource", "transparent_hugepage")
_CHECKING: Final = {
    "debug_pagealloc": "on",
    "initcall_debug": _ANY,
    "kmemleak": "on",
    "page_owner": "on",
    "slab_debug": _ANY,
    "slub_debug": _ANY,
    "page_poison": "on|1",
    "ftrace": _ANY,
    "trace_event": _ANY,
}


def _meant(parameter: Parameter) -> str | None:
    """The known parameter that this misspelt one resembles."""
    key = parameter.key.lower()
    if parameter.key in _VALUES or parameter.key in _NEIGHBOURS or len(key) < 4:
        return None
    ends = [name for name in _VALUES if name.partition(".")[2] == key]
    return next(iter(ends or difflib.get_close_matches(key[:40], _VALUES, 1, 0.8)), None)


def _mistyped(state: State) -> str | None:
    found = [
        f"{parameter.name[:40]} (did you mean {meant}?)"
        for parameter in state.parameters[:500]
        if (meant := _meant(parameter))
    ]
    return f"the kernel does not know {', '.join(found)}" if found else None


def _bad_values(state: State) -> str | None:
    found = []
    for parameter in state.parameters:
        if not re.fullmatch(_VALUES.get(parameter.key, _ANY), parameter.value or "", re.DOTALL):
            found.append(str(parameter)[:80])
        elif parameter.key == "isolcpus":
            flags, _ = flags_and_cpus(parameter.value or "")
            unknown = [flag[:40] for flag in flags if flag not in ("nohz", "domain", "managed_irq")]
            found += [f"the flag {flag} of isolcpus" for flag in unknown]
    return f"the kernel does not accept {', '.join(found[:8])}" if found else None


def cpus_asked(state: State, name: str) -> set[int] | None:
    """The CPUs of a parameter's list; None if it is absent or the kernel refuses it."""
    value = state.parameter(name)
    if value is None:
        return None
    text = flags_and_cpus(value)[1] if name == "isolcpus" else value
    return cpus_of(text, max(state.present, default=0))


def _refused_lists(state: State) -> str | None:
    given = [name for name in _CPU_LISTS if state.parameter(name)]
    bad = [f"{n}={state.parameter(n)}"[:80] for n in given if cpus_asked(state, n) is None]
    if not bad:
        return None
    return f"{', '.join(bad)}: not a list of this system's CPUs {format_cpu_list(state.present)}"


def _repeated(state: State) -> str | None:
    found = []
    for name in _ONCE:
        values = {parameter.value for parameter in state.parameters if parameter.key == name}
        if len(values) > 1:
            found.append(name)
    return f"{', '.join(found)} given more than once, with different values" if found else None


def _checking(state: State) -> str | None:
    found = [
        str(parameter)[:60]
        for parameter in state.parameters
        if parameter.key in _CHECKING
        and re.fullmatch(_CHECKING[parameter.key], parameter.value or "", re.DOTALL)
        and parameter.value not in ("0", "-", "off")
    ]
    return f"booted with {', '.join(found[:8])}" if found else None


def _polls_beside_sibling(state: State) -> str | None:
    if state.parameter("idle") != "poll":
        return None
    active = state.number(CPU + "smt/active")
    return "idle=poll, although two threads share each core" if active == 1 else None


def _talkative_serial_line(state: State) -> str | None:
    consoles = [p.value or "" for p in state.parameters if p.key == "console"]
    serial = [name for name in consoles if re.match(r"tty(?!\d)[A-Za-z]+\d", name)]
    if not serial:
        return None
    level = state.line("/proc/sys/kernel/printk").split()[:1]
    if not level or not re.fullmatch("[0-9]{1,4}", level[0], re.ASCII):
        raise NotSeen("/proc/sys/kernel/printk holds no level")
    if int(level[0]) <= 4:
        return None
    return f"messages up to level {level[0]} go to {', '.join(serial)[:60]}"


RULES: Final = [
    Rule(
        id="boot-mistyped",
        severity="high",
        wanted="only parameters that the kernel knows",
        why="The kernel ignores an unknown parameter silently, so its effect, such as "
        "isolation, is missing.",
        how="correct it in the boot loader's configuration (GRUB: /etc/default/grub, then "
        "update-grub)",
        link=PARAMETERS,
        check=_mistyped,
    ),
    Rule(
        id="boot-bad-value",
        severity="high",
        wanted="values that the kernel accepts",
        why="If the kernel does not accept a value, the default stays, with at most a line in "
        "the kernel's log.",
        how="correct it in the boot loader's configuration; dmesg has the kernel's message",
        link=PARAMETERS,
        check=_bad_values,
    ),
    Rule(
        id="boot-cpu-list",
        severity="high",
        wanted="lists of CPUs that this system has, such as 1-3",
        why="The kernel refuses the whole list for one invalid CPU: none of them is isolated.",
        how="correct the list in the boot loader's configuration; N is the last CPU",
        link=PARAMETERS,
        check=_refused_lists,
    ),
    Rule(
        id="boot-repeated",
        severity="medium",
        wanted="each of these parameters once",
        why="Parameters differ in which of two values counts: some take the last, isolcpus= "
        "refuses the second.",
        how="keep one of them in the boot loader's configuration",
        link=PARAMETERS,
        check=_repeated,
    ),
    Rule(
        id="boot-debugging",
        severity="high",
        wanted="no parameter that enables the kernel's own checks or traces",
        why="They check or record something on every path of the kernel, which becomes up to "
        "several times longer.",
        how="remove them from the boot loader's configuration",
        link=PARAMETERS,
        check=_checking,
    ),
    Rule(
        id="boot-idle-poll-smt",
        severity="medium",
        wanted="idle=poll only without SMT",
        why="An idle thread that polls takes half of the core from its sibling.",
        how="boot with nosmt too, or hold /dev/cpu_dma_latency at 0 instead of idle=poll",
        link=PARAMETERS,
        check=_polls_beside_sibling,
    ),
    Rule(
        id="boot-serial-console",
        severity="medium",
        wanted="at most warnings (level 4) on a serial console: boot with quiet or loglevel=4",
        why="At 115200 baud a character takes 87 us, a line 7 ms, and most serial drivers "
        "write with interrupts disabled.",
        how="sysctl kernel.printk=4, or boot with quiet loglevel=4",
        link="https://docs.kernel.org/core-api/printk-basics.html",
        check=_talkative_serial_line,
    ),
]
