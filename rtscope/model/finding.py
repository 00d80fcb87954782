# SPDX-License-Identifier: GPL-2.0-only
"""Findings: what an analysis concludes, as data. rtscope.wording turns them into sentences.

A finding's class is its kind, which JSON has as `kind`. Its other fields are the subject (mostly
CPUs), the values with their range or limits, and the evidence.
"""

import re
from typing import Literal

import msgspec

Severity = Literal["info", "undecided", "unexpected", "warning"]
"""undecided: more samples may decide it; unexpected: the kernel or the plan claims otherwise;
warning: it costs latency"""
Certainty = Literal["yes", "changing", "unknown"]
"""changing: the effect came and went during the run"""


def _kind(name: str) -> str:
    return re.sub(r"(?<=[a-z])(?=[A-Z])", "-", name).lower()


class Range(msgspec.Struct, frozen=True):
    """From the lowest to the highest value; both are the same for a single value."""

    low: float
    high: float


class Finding(msgspec.Struct, frozen=True, kw_only=True, tag_field="kind", tag=_kind):
    """One conclusion."""

    severity: Severity = "info"


class ReportedSpeed(msgspec.Struct, frozen=True):
    """Why the kernel expects a CPU to be slower: a kind of core, a capacity, or a frequency."""

    core: str | None = None
    """kind of core"""
    capacity: int | None = None
    highest_capacity: int | None = None
    held_percent: float | None = None
    """share of its highest frequency that its governor allows, if it is less than all"""
    khz: float | None = None
    highest_khz: float | None = None


class TooFewRepeats(Finding, frozen=True, kw_only=True):
    """No comparison of the run can be decided."""

    comparisons: int
    repeats: int
    """0 where the run does not record them"""
    needed: int


class CpusSlower(Finding, frozen=True, kw_only=True):
    """CPUs that take longer for the same work without any other work."""

    cpus: list[int]
    than: list[int]
    """empty: than the fastest CPU"""
    is_so: Certainty
    times: dict[str, Range]
    """by kind of work, relative to the fastest CPU"""
    reported: ReportedSpeed | None = None
    """why the kernel expects it; None where it does not"""
    virtual: bool = False


class CpusNotSlower(Finding, frozen=True, kw_only=True):
    """CPUs that the kernel reports as slower than they are."""

    cpus: list[int]
    than: list[int]
    times: dict[str, Range]
    reported: ReportedSpeed
    partly: bool
    """they are slower, by far less"""


class CpusEquallyFast(Finding, frozen=True, kw_only=True):
    """No CPU is a tenth slower than another."""

    cpus: list[int]
    work: list[str]


class CpusIdle(Finding, frozen=True, kw_only=True):
    """CPUs that finished no work in some repeats."""

    cpus: list[int]


class Sharing(Finding, frozen=True, kw_only=True):
    """CPUs that slow each other in a kind of work, so that they share what it needs."""

    cpus: list[int]
    work: str
    """scalar, vector, L1, L2, L3, memory, or awake for the CPU itself"""
    is_so: Certainty
    times: Range
    reported: bool = False
    """the kernel reports it too"""
    virtual: bool = False


class NoSharing(Finding, frozen=True, kw_only=True):
    """CPUs that share something according to the kernel and do not slow each other in it."""

    cpus: list[int]
    work: str
    times: Range
    virtual: bool = False
    """the cache is the host's, which other guests use as well"""


class CpusTakeTurns(Finding, frozen=True, kw_only=True):
    """CPUs of which only one runs at a time."""

    cpus: list[int]
    times: Range


class NothingShared(Finding, frozen=True, kw_only=True):
    """Kinds of work in which no CPU slows another by a tenth."""

    cpus: list[int]
    work: list[str]


class MessageTime(Finding, frozen=True, kw_only=True):
    """Time of a message from CPU to CPU."""

    ns: Range
    near: list[list[int]] = []
    """groups of CPUs within which messages are faster; empty where all CPUs are alike"""
    near_ns: float | None = None
    """the longest within these groups"""


class OnlyCpu(Finding, frozen=True, kw_only=True):
    """The run measured one CPU, so no other can share with it or disturb it."""

    cpu: int
    has_others: bool


class EmulatedCpus(Finding, frozen=True, kw_only=True):
    """An emulator's CPUs share what the host's threads share."""


