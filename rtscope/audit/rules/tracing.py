# SPDX-License-Identifier: GPL-2.0-only
"""Rules about tracers and statistics that are still enabled."""

from typing import Final

from rtscope.audit.rule import SYSCTL_KERNEL, Rule, file_line
from rtscope.audit.state import State
from rtscope.model.units import counted

_FTRACE_PAGE: Final = "https://docs.kernel.org/trace/ftrace.html"


def _tracing(name: str) -> tuple[str, str]:
    """The path of a file in tracefs, and in debugfs if only that is mounted."""
    return f"/sys/kernel/tracing/{name}", f"/sys/kernel/debug/tracing/{name}"


def _tracer(state: State) -> str | None:
    paths = _tracing("current_tracer")
    if not state.offers(paths[0], "CONFIG_TRACING"):
        return None
    tracer = state.line(*paths)
    return f"the tracer {tracer[:40]} is on" if tracer != "nop" else None


def _events(state: State) -> str | None:
    paths = _tracing("set_event")
    if not state.offers(paths[0], "CONFIG_EVENT_TRACING"):
        return None
    events = state.text(*paths).split()
    if not events:
        return None
    more = f" and {len(events) - 4} more" if len(events) > 4 else ""
    return f"the events {', '.join(event[:60] for event in events[:4])}{more} are traced"


def _probes(state: State) -> str | None:
    paths = _tracing("kprobe_events")
    if not state.offers(paths[0], "CONFIG_KPROBE_EVENTS"):
        return None
    probes = state.text(*paths).splitlines()
    return f"{counted(len(probes), 'probe')}, the first {probes[0][:60]}" if probes else None


def _bpf_times(state: State) -> str | None:
    path = "/proc/sys/kernel/bpf_stats_enabled"
    if not state.offers(path, "CONFIG_BPF_SYSCALL"):
        return None
    return "each BPF program is timed" if state.number(path) else None


def _sched_times(state: State) -> str | None:
    path = "/proc/sys/kernel/sched_schedstats"
    if not state.offers(path, "CONFIG_SCHEDSTATS"):
        return None
    return "each wake-up and switch is timed" if state.number(path) else None


RULES: Final = [
    Rule(
        id="tracing-tracer",
        severity="high",
        wanted="no tracer: nop",
        why="A tracer records every function, or every section with interrupts disabled: "
        "paths become two to ten times longer.",
        how="echo nop > /sys/kernel/tracing/current_tracer",
        link=_FTRACE_PAGE,
        check=_tracer,
        profile=file_line("/sys/kernel/tracing/current_tracer", "nop"),
    ),
    Rule(
        id="tracing-events",
        severity="high",
        wanted="no traced events",
        why="Each takes 100 ns to 1 us when it happens; a wake-up passes several.",
        how="echo 0 > /sys/kernel/tracing/events/enable",
        link="https://docs.kernel.org/trace/events.html",
        check=_events,
        profile=file_line("/sys/kernel/tracing/events/enable", "0"),
    ),
    Rule(
        id="tracing-probes",
        severity="medium",
        wanted="no probes",
        why="An enabled probe takes about 1 us each time it is hit.",
        how="echo > /sys/kernel/tracing/kprobe_events, after disabling its events",
        link="https://docs.kernel.org/trace/kprobetrace.html",
        check=_probes,
    ),
    Rule(
        id="tracing-bpf-statistics",
        severity="info",
        wanted="no BPF statistics",
        why="Two more clock reads for each run of a BPF program.",
        how="echo 0 > /proc/sys/kernel/bpf_stats_enabled (sysctl kernel.bpf_stats_enabled=0)",
        link=SYSCTL_KERNEL + "#bpf-stats-enabled",
        check=_bpf_times,
        profile=file_line("/proc/sys/kernel/bpf_stats_enabled", "0"),
    ),
    Rule(
        id="tracing-sched-statistics",
        severity="info",
        wanted="no scheduler statistics",
        why="About 100 ns more at each wake-up and context switch.",
        how="echo 0 > /proc/sys/kernel/sched_schedstats (sysctl kernel.sched_schedstats=0)",
        link=SYSCTL_KERNEL + "#sched-schedstats",
        check=_sched_times,
        profile=file_line("/proc/sys/kernel/sched_schedstats", "0"),
    ),
]
