# SPDX-License-Identifier: GPL-2.0-only
"""Sentences about CPUs: shared resources, speeds and differences."""

from collections.abc import Sequence
from functools import singledispatch
from typing import Final

from rtscope.model.cpulist import cpus_named
from rtscope.model.finding import (
    CpuDiffers,
    CpuGroups,
    CpusAlike,
    CpusEquallyFast,
    CpusIdle,
    CpusNotMeasured,
    CpusNotSlower,
    CpusSlower,
    CpusTakeTurns,
    CpusUndecided,
    EmulatedCpus,
    Finding,
    MessageTime,
    NoSharing,
    NothingShared,
    OnlyCpu,
    Range,
    ReportedSpeed,
    ReportedTopology,
    Sharing,
    TooFewRepeats,
)
from rtscope.model.units import counted, format_ns

_RESOURCES: Final = {
    "awake": "one CPU",
    "scalar": "units of scalar arithmetic",
    "vector": "a vector unit",
    "L1": "an L1 cache",
    "L2": "an L2 cache",
    "L3": "an L3 cache",
    "memory": "the memory bandwidth",
}
_LEVELS: Final = {
    "core": "threads of one core",
    "cluster": "a cluster",
    "node": "a memory node",
}


@singledispatch
def cpus_sentence(found: Finding) -> str:
    """The sentence on a finding about CPUs; empty for other findings."""
    return ""


@cpus_sentence.register
def _(found: TooFewRepeats) -> str:
    if not found.repeats:
        return "not enough data to find slowdowns: the run does not record its repeats"
    return (
        f"not enough data to find slowdowns: {counted(found.comparisons, 'comparison')} "
        f"{'needs' if found.comparisons == 1 else 'need'} at least "
        f"{counted(found.needed, 'repeat')}, the run has {found.repeats}. "
        f"Set --samples={found.needed} or more"
    )


@cpus_sentence.register
def _(found: CpusSlower) -> str:
    name, are = _named(found.cpus)
    than = cpus_named(found.than) if found.than else "the fastest CPU"
    if found.is_so == "unknown":
        return (
            f"not enough samples to decide whether {name} {are} slower than {than}: "
            f"{_work_times(found.times)}. Increase --samples"
        )
    if found.is_so == "changing":
        return (
            f"{name} {are} slower than {than} only some of the time: {_work_times(found.times)} "
            f"in repeats of the same work{_possible_cause(found.virtual)}"
        )
    if found.reported:
        why = f"as the kernel reports ({_speed_text(found.reported)}): {_work_times(found.times)}"
        return f"{name} {are} slower than {than}, {why}"
    return (
        f"{name} {are} slower than {than}, which the kernel does not report: "
        f"{_work_times(found.times)}{_possible_cause(found.virtual)}"
    )


@cpus_sentence.register
def _(found: CpusNotSlower) -> str:
    name, are = _named(found.cpus)
    they = "they are" if found.cpus[1:] else "it is"
    return (
        f"the kernel reports that {name} {are} slower than {cpus_named(found.than)} "
        f"({_speed_text(found.reported)}), but {they} {'much less so' if found.partly else 'not'}: "
        f"{_work_times(found.times)}"
    )


@cpus_sentence.register
def _(found: CpusEquallyFast) -> str:
    if len(found.cpus) == 1:
        return f"{cpus_named(found.cpus)} is as fast as the kernel reports"
    return (
        f"{cpus_named(found.cpus)} are equally fast: none is 10 % slower than another in "
        f"{' and '.join(found.work)} work"
    )


@cpus_sentence.register
def _(found: CpusIdle) -> str:
    they = "their speeds are" if found.cpus[1:] else "its speed is"
    return f"{cpus_named(found.cpus)} finished no work in some repeats: {they} unknown"


@cpus_sentence.register
def _(found: Sharing) -> str:
    name, resource = cpus_named(found.cpus), _RESOURCES[found.work]
    if found.is_so == "unknown":
        return (
            f"not enough samples to decide whether {name} share {resource}: the same work takes "
            f"{times_text(found.times)} as long when both run it. Increase --samples"
        )
    if found.is_so == "changing":
        host = "; the host may move this VM's CPUs from core to core" * found.virtual
        return (
            f"{name} share {resource} only some of the time: {times_text(found.times)} as long in "
            f"repeats of the same work{host}"
        )
    reported = "as the kernel reports" if found.reported else "which the kernel does not report"
    return (
        f"{name} share {resource}, {reported}: the same work takes {times_text(found.times)} as "
        "long when both run it"
    )


@cpus_sentence.register
def _(found: NoSharing) -> str:
    host = "; a VM reports its host's whole cache, and other programs use it too" * found.virtual
    return (
        f"the kernel reports that {cpus_named(found.cpus)} share {_RESOURCES[found.work]}, but "
        f"none slows another: the same work takes {times_text(found.times)} as long when both run "
        f"it{host}"
    )


