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
    ReportedSpeed,
    ReportedTopology,
    Sharing,
    TooFewRepeats,
    Victim,
)
from rtscope.model.placement_finding import (
    BestPlacement,
    Elsewhere,
    Interference,
    InterferenceUndecided,
    Largest,
    LawFails,
    NearCpusSlower,
    NoBaseline,
    NoInterference,
    NoSingleThread,
    OnlyPlacement,
    PlacementUndecided,
    Serial,
    SlowCpus,
    Threads,
    ThreadsTakeTurns,
    Times,
    VectorUnitShared,
)
from rtscope.model.thread_finding import (
    InterruptBelowWaiter,
    InterruptsBelowUsers,
    SoftirqsBelowUsers,
    UserAt99,
)
from rtscope.model.threads import SeenThread

_ONE: Final = {"scalar": Range(2.0, 2.0)}
_SLOW = ReportedSpeed(capacity=446, highest_capacity=1024)
_TWO: Final = {"scalar": Range(1.02, 2.31), "vector": Range(3.0, 3.0)}
_SHARED: Final = Range(1.52, 1.93)

CPUS: Final[list[Finding]] = [
    TooFewRepeats(comparisons=1, repeats=1, needed=5),
    TooFewRepeats(comparisons=196, repeats=8, needed=12),
    TooFewRepeats(comparisons=7, repeats=0, needed=8),
    CpusSlower(cpus=[0, 1], than=[2, 3], is_so="yes", times=_TWO, reported=_SLOW),
    CpusSlower(cpus=[2], than=[], is_so="yes", times=_ONE, severity="unexpected"),
    CpusSlower(cpus=[2], than=[0], is_so="changing", times=_TWO, virtual=True),
    CpusSlower(cpus=[2], than=[0], is_so="unknown", times=_TWO),
    CpusNotSlower(cpus=[0, 1], than=[2], times=_ONE, reported=_SLOW, partly=False),
    CpusNotSlower(
        cpus=[0],
        than=[2],
        times=_ONE,
        reported=ReportedSpeed(khz=600_000, highest_khz=1_800_000),
        partly=True,
    ),
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

_TIMES: Final = Times(1.87, 1.85, 1.9)
PLACEMENTS: Final = [
    BestPlacement(workload="scalar", best=Threads(8, [*range(8)], 0.025), speedup=_TIMES),
    BestPlacement(
        workload="vector",
        best=Threads(4, [0, 2, 4, 6]),
        speedup=_TIMES,
        largest=Largest(Threads(8, [*range(8)], 0.031), Times(1.04), Times(0.96), False),
        elsewhere=Elsewhere(Threads(4, [0, 1, 2, 3]), _TIMES, [Threads(4, [1, 3, 5, 7])]),
        as_fast_counts=[5, 6],
        fast_cpus=[0, 2],
        slow_cpus=[4, 5, 6, 7],
    ),
    BestPlacement(
        workload="./app",
        best=Threads(1, [2]),
        several=_TIMES,
        several_not_faster=True,
        elsewhere=Elsewhere(as_fast=[Threads(1, [cpu]) for cpu in range(3, 8)]),
        fast_cpus=[2],
        slow_cpus=[0],
    ),
    BestPlacement(workload="./app", best=Threads(1, [0]), several=Times(1.02, 0.9, 1.2)),
    BestPlacement(workload="./app", best=Threads(1, [0]), serial=Serial([2, 3, 4], 1.02, 0.99)),
    PlacementUndecided(
        workload="scalar", threads=Threads(2, [0, 1]), speedup=Times(1.2, 0.9, 1.6), rounds=2
    ),
    PlacementUndecided(workload="./app", threads=None, speedup=Times(1.2, 0.9, 1.6), rounds=5),
    OnlyPlacement(workload="scalar", threads=Threads(1, [0])),
    NoSingleThread(workload="scalar"),
    NearCpusSlower(
        workload="vector", near=[0, 1], near_share="core", far=[0, 4], far_share="", slowdown=_TIMES
    ),
    VectorUnitShared(cpus=[0, 1], vector_speedup=Times(1.01), scalar_speedup=_TIMES),
    ThreadsTakeTurns(workload="scalar", threads=Threads(2, [0]), speedup=Times(1.0)),
    ThreadsTakeTurns(workload="scalar", threads=Threads(4, [0, 1]), speedup=Times(1.0), than=2),
    ThreadsTakeTurns(workload="./app", threads=Threads(2, [0, 1]), speedup=Times(1.0)),
    LawFails(workload="vector", order="cores first", up_to=4, beyond=5, excess=0.72, slow_cpus=[]),
    LawFails(
        workload="scalar", order="cores first", up_to=4, beyond=5, excess=0.3, slow_cpus=[0, 1]
    ),
    SlowCpus(workload="scalar", slow=[0, 1], fast=[2, 3], slowdown=_TIMES, is_one_value=False),
    Interference(workload="./app", load="memory", load_cpus=[0, 1], slowdown=_TIMES),
    NoInterference(workload="./app", loads=["disk", "cpu"]),
    InterferenceUndecided(workload="./app", loads=["disk"], at_most=1.4, rounds=5),
    NoBaseline(workload="./app"),
]


_IRQ: Final = SeenThread(9, 9, "irq/19-daq", True, -51, "S", 1, policy="fifo", priority=50)
_READER: Final = SeenThread(
    81, 82, "llrf", False, -91, "S", 1, policy="fifo", priority=90, wait_channel="daq_read"
)
_TOP: Final = SeenThread(83, 84, "top", False, -99, "S", 1, policy="fifo", priority=98)
_SERVER: Final = SeenThread(16, 16, "ksoftirqd/0", True, 20, "S", 1, policy="other")
THREADS: Final = [
    InterruptBelowWaiter(interrupts=[_IRQ], waiters=[_READER], highest=_READER),
    InterruptBelowWaiter(interrupts=[_IRQ] * 4, waiters=[_TOP], highest=_TOP),
    UserAt99(threads=[_TOP]),
    InterruptsBelowUsers(interrupts=[_IRQ], users=[_READER]),
    SoftirqsBelowUsers(servers=[_SERVER], users=[_READER]),
]
