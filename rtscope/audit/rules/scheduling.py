# SPDX-License-Identifier: GPL-2.0-only
"""Rules about the scheduler: throttling, servers and the priorities of kernel threads."""

from typing import Final

from rtscope.audit.rule import Rule, file_line, thread_line
from rtscope.audit.state import NotSeen, State
from rtscope.model.machine import Throttle

_RUNTIME: Final = "/proc/sys/kernel/sched_rt_runtime_us"
_OF_INTERRUPTS: Final = 50
_DEADLINE_PAGE: Final = "https://docs.kernel.org/scheduler/sched-deadline.html"
_GROUP_PAGE: Final = "https://docs.kernel.org/scheduler/sched-rt-group.html"


def _shares(throttle: Throttle) -> str | None:
    if throttle.state == "unknown":
        raise NotSeen(throttle.why)
    if throttle.state != "on":
        return None
    return _some([str(share) for share in throttle.shares if share.runtime_ns])


def _throttling(state: State) -> str | None:
    shares = _shares(state.throttling.realtime)
    return f"real-time threads are throttled to: {shares}" if shares else None


def _servers(state: State) -> str | None:
    fair = _shares(state.throttling.fair_server)
    ext = _shares(state.throttling.ext_server)
    waiting = {"waiting ordinary threads": fair, "waiting threads of a BPF scheduler": ext}
    found = [f"{who} run before real-time threads: {cpus}" for who, cpus in waiting.items() if cpus]
    return "; ".join(found) or None


def _group_scheduling(state: State) -> str | None:
    if not state.built("CONFIG_RT_GROUP_SCHED"):
        return None
    if state.parameter("rt_group_sched") in ("0", "off", "no", "n"):
        return None
    if state.built("CONFIG_RT_GROUP_SCHED_DEFAULT_DISABLED"):
        asked = state.parameter("rt_group_sched")
        return "rt_group_sched=1" if asked in ("1", "on", "yes", "y") else None
    return "CONFIG_RT_GROUP_SCHED=y"


def _highest_priority(state: State) -> str | None:
    names = sorted({task.name for task in state.tasks if not task.kernel and task.priority == 99})
    return f"{_some(names)} at priority 99" if names else None


def _soft_interrupts_in_time(state: State) -> str | None:
    found = [
        task
        for task in state.tasks
        if task.kernel and task.real_time and task.name.startswith("ksoftirqd/")
    ]
    if not found:
        return None
    return f"{len(found)} of the ksoftirqd threads have priority {found[0].priority}"


def _rcu_above(state: State) -> str | None:
    found = [
        task
        for task in state.tasks
        if task.kernel and task.real_time and task.name.startswith(("rcuc/", "rcub/", "rcu_p"))
        if task.priority >= _OF_INTERRUPTS
    ]
    if not found:
        return None
    return f"{found[0].name} and {len(found) - 1} similar threads have priority {found[0].priority}"


def _rcu_outranked(state: State) -> str | None:
    if not state.built("CONFIG_RCU_BOOST"):
        return None
    found = sorted({
        task.name
        for task in state.tasks
        if task.kernel and not task.real_time and task.name.startswith(("rcuc/", "rcub/"))
    })  # fmt: skip
    return f"{_some(found)}: not real-time" if found else None


def _timers_misplaced(state: State) -> str | None:
    found = sorted(
        (task.priority, task.name)
        for task in state.tasks
        if task.kernel
        and task.name.startswith(("ktimers/", "ktimersoftd/"))
        and not 0 < task.priority < _OF_INTERRUPTS
    )
    if not found:
        return None
    names = [f"{name} ({f'priority {high}' if high else 'not real-time'})" for high, name in found]
    return _some(names)


def _some(names: list[str]) -> str:
    more = f" and {len(names) - 8} more" if len(names) > 8 else ""
    return ", ".join(names[:8]) + more


def _rcu_expedited(state: State) -> str | None:
    if not state.offers("/sys/kernel/rcu_expedited", "CONFIG_TREE_RCU"):
        return None
    expedited = state.number("/sys/kernel/rcu_expedited")
    normal = state.number("/sys/kernel/rcu_normal")
    return "RCU's grace periods are expedited" if expedited and not normal else None