class CpusNotMeasured(Finding, frozen=True, kw_only=True):
    """CPUs that the run does not cover."""

    cpus: list[int]
    offline: bool


class CpuGroups(msgspec.Struct, frozen=True):
    """CPUs that the kernel reports as close to each other, or as different from the rest."""

    level: str
    """core, cluster, L2, node, kind, capacity"""
    groups: dict[str, list[int]] | list[list[int]]
    """by name, where groups have one"""


class ReportedTopology(Finding, frozen=True, kw_only=True):
    """The kernel's description of the CPUs."""

    levels: list[CpuGroups]


class CpuDiffers(Finding, frozen=True, kw_only=True):
    """A CPU whose latencies differ from those of the median CPU."""

    cpu: int | None
    metric: str
    """median, or p99.9"""
    ns: float
    median_cpu: int | None
    median_cpu_ns: float
    limits_ns: tuple[float | None, float | None]
    """95 % limits of the difference"""
    cpus: int
    """how many CPUs were compared"""


class CpusUndecided(Finding, frozen=True, kw_only=True):
    """CPUs with too few samples to decide whether they differ."""

    cpus: list[int]
    median_cpu: int | None
    least: float
    """the smallest difference that counts, as a share"""


class CpusAlike(Finding, frozen=True, kw_only=True):
    """No evidence that these CPUs' latencies differ from those of the median CPU."""

    count: int
    of: int
    least: float


class CacheSize(msgspec.Struct, frozen=True):
    """A cache as the kernel reports it, and the size up to which loads are fast."""

    level: int
    reported_bytes: int
    seen_bytes: int | None
    """None: no rise in the times of loads shows it"""


class CachesAsReported(Finding, frozen=True, kw_only=True):
    """Caches that show where the kernel reports them."""

    caches: list[CacheSize]


class CacheNotAsReported(Finding, frozen=True, kw_only=True):
    """A cache that shows at another size than reported, or does not show."""

    cache: CacheSize
    virtual: bool


class CacheNotReported(Finding, frozen=True, kw_only=True):
    """A working set beyond which loads slow down where the kernel reports no cache."""

    seen_bytes: int


class MemorySpeed(Finding, frozen=True, kw_only=True):
    """Time of a load and bandwidth of one CPU, with the largest working set."""

    load_ns: float
    read_bytes_per_s: float
    write_bytes_per_s: float
    copy_bytes_per_s: float
    huge_page_bytes: int = 0
    cached_bytes: int | None = None
    """the largest working set, where the last-level cache may hold it"""
    cache_level: int | None = None
    """the level of that cache"""


class MemoryTogether(Finding, frozen=True, kw_only=True):
    """Bandwidth of several CPUs that read memory at the same time."""

    readers: str
    read_bytes_per_s: float
    times: float
    """relative to one CPU"""


class Victim(msgspec.Struct, frozen=True):
    """A working set whose loads are slowed."""

    level: str
    times: Range
    changing: bool = False


class Disturbance(Finding, frozen=True, kw_only=True):
    """Work on the other CPUs that slows loads of the first."""

    work: str
    victims: list[Victim]


class NoDisturbance(Finding, frozen=True, kw_only=True):
    """No work on the other CPUs slows loads of the first by a tenth."""


class DisturbancesUndecided(Finding, frozen=True, kw_only=True):
    """Disturbances that the repeats do not decide."""

    pairs: list[tuple[str, str]]
    """work of the other CPUs, and what holds the first CPU's working set"""
    of: int


class PartitionChanges(Finding, frozen=True, kw_only=True):
    """A disturbance that changes with half of the caches for the first CPU."""

    helps: bool
    work: str
    level: str
    before: float
    after: float


class PartitionChangesNothing(Finding, frozen=True, kw_only=True):
    """No disturbance changes by a tenth with half of the caches for each side."""


class PartitionUndecided(Finding, frozen=True, kw_only=True):
    """The repeats do not decide what partitions change."""


class CachePartition(msgspec.Struct, frozen=True):
    """How resctrl can divide one cache."""

    level: int
    ways: int
    groups: int | None


class Partitioning(Finding, frozen=True, kw_only=True):
    """What resctrl can divide on this system."""

    state: Literal["unsupported", "not mounted", "unused", "used"]
    caches: list[CachePartition] = []
    bandwidth_step_percent: int = 0
