# SPDX-License-Identifier: GPL-2.0-only
"""Rules about control groups: isolated CPUs, and limits of ordinary or real-time threads."""

import re
from typing import Final

from rtscope.audit.cpusets import ROOT, CpuSet, balanced_cpus, cpusets_of, partitions_of
from rtscope.audit.rule import ADMIN, PARTITION, Rule
from rtscope.audit.state import NotSeen, State, release_at_least
from rtscope.model.cpulist import format_cpu_list

_V2_PAGE: Final = ADMIN + "cgroup-v2.html"
_V1_PAGE: Final = ADMIN + "cgroup-v1/cpusets.html"
_QUOTA: Final = re.compile(rf"({ROOT}/.+)/cpu\.(?:max|cfs_quota_us)", re.DOTALL)
_RT_RUNTIME: Final = re.compile(rf"({ROOT}/.+)/cpu\.rt_runtime_us", re.DOTALL)
_LIMITED: Final = re.compile(r"([0-9]{1,15})(?: ([0-9]{1,15}))?", re.ASCII)


def _seen(state: State, controller: str) -> None:
    """Raise NotSeen unless the files of a controller's groups are in the expected place."""
    if not state.offers("/proc/self/cgroup", "CONFIG_CGROUPS"):
        return
    for line in state.text("/proc/self/cgroup").splitlines():
        names = line.split(":", 2)[1:2]
        if names and controller in names[0].split(","):
            folder = f"{ROOT}/{controller}"
            if not any(path.startswith(f"{folder}/") for path in state.files):
                raise NotSeen(f"the groups of {controller} are not below {folder}")


def _short(path: str) -> str:
    return path.removeprefix(f"{ROOT}/")[:60]


def _and_more(words: list[str]) -> str:
    more = f" and {len(words) - 4} more" if len(words) > 4 else ""
    return ", ".join(words[:4]) + more


def _invalid_partition(state: State) -> str | None:
    _seen(state, "cpuset")
    found = [
        f"{_short(one.path)} ({one.kind}): {one.why or 'the kernel gives no reason'}"
        for one in partitions_of(state.files)
        if not one.valid
    ]
    return f"invalid: {_and_more(found)}" if found else None


def _leaves(sets: list[CpuSet]) -> list[CpuSet]:
    """Sets without load balancing and without a set below them."""
    above = {one.path.rpartition("/")[0] for one in sets}
    return [one for one in sets[1:] if not one.balanced and one.path not in above]


def _balanced_all_the_same(state: State) -> str | None:
    _seen(state, "cpuset")
    sets = cpusets_of(state.files)
    balanced = balanced_cpus(sets)
    found = [
        f"{_short(one.path)} (CPUs {format_cpu_list(one.cpus & balanced)})"
        for one in _leaves(sets)
        if one.cpus & balanced
    ]
    return f"balanced by other sets: {_and_more(found)}" if found else None


def _shared(state: State) -> str | None:
    _seen(state, "cpuset")
    sets = cpusets_of(state.files)
    found = [_short(one.path) for one in _leaves(sets) if one.cpus and not one.exclusive]
    return f"without load balancing, but not exclusive: {_and_more(found)}" if found else None


def _stopped_by_quota(state: State) -> str | None:
    _seen(state, "cpu")
    if state.machine.preemption is None:
        raise NotSeen("the preemption model is not known")
    if state.machine.preemption != "rt" or release_at_least(state, 6, 18):
        return None
    found = []
    for match in filter(None, map(_QUOTA.fullmatch, sorted(state.files))):
        if _LIMITED.fullmatch(state.line(match[0])):
            found.append(_short(match[1]))
    return f"a quota of CPU time for {_and_more(found)}" if found else None


def _no_real_time(state: State) -> str | None:
    _seen(state, "cpu")
    groups = list(filter(None, map(_RT_RUNTIME.fullmatch, sorted(state.files))))
    without = [_short(match[1]) for match in groups if state.number(match[0]) == 0]
    if not without:
        return None
    return f"{len(without)} of {len(groups)} groups have no real-time runtime: {_and_more(without)}"


RULES: Final = [
    Rule(
        id="group-partition-invalid",
        severity="high",
        wanted="valid partitions: root or isolated in cpuset.cpus.partition",
        why="Its CPUs are not isolated: threads of every other group may run there, for "
        "milliseconds.",
        how="give it CPUs that no sibling has, and leave at least one to its parent; then "
        "write isolated to its cpuset.cpus.partition again",
        link=_V2_PAGE + "#cpuset-interface-files",
        check=_invalid_partition,
        profile=PARTITION,
    ),
    Rule(
        id="group-set-balanced",
        severity="high",
        wanted="no other set with load balancing on the CPUs of one without, especially not the "
        "root",
        why="The scheduler still moves threads to these CPUs, for milliseconds, as long as "
        "any set that has them requests it.",
        how=f"echo 0 > {ROOT}/cpuset/cpuset.sched_load_balance, and put all other tasks into a "
        "set of the other CPUs",
        link=_V1_PAGE,
        check=_balanced_all_the_same,
    ),
    Rule(
        id="group-set-shared",
        severity="medium",
        wanted="cpuset.cpu_exclusive 1 for a set without load balancing",
        why="Another set may be given the same CPUs, and the threads that it starts there stay.",
        how="echo 1 > cpuset.cpu_exclusive in the set",
        link=_V1_PAGE,
        check=_shared,
    ),
    Rule(
        id="group-cpu-quota",
        severity="medium",
        wanted="no quota of CPU time (cpu.max, cpu.cfs_quota_us; CPUQuota= of a unit) on a kernel "
        "with PREEMPT_RT before Linux 6.18",
        why="A thread may be stopped while it holds a lock, until the next period: a real-time "
        "thread that wants the lock waits up to 100 ms.",
        how="echo max > cpu.max, or echo -1 > cpu.cfs_quota_us, in the group; for a service, "
        "an empty CPUQuota=",
        link="https://docs.kernel.org/scheduler/sched-bwc.html",
        check=_stopped_by_quota,
    ),
    Rule(
        id="group-no-real-time",
        severity="high",
        wanted="a share of cpu.rt_runtime_us for each group that real-time programs start in",
        why="A thread there cannot become real-time (EPERM), and waits for every other: "
        "milliseconds.",
        how="write one to the group's cpu.rt_runtime_us; in systemd, DefaultCPUAccounting=no, "
        "and no unit with CPUWeight= or CPUQuota=",
        link="https://docs.kernel.org/scheduler/sched-rt-group.html",
        check=_no_real_time,
    ),
]
