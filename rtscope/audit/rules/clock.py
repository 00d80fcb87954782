# SPDX-License-Identifier: GPL-2.0-only
"""Rules about the clock source and the resolution of timers."""

from typing import Final

from rtscope.audit.rule import PARAMETERS, Rule, boot_line
from rtscope.audit.state import NotSeen, State

_SOURCE: Final = "/sys/devices/system/clocksource/clocksource0/current_clocksource"
_STEPS: Final = "which advances once per tick"
_SLOW: Final = {
    "hpet": "which takes about 1 us to read, more when several CPUs read it",
    "acpi_pm": "which takes 1 us to 4 us to read",
    "pit": "which takes some microseconds to read",
    "refined-jiffies": _STEPS,
    "jiffies": _STEPS,
}


def _slow_source(state: State) -> str | None:
    current = state.line(_SOURCE)
    return f"{current}, {_SLOW[current]}" if current in _SLOW else None


def _coarse_timers(state: State) -> str | None:
    active = state.machine.high_resolution_timers
    if active is None:
        raise NotSeen(
            "neither the clock's resolution nor /proc/timer_list shows the resolution of timers"
        )
    hz = f"{state.machine.hz} times a second" if state.machine.hz else "HZ times a second"
    return None if active else f"timers fire at the tick, {hz}"


def _tsc_stops(state: State) -> str | None:
    flags = next(
        (
            line.partition(":")[2].split()
            for line in state.text("/proc/cpuinfo").splitlines()
            if line.partition(":")[0].strip() == "flags"
        ),
        None,
    )
    if flags is None or "tsc" not in flags:
        return None  # not an x86
    missing = [flag for flag in ("constant_tsc", "nonstop_tsc") if flag not in flags]
    return f"the CPU has no {' and no '.join(missing)}" if missing else None


def _ticks_together(state: State) -> str | None:
    if len(state.present) < 4 or state.parameter("skew_tick") not in (None, "0"):
        return None
    return f"the ticks of {len(state.present)} CPUs are simultaneous"


RULES: Final = [
    Rule(
        id="clock-slow-source",
        severity="high",
        wanted="the CPU's own counter: tsc, arch_sys_counter, timebase, r4k, riscv_clocksource",
        why="Each timer, each wake-up and each clock_gettime() reads it; the CPU's own "
        "counter takes about 20 ns.",
        how="read in dmesg why the kernel rejected the better one; write to "
        + _SOURCE
        + ", or boot with clocksource=tsc tsc=reliable if the TSC is known to be good",
        link=PARAMETERS,
        check=_slow_source,
    ),
    Rule(
        id="clock-coarse-timers",
        severity="high",
        wanted="high-resolution timers",
        why="A thread that sleeps until an instant wakes up at the next tick after it: up to 10 ms "
        "late at HZ=100, 1 ms at HZ=1000.",
        how="build the kernel with CONFIG_HIGH_RES_TIMERS=y, and do not boot with highres=off",
        link="https://docs.kernel.org/timers/highres.html",
        check=_coarse_timers,
    ),
    Rule(
        id="clock-tsc-stops",
        severity="medium",
        wanted="a CPU with constant_tsc and nonstop_tsc",
        why="The kernel cannot use a counter that changes its rate or stops in idle, and "
        "reads a timer outside the CPU: a microsecond instead of 20 ns.",
        how="use another CPU; in a virtual machine, one that passes the feature invtsc",
        link="https://docs.kernel.org/virt/kvm/x86/timekeeping.html",
        check=_tsc_stops,
    ),
    Rule(
        id="clock-ticks-together",
        severity="info",
        wanted="skew_tick=1",
        why="All CPUs then contend for the same locks in their ticks: about a microsecond on "
        "a few CPUs, tens on many.",
        how="boot with skew_tick=1",
        link=PARAMETERS,
        check=_ticks_together,
        profile=boot_line("skew_tick=1"),
    ),
]