RULES: Final = [
    Rule(
        id="sched-throttling",
        severity="medium",
        wanted="no limit (-1), once the threads are known to sleep",
        why="A real-time thread that does not sleep is stopped for the rest of each period, "
        "even if no other thread waits. This protects a system from a runaway thread. "
        "From Linux 6.12 on, only kernels with CONFIG_RT_GROUP_SCHED throttle.",
        how=f"echo -1 > {_RUNTIME} (sysctl kernel.sched_rt_runtime_us=-1)",
        link=_GROUP_PAGE,
        check=_throttling,
        profile=file_line(_RUNTIME, "-1"),
    ),
    Rule(
        id="sched-fair-server",
        severity="medium",
        wanted="no fair server and no ext server on the CPUs of real-time threads, once these "
        "are known to sleep",
        why="From Linux 6.12 on, ordinary threads that have waited for most of a period run "
        "before real-time threads, and so do those of a BPF scheduler (sched_ext) if "
        "there is an ext server. The sysctl kernel.sched_rt_runtime_us does not change "
        "that.",
        how="echo 0 > /sys/kernel/debug/sched/fair_server/cpuN/runtime, likewise in "
        "ext_server; if the kernel refuses that because its bandwidth accounting is off "
        f"(EBUSY), after echo -1 > {_RUNTIME}",
        link=_DEADLINE_PAGE,
        check=_servers,
        profile=file_line("/sys/kernel/debug/sched/*_server/cpu*/runtime", "0"),
    ),
    Rule(
        id="sched-group-scheduling",
        severity="medium",
        wanted="CONFIG_RT_GROUP_SCHED is not set",
        why="A thread in a control group without real-time runtime cannot become real-time "
        "(EPERM), and one in a group with some is stopped when it is used up.",
        how="build the kernel without CONFIG_RT_GROUP_SCHED, or boot with rt_group_sched=0 "
        "(Linux 6.16 and later), or give the group's cpu.rt_runtime_us",
        link=_GROUP_PAGE,
        check=_group_scheduling,
    ),
    Rule(
        id="sched-priority-99",
        severity="medium",
        wanted="no program at priority 99; a loop needs at most 1 above the interrupt's thread",
        why="It runs before every interrupt's thread and every other program, for as long as "
        "it wants: its run time is latency of all others.",
        how="start it with a lower priority, or chrt -f -p 50 PID; for a service, "
        "CPUSchedulingPriority= of its unit",
        link="https://docs.kernel.org/scheduler/index.html",
        check=_highest_priority,
    ),
    Rule(
        id="sched-ksoftirqd",
        severity="medium",
        wanted="ksoftirqd without a real-time priority, the kernel's default",
        why="All deferred soft interrupts, mostly the network's, run before real-time threads "
        "of a lower priority: milliseconds under load.",
        how="chrt -o -p 0 PID of each ksoftirqd, and remove the cause",
        link="https://docs.kernel.org/core-api/real-time/differences.html",
        check=_soft_interrupts_in_time,
        profile=thread_line("ksoftirqd/*"),
    ),
    Rule(
        id="sched-rcu-priority",
        severity="medium",
        wanted="RCU's threads below the interrupts' (50), and below the real-time program's "
        "threads",
        why="RCU's callbacks, in batches of tens of microseconds, run before the interrupts' "
        "threads.",
        how="boot with a lower rcutree.kthread_prio (default: 1)",
        link="https://docs.kernel.org/admin-guide/kernel-parameters.html",
        check=_rcu_above,
        profile=thread_line("rcu[bc]/*", priority=1),
    ),
    Rule(
        id="sched-rcu-demoted",
        severity="medium",
        wanted="RCU's threads with a real-time priority, 1 by default on a kernel with "
        "CONFIG_RCU_BOOST",
        why="If real-time threads leave no time for ordinary ones, RCU cannot end its grace "
        "periods: memory is not freed, and runs out.",
        how="chrt -f -p 1 PID of each rcuc and rcub, and remove the cause",
        link="https://docs.kernel.org/admin-guide/kernel-parameters.html",
        check=_rcu_outranked,
        profile=thread_line("rcu[bc]/*", priority=1),
    ),
    Rule(
        id="sched-ktimers",
        severity="medium",
        wanted="ktimers with a real-time priority below the interrupts' (50), by default 1",
        why="It wakes threads that sleep with a timeout. If it is too low, they wait for "
        "ordinary threads; if too high, all of them together run before interrupts' "
        "threads: milliseconds under load.",
        how="chrt -f -p 1 PID of each ktimers, and remove the cause",
        link="https://docs.kernel.org/core-api/real-time/differences.html",
        check=_timers_misplaced,
        profile=thread_line("ktimers/*", priority=1),
    ),
    Rule(
        id="sched-rcu-expedited",
        severity="medium",
        wanted="normal grace periods: rcu_normal 1 or rcu_expedited 0",
        why="Each expedited grace period interrupts every CPU that is not idle, including "
        "isolated ones: some microseconds, whenever something is unloaded or unmounted.",
        how="echo 1 > /sys/kernel/rcu_normal, or boot with rcupdate.rcu_normal_after_boot=1",
        link="https://docs.kernel.org/admin-guide/kernel-parameters.html",
        check=_rcu_expedited,
        profile=file_line("/sys/kernel/rcu_normal", "1"),
    ),
]
