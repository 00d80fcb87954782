# SPDX-License-Identifier: GPL-2.0-only
"""Sentences about caches and memory."""

from functools import singledispatch
from typing import Final

from rtscope.model.finding import (
    CacheNotAsReported,
    CacheNotReported,
    CachesAsReported,
    Disturbance,
    DisturbancesUndecided,
    Finding,
    MemorySpeed,
    MemoryTogether,
    NoDisturbance,
    PartitionChanges,
    PartitionChangesNothing,
    Partitioning,
    PartitionUndecided,
    Victim,
)
from rtscope.model.units import counted, format_size
from rtscope.wording.cpus import times_text

_MOST_NAMED: Final = 4
_HALVES: Final = "half of the caches for the first CPU and half for the others"


@singledispatch
def memory_sentence(found: Finding) -> str:
    """The sentence on a finding about caches or memory; empty for other findings."""
    return ""


@memory_sentence.register
def _(found: CachesAsReported) -> str:
    caches = ", ".join(
        f"L{one.level} at {format_size(one.seen_bytes or 0)} of {format_size(one.reported_bytes)}"
        for one in found.caches
    )
    return f"caches have the sizes that the kernel reports: {caches}"


@memory_sentence.register
def _(found: CacheNotAsReported) -> str:
    cache = found.cache
    host = "; a VM reports its host's whole cache, and other programs use it too" * found.virtual
    name, size = f"L{cache.level} cache", format_size(cache.reported_bytes)
    if cache.seen_bytes is None:
        return f"the {name} of {size} does not show in the times of loads{host}"
    return (
        f"the kernel reports an {name} of {size}, but loads slow down beyond "
        f"{format_size(cache.seen_bytes)}{host}"
    )


@memory_sentence.register
def _(found: CacheNotReported) -> str:
    seen = format_size(found.seen_bytes)
    return f"loads slow down beyond {seen} as well, where the kernel reports no cache"


@memory_sentence.register
def _(found: MemorySpeed) -> str:
    pages = (
        f" in huge pages of {format_size(found.huge_page_bytes)}" if found.huge_page_bytes else ""
    )
    where = "from memory"
    if found.cached_bytes is not None:
        size = format_size(found.cached_bytes)
        where = f"from {size}, which the L{found.cache_level} cache may hold,"
    read, write, copy = (
        _bandwidth(one)
        for one in (found.read_bytes_per_s, found.write_bytes_per_s, found.copy_bytes_per_s)
    )
    return (
        f"{where}{pages} a load takes {found.load_ns:.3g} ns; one CPU reads {read}, writes {write} "
        f"and copies {copy}"
    )


@memory_sentence.register
def _(found: MemoryTogether) -> str:
    return (
        f"{found.readers} together read {_bandwidth(found.read_bytes_per_s)}, {found.times:.2f} "
        "times as much as one"
    )


@memory_sentence.register
def _(found: Disturbance) -> str:
    victims = ", ".join(map(_victim, found.victims))
    return f"{found.work} on the other CPUs slow loads of the first CPU: {victims}"


@memory_sentence.register
def _(_found: NoDisturbance) -> str:
    return "no work on the other CPUs slows loads of the first CPU by 10 %"


@memory_sentence.register
def _(found: DisturbancesUndecided) -> str:
    which = ", ".join(f"{work} from {_level(level)}" for work, level in found.pairs)
    named = f" ({which})" if len(found.pairs) <= _MOST_NAMED else ""
    return (
        f"not enough samples to decide {len(found.pairs)} of "
        f"{counted(found.of, 'disturbance')}{named}. Increase --samples"
    )


@memory_sentence.register
def _(found: PartitionChanges) -> str:
    effect = f"help against {found.work}" if found.helps else f"make {found.work} slow loads more"
    return (
        f"{_HALVES} {effect}: loads of the first CPU from {_level(found.level)} take "
        f"{found.after:.2f} times as long instead of {found.before:.2f}"
    )


@memory_sentence.register
def _(_found: PartitionChangesNothing) -> str:
    return f"{_HALVES} change no slowdown by 10 %"


@memory_sentence.register
def _(_found: PartitionUndecided) -> str:
    return "not enough samples to decide what cache partitions change. Increase --samples"


@memory_sentence.register
def _(found: Partitioning) -> str:
    if found.state == "unsupported":
        return "this kernel cannot partition caches: it has no resctrl"
    if found.state == "not mounted":
        return (
            "mount resctrl to see whether caches can be partitioned: "
            "mount -t resctrl resctrl /sys/fs/resctrl"
        )
    parts = [
        f"the L{one.level} cache by {counted(one.ways, 'way')} into "
        f"{'some groups' if one.groups is None else counted(one.groups, 'group')}"
        for one in found.caches
    ]
    if found.bandwidth_step_percent:
        parts.append(f"the memory bandwidth in steps of {found.bandwidth_step_percent} %")
    unused = "; this run did not use it" if found.state == "unused" else ""
    return f"resctrl can partition {', '.join(parts)}{unused}"


def _bandwidth(bytes_per_s: float) -> str:
    return f"{bytes_per_s / 1e9:.3g} GB/s"


def _level(level: str) -> str:
    """The working set's place: L3/8 is an eighth of the L3 cache."""
    return "an eighth of L3" if level == "L3/8" else level


def _victim(one: Victim) -> str:
    text = f"from {_level(one.level)} {times_text(one.times)}"
    return f"{text}, which changes" if one.changing else f"{text} as long"
