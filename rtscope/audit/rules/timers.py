# SPDX-License-Identifier: GPL-2.0-only
"""Rules about watchdogs and periodic checks."""

from typing import Final

from rtscope.audit.rule import CONFIGURATION, SYSCTL_KERNEL, Rule, file_line
from rtscope.audit.state import State

_WATCHDOG: Final = "/proc/sys/kernel/watchdog"
_NMI: Final = "/proc/sys/kernel/nmi_watchdog"
_MACHINE_CHECK: Final = "/sys/devices/system/machinecheck/machinecheck0/check_interval"


def _lockup_detector(state: State) -> str | None:
    if not state.offers(_WATCHDOG, "CONFIG_LOCKUP_DETECTOR"):
        return None
    return "the lockup detector is on" if state.number(_WATCHDOG) else None


def _nmi_watchdog(state: State) -> str | None:
    if not state.offers(_NMI, "CONFIG_HARDLOCKUP_DETECTOR"):
        return None
    return "the NMI watchdog is on" if state.number(_NMI) else None


def _machine_checks(state: State) -> str | None:
    if not state.offers(_MACHINE_CHECK, "CONFIG_X86_MCE"):
        return None
    if state.parameter("mce") in ("ignore_ce", "off"):
        return None  # the interval then has no effect
    seconds = state.number(_MACHINE_CHECK)
    return f"each CPU polls for machine checks every {seconds} s" if seconds else None


RULES: Final = [
    Rule(
        id="timers-lockup-detector",
        severity="high",
        wanted="the lockup detector off, and a hardware watchdog instead",
        why="A timer of each CPU fires every few seconds, in hard interrupt context even on "
        "PREEMPT_RT, and wakes a thread of the highest scheduling class: 5 us to 20 us.",
        how=f"echo 0 > {_WATCHDOG} (sysctl kernel.watchdog=0), or boot with nowatchdog",
        link=CONFIGURATION + "#config-lockup-detector",
        check=_lockup_detector,
        profile=file_line(_WATCHDOG, "0"),
    ),
    Rule(
        id="timers-nmi-watchdog",
        severity="medium",
        wanted="the NMI watchdog off",
        why="A counter of each CPU raises a non-maskable interrupt about every ten seconds of "
        "computing: some microseconds.",
        how=f"echo 0 > {_NMI} (sysctl kernel.nmi_watchdog=0), or boot with nmi_watchdog=0",
        link=SYSCTL_KERNEL + "#nmi-watchdog",
        check=_nmi_watchdog,
        profile=file_line(_NMI, "0"),
    ),
    Rule(
        id="timers-machine-checks",
        severity="info",
        wanted="never: uncorrectable errors raise an interrupt in any case",
        why="A timer of each CPU reads the error banks every five minutes: 10 us to 100 us.",
        how=f"echo 0 > {_MACHINE_CHECK}, or boot with mce=ignore_ce",
        link="https://docs.kernel.org/arch/x86/x86_64/machinecheck.html",
        check=_machine_checks,
        profile=file_line(_MACHINE_CHECK, "0"),
    ),
]
