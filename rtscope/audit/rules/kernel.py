# SPDX-License-Identifier: GPL-2.0-only
"""Rules about the kernel's configuration.

The first rules are those of the kernel's own page, Documentation/core-api/real-time/
kernel-configuration.rst, with its severities; the debug options follow its remark that most of them
cost latency.
"""

from collections.abc import Callable
from typing import Final

from rtscope.audit.rule import CONFIGURATION, Rule, boot_line
from rtscope.audit.state import NotSeen, State

_BUILD: Final = "build the kernel with CONFIG_{}={}"
_GOVERNORS: Final = ("POWERSAVE", "USERSPACE", "ONDEMAND", "CONSERVATIVE", "SCHEDUTIL")


def _is_built(option: str) -> Callable[[State], str | None]:
    def check(state: State) -> str | None:
        value = state.config.get(f"CONFIG_{option}")
        return f"CONFIG_{option}={value}" if value in ("y", "m") else None

    return check


def _is_missing(option: str) -> Callable[[State], str | None]:
    def check(state: State) -> str | None:
        return None if state.built(f"CONFIG_{option}") else f"CONFIG_{option} is not set"

    return check


def _no_preempt_rt(state: State) -> str | None:
    machine = state.machine
    if machine.preemption is None:
        raise NotSeen(machine.preemption_evidence or "neither version nor configuration was read")
    if machine.preemption == "rt":
        return None
    return f"preemption model {machine.preemption}: {machine.preemption_evidence}"


def _default_governor(state: State) -> str | None:
    if not state.built("CONFIG_CPU_FREQ"):
        return None
    option = "CONFIG_CPU_FREQ_DEFAULT_GOV_PERFORMANCE"
    asked = state.parameter("cpufreq.default_governor")
    if state.config.get(option) == "y" or asked == "performance":
        return None
    default = next((g for g in _GOVERNORS if state.built(f"CONFIG_CPU_FREQ_DEFAULT_GOV_{g}")), None)
    return f"the default is {default.lower()}" if default else f"{option} is not set"


def _other_governors(state: State) -> str | None:
    built = [name.lower() for name in _GOVERNORS if state.built(f"CONFIG_CPU_FREQ_GOV_{name}")]
    return f"the kernel has {', '.join(built)}" if built else None


def _efi_runtime(state: State) -> str | None:
    if not state.built("CONFIG_EFI") or "/sys/firmware/efi/fw_platform_size" not in state.files:
        return None  # not booted by EFI
    words = (state.parameter("efi") or "").split(",")
    off = state.built("CONFIG_EFI_DISABLE_RUNTIME") and "runtime" not in words
    return None if off or "noruntime" in words else "the firmware's runtime services are enabled"


def _tickless(state: State) -> str | None:
    built = [name for name in ("NO_HZ_IDLE", "NO_HZ_FULL") if state.built(f"CONFIG_{name}")]
    if not built or state.parameter("nohz") == "off":
        return None
    return " and ".join(f"CONFIG_{name}=y" for name in built)


def _debug(option: str, why: str) -> Rule:
    return Rule(
        id=f"kernel-{option.lower().replace('_', '-')}",
        severity="high",
        wanted=f"CONFIG_{option} is not set, in production",
        why=why,
        how=f"build the kernel without CONFIG_{option}; keep it in a kernel for development",
        link=CONFIGURATION + "#kernel-debug-options",
        check=_is_built(option),
    )


