# SPDX-License-Identifier: GPL-2.0-only
"""Findings of the probe memory: the caches' sizes, bandwidths, and disturbances between CPUs.

A cache shows as a rise of a load's time over the size of the working set: neighbouring sizes of
which each is at least STEP times slower than the one before, RISE times together. The cache ends
before the steepest step.
"""

import math
import re
from itertools import pairwise
from typing import Final

from rtscope.model.finding import (
    CacheNotAsReported,
    CacheNotReported,
    CachePartition,
    CachesAsReported,
    CacheSize,
    Disturbance,
    DisturbancesUndecided,
    Finding,
    MemorySpeed,
    MemoryTogether,
    NoDisturbance,
    OnlyCpu,
    PartitionChanges,
    PartitionChangesNothing,
    Partitioning,
    PartitionUndecided,
    Range,
    Victim,
)
from rtscope.model.machine import Machine
from rtscope.model.run import Matrix, Run
from rtscope.statistics.sharing import unmeasured
from rtscope.statistics.slowed import SHARED, Slowed, slowed, spread, too_few

STEP: Final = 1.08
RISE: Final = 1.3
AGREE: Final = (0.5, 1.5)
"""range, relative to the reported size, in which a measured size confirms it"""
_SIZE: Final = re.compile(r"[1-9][0-9]{0,15}")

Cell = tuple[int, int]
"""a column and a row of a matrix"""


def sizes_of(matrix: Matrix) -> list[int]:
    """Working sets in bytes, ascending, if they are the columns; else empty."""
    if not matrix.columns or not all(map(_SIZE.fullmatch, matrix.columns)):
        return []
    sizes = [int(column) for column in matrix.columns]
    return sizes if all(low < high for low, high in pairwise(sizes)) else []


def knees(sizes: list[int], times_ns: list[float]) -> list[int]:
    """Sizes in bytes of the caches visible in the times of loads, ascending."""
    found = []
    rise: list[tuple[float, int]] = []
    for index, (before, after) in enumerate([*pairwise(times_ns), (1.0, 0.0)]):
        if before > 0 and after / before >= STEP:
            rise.append((after / before, sizes[index]))
            continue
        if math.prod(step for step, _ in rise) >= RISE:
            found.append(max(rise)[1])
        rise = []
    return found


def reach(run: Run) -> list[Finding]:
    """The run's findings, disturbances first."""
    matrices = {matrix.name: matrix for matrix in run.matrices}
    cpus = sorted({thread.cpu for thread in run.threads if thread.cpu is not None})
    return [
        *_disturbances(run, matrices.get("disturbance"), cpus),
        *_caches(run, matrices.get("latency")),
        *_rates(run, matrices),
        *_partitions(run, matrices),
        *unmeasured(run.machine, cpus),
    ]


def _curve(matrix: Matrix | None, row: int) -> dict[int, float]:
    """Values by size of the working set."""
    if matrix is None or not -len(matrix.rows) <= row < len(matrix.rows):
        return {}
    found = zip(sizes_of(matrix), matrix.value[row], strict=False)
    return {size: value for size, value in found if value is not None}


def reported_caches(run: Run) -> dict[int, int]:
    """Level and size in bytes of the first measured CPU's data caches."""
    first = min((thread.cpu for thread in run.threads if thread.cpu is not None), default=None)
    known = [c for c in run.machine.caches if c.kind != "instruction" and c.size_bytes > 0]
    found: dict[int, int] = {}
    for cache in [cache for cache in known if first in cache.shared_by] or known:
        found.setdefault(cache.level, cache.size_bytes)
    return dict(sorted(found.items()))


def seen_caches(run: Run) -> list[int]:
    """Sizes in bytes of the caches visible in the loads of the first CPU, ascending."""
    curve = _curve(next((one for one in run.matrices if one.name == "latency"), None), 0)
    return knees(list(curve), list(curve.values()))


def _caches(run: Run, latency: Matrix | None) -> list[Finding]:
    curve = _curve(latency, 0)
    if not curve:
        return []
    left = seen_caches(run)
    said = {level: size for level, size in reported_caches(run).items() if size < max(curve)}
    same: list[CacheSize] = []
    found: list[Finding] = []
    for level, size in said.items():
        seen = min(left, key=lambda knee: abs(math.log(knee / size)), default=None)
        cache = CacheSize(level, size, seen)
        if seen is None:
            found.append(_against_the_kernel(run.machine, cache))
            continue
        left = [knee for knee in left if knee > seen]
        if AGREE[0] <= seen / size <= AGREE[1]:
            same.append(cache)
        else:
            found.append(_against_the_kernel(run.machine, cache))
    if same:
        found.append(CachesAsReported(caches=same))
    found += [CacheNotReported(seen_bytes=knee, severity="unexpected") for knee in left]
    return found


def _against_the_kernel(machine: Machine, cache: CacheSize) -> Finding:
    """Unexpected, except in a VM, whose kernel cannot know the hardware."""
    virtual = machine.is_virtual
    return CacheNotAsReported(
        cache=cache, virtual=virtual, severity="info" if virtual else "unexpected"
    )


