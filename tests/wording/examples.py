# SPDX-License-Identifier: GPL-2.0-only
"""An example of every kind of finding, with the variants that have words of their own."""

from typing import Final

from rtscope.model.finding import (
    CacheNotAsReported,
    CacheNotReported,
    CachePartition,
    CachesAsReported,
    CacheSize,
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
    Disturbance,
    DisturbancesUndecided,
    EmulatedCpus,
    Finding,
    MemorySpeed,
    MemoryTogether,
    MessageTime,
    NoDisturbance,
    NoSharing,
    NothingShared,
    OnlyCpu,
    PartitionChanges,
    PartitionChangesNothing,
    Partitioning,
    PartitionUndecided,
    Range,
    ReportedTopology,
    Sharing,
    TooFewRepeats,
    Victim,
)

_ONE: Final = {"scalar": Range(2.0, 2.0)}
_TWO: Final = {"scalar": Range(1.02, 2.31), "vector": Range(3.0, 3.0)}
_SHARED: Final = Range(1.52, 1.93)

CPUS: Final[list[Finding]] = [
    TooFewRepeats(comparisons=1, repeats=1, needed=5),
    TooFewRepeats(comparisons=196, repeats=8, needed=12),
    TooFewRepeats(comparisons=7, repeats=0, needed=8),
    CpusSlower(cpus=[0, 1], than=[2, 3], is_so="yes", times=_TWO, reported="capacity 446 of 1024"),
    CpusSlower(cpus=[2], than=[], is_so="yes", times=_ONE, severity="unexpected"),
    CpusSlower(cpus=[2], than=[0], is_so="changing", times=_TWO, virtual=True),
    CpusSlower(cpus=[2], than=[0], is_so="unknown", times=_TWO),
    CpusNotSlower(cpus=[0, 1], than=[2], times=_ONE, reported="capacity 446 of 1024", partly=False),
    CpusNotSlower(cpus=[0], than=[2], times=_ONE, reported="0.60 of 1.80 GHz", partly=True),
    CpusEquallyFast(cpus=[0, 1], work=["scalar", "vector"]),
    CpusEquallyFast(cpus=[3], work=["scalar"]),
    CpusIdle(cpus=[2]),
    Sharing(cpus=[0, 1], work="vector", is_so="yes", times=_SHARED, reported=True),
    Sharing(cpus=[0, 1], work="L2", is_so="yes", times=_SHARED),
    Sharing(cpus=[0, 1], work="awake", is_so="changing", times=_SHARED, virtual=True),
    Sharing(cpus=[0, 1], work="memory", is_so="unknown", times=_SHARED),
    NoSharing(cpus=[0, 1], work="L2", times=Range(1, 1)),
    NoSharing(cpus=[0, 1], work="L3", times=Range(1, 1), virtual=True),
    CpusTakeTurns(cpus=[0, 2], times=_SHARED),
    NothingShared(cpus=[0, 1], work=["scalar", "vector", "L1"]),
    NothingShared(cpus=[0, 1], work=["scalar"]),
    MessageTime(ns=Range(40, 120), near=[[0, 1], [2, 3]], near_ns=45),
    MessageTime(ns=Range(40, 40)),
    MessageTime(ns=Range(40, 48)),
    OnlyCpu(cpu=0, has_others=False),
    OnlyCpu(cpu=0, has_others=True),
    EmulatedCpus(),
    CpusNotMeasured(cpus=[2], offline=True),
    CpusNotMeasured(cpus=[2, 3], offline=False),
    ReportedTopology(
        levels=[
            CpuGroups("core", [[0, 1], [2, 3]]),
            CpuGroups("L3", [[0, 1, 2, 3]]),
            CpuGroups("capacity", {"446": [0, 1], "1024": [2, 3]}),
        ]
    ),
    CpuDiffers(
        cpu=2, metric="p99.9", ns=9500, median_cpu=0, median_cpu_ns=5000, limits_ns=(4, 5), cpus=4
    ),
    CpuDiffers(
        cpu=1, metric="median", ns=9500, median_cpu=0, median_cpu_ns=5000, limits_ns=(4, 5), cpus=2
    ),
    CpusUndecided(cpus=[2], median_cpu=0, least=0.1),
    CpusAlike(count=1, of=2, least=0.1),
    CpusAlike(count=3, of=3, least=0.1),
]
MEMORY: Final[list[Finding]] = [
    CachesAsReported(caches=[CacheSize(1, 48 << 10, 48 << 10), CacheSize(2, 2 << 20, 3 << 19)]),
    CacheNotAsReported(cache=CacheSize(2, 2 << 20, 512 << 10), virtual=False),
    CacheNotAsReported(cache=CacheSize(2, 2 << 20, None), virtual=True),
    CacheNotReported(seen_bytes=16 << 20),
    MemorySpeed(
        load_ns=130, read_bytes_per_s=1e10, write_bytes_per_s=9e9, copy_bytes_per_s=4.123e9
    ),
    MemorySpeed(
        load_ns=60,
        read_bytes_per_s=1e10,
        write_bytes_per_s=1e10,
        copy_bytes_per_s=1e10,
        huge_page_bytes=2 << 20,
        cached_bytes=192 << 20,
        cache_level=3,
    ),
    MemoryTogether(readers="all 2 CPUs", read_bytes_per_s=2e10, times=2),
    Disturbance(
        work="pages",
        victims=[Victim("L3/8", Range(1.2, 1.2)), Victim("memory", Range(1, 2), changing=True)],
    ),
    NoDisturbance(),
    DisturbancesUndecided(pairs=[("pages", "L2")], of=2),
    DisturbancesUndecided(pairs=[("pages", f"L{n}") for n in range(5)], of=12),
    PartitionChanges(helps=True, work="streams", level="L2", before=1.9, after=1.2),
    PartitionChanges(helps=False, work="pages", level="memory", before=1.0, after=1.4),
    PartitionChangesNothing(),
    PartitionUndecided(),
    Partitioning(state="unsupported"),
    Partitioning(state="not mounted"),
    Partitioning(state="unused", caches=[CachePartition(3, 11, 16)], bandwidth_step_percent=10),
    Partitioning(state="used", caches=[CachePartition(2, 1, None)]),
]