RULES: Final = [
    Rule(
        id="kernel-preempt-rt",
        severity="fatal",
        wanted="a kernel with CONFIG_PREEMPT_RT=y",
        why="Interrupt handlers, soft interrupts and sections under spinlocks cannot be "
        "preempted: their run time is latency, usually up to some milliseconds under "
        "load.",
        how=_BUILD.format("PREEMPT_RT", "y")
        + ", or install the distribution's (Debian: linux-image-rt-amd64)",
        link=CONFIGURATION + "#config-preempt-rt",
        check=_no_preempt_rt,
    ),
    Rule(
        id="kernel-cpu-freq",
        severity="high",
        wanted="CONFIG_CPU_FREQ=y",
        why="Without it the CPU stays at the frequency set by the boot loader, possibly its "
        "lowest: every path in the kernel is longer by the same factor.",
        how=_BUILD.format("CPU_FREQ", "y"),
        link=CONFIGURATION + "#config-cpu-freq",
        check=_is_missing("CPU_FREQ"),
    ),
    Rule(
        id="kernel-default-governor",
        severity="high",
        wanted="CONFIG_CPU_FREQ_DEFAULT_GOV_PERFORMANCE=y",
        why="Until something sets another governor, the frequency follows the load: a thread that "
        "wakes up rarely runs at the lowest one, several times slower.",
        how=_BUILD.format("CPU_FREQ_DEFAULT_GOV_PERFORMANCE", "y")
        + ", or boot with cpufreq.default_governor=performance",
        link=CONFIGURATION + "#config-cpu-freq-default-gov-performance",
        check=_default_governor,
        profile=boot_line("cpufreq.default_governor=performance"),
    ),
    Rule(
        id="kernel-other-governors",
        severity="medium",
        wanted="no CPU frequency governor but performance",
        why="A program that selects another one, such as a desktop's power settings, changes "
        "the latency of the running system.",
        how="build the kernel without the other CONFIG_CPU_FREQ_GOV_*, or make sure that "
        "nothing selects them",
        link=CONFIGURATION + "#non-performance-cpu-frequency-governors",
        check=_other_governors,
    ),
    Rule(
        id="kernel-cpu-idle",
        severity="info",
        wanted="CONFIG_CPU_IDLE=y, with the deep states disabled at run time",
        why="Without it latency is no worse, but the CPU never idles deeply: heat leads to "
        "thermal throttling, which is latency too.",
        how=_BUILD.format("CPU_IDLE", "y") + " and boot with processor.max_cstate=1",
        link=CONFIGURATION + "#config-cpu-idle",
        check=_is_missing("CPU_IDLE"),
    ),
    Rule(
        id="kernel-drm",
        severity="info",
        wanted="CONFIG_DRM is not set",
        why="Graphics in the same chip share the last-level cache and memory with the CPUs. "
        "The cost depends on what is drawn: measure with it.",
        how="build the kernel without CONFIG_DRM, or draw nothing during real-time work",
        link=CONFIGURATION + "#config-drm",
        check=_is_built("DRM"),
    ),
    Rule(
        id="kernel-efi-runtime",
        severity="medium",
        wanted="CONFIG_EFI_DISABLE_RUNTIME=y, or efi=noruntime",
        why="A call into the firmware, for example to set a variable or read its clock, may "
        "disable interrupts for milliseconds.",
        how="boot with efi=noruntime, or move the workqueue efi_runtime to a housekeeping CPU",
        link=CONFIGURATION + "#config-efi-disable-runtime",
        check=_efi_runtime,
        profile=boot_line("efi=noruntime"),
    ),
    Rule(
        id="kernel-no-hz",
        severity="medium",
        wanted="CONFIG_HZ_PERIODIC=y for periodic work; nohz_full only for CPUs that compute alone",
        why="Stopping and restarting the tick adds work to every entry and exit of idle or "
        "the kernel, about a microsecond each time.",
        how="boot with nohz=off, or build the kernel with CONFIG_HZ_PERIODIC=y",
        link=CONFIGURATION + "#config-no-hz-config-no-hz-full",
        check=_tickless,
        profile=boot_line("nohz=off"),
    ),
    Rule(
        id="kernel-tracing",
        severity="info",
        wanted="CONFIG_TRACING=y",
        why="It costs nothing measurable while it is off. Without it the cause of a late "
        "wake-up cannot be traced.",
        how=_BUILD.format("TRACING", "y"),
        link=CONFIGURATION + "#config-tracing-and-tracing-options",
        check=_is_missing("TRACING"),
    ),
    Rule(
        id="kernel-irqsoff-tracer",
        severity="high",
        wanted="CONFIG_IRQSOFF_TRACER is not set",
        why="Its hooks are called wherever interrupts are disabled or enabled, even while "
        "nothing is traced.",
        how="build the kernel without CONFIG_IRQSOFF_TRACER; keep it in a kernel for development",
        link=CONFIGURATION + "#config-irqsoff-tracer-and-config-preempt-tracer",
        check=_is_built("IRQSOFF_TRACER"),
    ),
    Rule(
        id="kernel-preempt-tracer",
        severity="high",
        wanted="CONFIG_PREEMPT_TRACER is not set",
        why="Its hooks are called wherever preemption is disabled or enabled, even while "
        "nothing is traced.",
        how="build the kernel without CONFIG_PREEMPT_TRACER; keep it in a kernel for development",
        link=CONFIGURATION + "#config-irqsoff-tracer-and-config-preempt-tracer",
        check=_is_built("PREEMPT_TRACER"),
    ),
    _debug(
        "PROVE_LOCKING",
        "Each lock is checked against every lock order seen so far: paths become several times "
        "longer, and some checks run with interrupts disabled.",
    ),
    _debug("LOCK_STAT", "Each acquisition of a lock is timed and counted."),
    _debug(
        "KASAN",
        "Each memory access is checked: the kernel's paths become two to three times "
        "longer, unless the CPU does it (CONFIG_KASAN_HW_TAGS).",
    ),
    _debug("KCSAN", "Memory accesses are checked for races, and some are delayed on purpose."),
    _debug("DEBUG_PAGEALLOC", "Freed pages are unmapped, at the cost of TLB flushes."),
    _debug(
        "DEBUG_OBJECTS",
        "Every use of a timer, work item or other object is a look-up in a table, under a lock.",
    ),
    _debug("DEBUG_KMEMLEAK", "A kernel thread scans all memory every ten minutes."),
    _debug("DEBUG_PREEMPT", "Each access to per-CPU data is checked, and preemption is accounted."),
    _debug("SLUB_DEBUG_ON", "Each slab object is filled and checked when it is freed."),
    _debug("KCOV", "Each branch in the kernel is recorded."),
]