def _rates(run: Run, matrices: dict[str, Matrix]) -> list[Finding]:
    """The time of memory itself: the largest working set, if no cache holds it."""
    last = {
        name: [_last(matrices.get(name), row) for row in (0, -1)]
        for name in ("latency", "read", "write", "copy")
    }
    (load, _), (read, read_all) = last["latency"], last["read"]
    (write, _), (copy, _) = last["write"], last["copy"]
    if load is None or read is None or write is None or copy is None:
        return []
    huge = run.asked.options.get("huge_page_bytes")
    largest = max(_curve(matrices.get("latency"), 0))
    level, size = max(reported_caches(run).items(), default=(0, 0))
    is_cached = largest <= size
    found: list[Finding] = [
        MemorySpeed(
            load_ns=load,
            read_bytes_per_s=read,
            write_bytes_per_s=write,
            copy_bytes_per_s=copy,
            huge_page_bytes=huge if isinstance(huge, int) else 0,
            cached_bytes=largest if is_cached else None,
            cache_level=level if is_cached else None,
        )
    ]
    rows = matrices["read"].rows
    if len(rows) > 1 and read_all and read:
        times = read_all / read
        found.append(MemoryTogether(readers=rows[-1], read_bytes_per_s=read_all, times=times))
    return found


def _last(matrix: Matrix | None, row: int) -> float | None:
    curve = _curve(matrix, row)
    return curve[max(curve)] if curve else None


def _disturbances(run: Run, matrix: Matrix | None, cpus: list[int]) -> list[Finding]:
    if matrix is None:
        return [OnlyCpu(cpu=cpus[0], has_others=len(run.machine.cpus) > 1)] if cpus else []
    medians, repeats = _cells(matrix)
    if few := too_few(repeats.values()):
        return [few]
    disturbed = slowed(repeats, dict.fromkeys(repeats, SHARED))
    if all(is_so is Slowed.NO for is_so in disturbed.values()):
        return [NoDisturbance()]
    found: list[tuple[float, Finding]] = []
    for column, work in enumerate(matrix.columns):
        of_work = {row: is_so for (at, row), is_so in disturbed.items() if at == column}
        slow = [row for row, is_so in of_work.items() if is_so is Slowed.YES]
        changing = [row for row, is_so in of_work.items() if is_so is Slowed.CHANGING]
        victims = [
            Victim(matrix.rows[row], Range(medians[column, row], medians[column, row]))
            for row in slow
        ]
        victims += [
            Victim(matrix.rows[row], Range(*spread(repeats[column, row])), changing=True)
            for row in changing
        ]
        if victims:
            worst = max(medians[column, row] for row in slow + changing)
            found.append((worst, Disturbance(work=work, victims=victims)))
    unknown = [
        (matrix.columns[at], matrix.rows[row])
        for (at, row), is_so in disturbed.items()
        if is_so is Slowed.UNKNOWN
    ]
    left = DisturbancesUndecided(pairs=unknown, of=len(disturbed), severity="undecided")
    found.sort(key=lambda one: -one[0])
    return [one for _, one in found] + [left] * bool(unknown)


def _cells(matrix: Matrix) -> tuple[dict[Cell, float], dict[Cell, list[float]]]:
    """The measured medians and repeats, by column and row."""
    medians = {
        (column, row): value
        for row, values in enumerate(matrix.value)
        for column, value in enumerate(values)
        if value is not None
    }
    repeats = {
        (column, row): matrix.repeats[row][column] if matrix.repeats else []
        for column, row in medians
    }
    return medians, repeats


def _halves(without: Matrix, halved: Matrix) -> list[Finding]:
    """Disturbances that change with half of the caches for each side."""
    (before, all_before), (after, all_after) = _cells(without), _cells(halved)
    gains = {
        cell: [a / b for a, b in zip(all_before[cell], all_after[cell], strict=False) if a and b]
        for cell in all_after
        if cell in all_before
    }
    undecided = PartitionUndecided(severity="undecided")
    if not gains or too_few(gains.values()):
        return [undecided]
    limits = dict.fromkeys(gains, SHARED)
    helped = slowed(gains, limits)
    cost = slowed({cell: [1 / gain for gain in gains[cell]] for cell in gains}, limits)
    found: list[Finding] = [
        PartitionChanges(
            helps=changed is helped,
            work=halved.columns[column],
            level=halved.rows[row],
            before=before[column, row],
            after=after[column, row],
        )
        for changed in (helped, cost)
        for (column, row), is_so in changed.items()
        if is_so is Slowed.YES
    ]
    if found:
        return found
    if all(one is Slowed.NO for one in (*helped.values(), *cost.values())):
        return [PartitionChangesNothing()]
    return [undecided]


def _partitions(run: Run, matrices: dict[str, Matrix]) -> list[Finding]:
    options = run.asked.options
    if "resctrl" not in options:
        return []
    if not options["resctrl"]:
        return [Partitioning(state="unsupported")]
    caches = [
        CachePartition(level, ways, groups)
        for level in (3, 2)
        if (ways := _number(run, f"resctrl_l{level}_ways"))
        for groups in [_number(run, f"resctrl_l{level}_groups")]
    ]
    step = _number(run, "resctrl_bandwidth_step_percent") or 0
    if not caches and not step:
        return [Partitioning(state="not mounted")]
    is_used = "partitioned" in matrices and "disturbance" in matrices
    offer = Partitioning(
        state="used" if is_used else "unused", caches=caches, bandwidth_step_percent=step
    )
    if not is_used:
        return [offer]
    return [*_halves(matrices["disturbance"], matrices["partitioned"]), offer]


def _number(run: Run, option: str) -> int | None:
    value = run.asked.options.get(option)
    return value if isinstance(value, int) else None