@cpus_sentence.register
def _(found: CpusTakeTurns) -> str:
    return (
        f"{cpus_named(found.cpus)} take turns on one CPU: a thread takes "
        f"{times_text(found.times)} as long while another of them is awake. Their caches and units "
        "were not compared"
    )


@cpus_sentence.register
def _(found: NothingShared) -> str:
    return (
        f"{cpus_named(found.cpus)} slow each other by less than 10 % in work on "
        f"{_listed(found.work)}"
    )


@cpus_sentence.register
def _(found: MessageTime) -> str:
    low, high = f"{found.ns.low:.3g} ns", f"{found.ns.high:.3g} ns"
    if found.near and found.near_ns is not None:
        groups = ", ".join(map(cpus_named, found.near))
        return (
            f"a message takes up to {found.near_ns:.3g} ns within {groups}, elsewhere up to {high}"
        )
    return f"a message from CPU to CPU takes {low if low == high else f'{low} to {high}'}"


@cpus_sentence.register
def _(found: OnlyCpu) -> str:
    if found.has_others:
        return f"only CPU {found.cpu} was measured, so no other CPU could disturb it"
    return f"CPU {found.cpu} is the only CPU: it shares nothing"


@cpus_sentence.register
def _(_found: EmulatedCpus) -> str:
    return "CPUs of this VM are emulated: what they share is a property of the host"


@cpus_sentence.register
def _(found: CpusNotMeasured) -> str:
    name, are = _named(found.cpus)
    if found.offline:
        return f"{name} {are} offline"
    were = "were" if found.cpus[1:] else "was"
    return f"{name} {were} not measured: not selected, or outside this process's cpuset"


@cpus_sentence.register
def _(found: ReportedTopology) -> str:
    return f"the kernel reports {'; '.join(map(_level_text, found.levels))}"


@cpus_sentence.register
def _(found: CpuDiffers) -> str:
    median = _cpu(found.median_cpu)
    which = ", the median CPU," if found.cpus > 2 else ""
    return (
        f"{_cpu(found.cpu)} differs: its {found.metric} is {format_ns(found.ns)}, that of {median}"
        f"{which} is {format_ns(found.median_cpu_ns)}"
    )


@cpus_sentence.register
def _(found: CpusUndecided) -> str:
    differ = "differ" if found.cpus[1:] else "differs"
    return (
        f"not enough samples to decide whether {cpus_named(found.cpus)} {differ} from "
        f"{_cpu(found.median_cpu)} by {_percent(found.least)} or more. Measure for longer"
    )


@cpus_sentence.register
def _(found: CpusAlike) -> str:
    other = "other " if found.count < found.of else ""
    cpus = "CPUs differ" if found.count > 1 or not other else "CPU differs"
    return f"no evidence that the {other}{cpus} by {_percent(found.least)} or more"


def times_text(times: Range) -> str:
    """1.93 times, or 1.52 to 1.93 times."""
    low, high = f"{times.low:.2f}", f"{times.high:.2f}"
    return f"{low} times" if low == high else f"{low} to {high} times"


def _named(cpus: Sequence[int]) -> tuple[str, str]:
    return cpus_named(cpus), "are" if cpus[1:] else "is"


def _cpu(number: int | None) -> str:
    return "a thread without a CPU" if number is None else f"CPU {number}"


def _percent(share: float) -> str:
    return f"{share * 100:g} %"


def _listed(names: Sequence[str]) -> str:
    return " and ".join([", ".join(names[:-1]), names[-1]] if names[1:] else names)


def _possible_cause(virtual: bool) -> str:
    """Possible reasons for a slowness that the kernel does not report."""
    if virtual:
        return "; the host of this VM or a real-time program may use the CPU time"
    return "; heat, a power limit or a real-time program may slow it down"


def _work_times(times: dict[str, Range]) -> str:
    """Scalar work takes 2.25 to 2.31 times and vector work 2.01 times as long."""
    each = " and ".join(f"{kind} work {times_text(one)}" for kind, one in times.items())
    return f"{each.replace(' work ', ' work takes ', 1)} as long"


def _level_text(one: CpuGroups) -> str:
    if isinstance(one.groups, dict):
        groups = (f"{one.level} {name}: {cpus_named(cpus)}" for name, cpus in one.groups.items())
        return ", ".join(groups)
    level = _LEVELS.get(one.level, f"sharers of an {one.level} cache")
    return f"{level}: {', '.join(map(cpus_named, one.groups))}"


def _speed_text(reported: ReportedSpeed) -> str:
    """ "capacity 446 of 1024", "1.50 of 2.40 GHz" or "kind Cortex-A53"."""
    if reported.core:
        return f"kind {reported.core}"
    if reported.capacity is None:
        ours, highest = (reported.khz or 0) / 1e6, (reported.highest_khz or 0) / 1e6
        return f"{ours:.2f} of {highest:.2f} GHz"
    text = f"capacity {reported.capacity} of {reported.highest_capacity}"
    if reported.held_percent is not None:
        text += f", held to {reported.held_percent:.0f} % of its frequency"
    return text
