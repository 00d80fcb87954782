# SPDX-License-Identifier: GPL-2.0-only
"""What the probe memory found: caches that show, bandwidths, and who disturbs whom.

A cache shows as a rise of a load's time over the size of the working set: neighbouring sizes of
which each is at least STEP times slower than the one before, RISE times together. The cache ends
before the steepest step.
"""

import math
import re
from itertools import pairwise
from typing import Final

from rtscope.model.machine import Machine
from rtscope.model.run import Matrix, Run
from rtscope.statistics.finding import Finding
from rtscope.statistics.sharing import unmeasured
from rtscope.statistics.slowed import SHARED, Slowed, slowed, spread, too_few

STEP: Final = 1.08
RISE: Final = 1.3
AGREE: Final = (0.5, 1.5)
"""of the size that the kernel says, where a cache may show to be what it says"""
_MOST_NAMED: Final = 4
_SIZE: Final = re.compile(r"[1-9][0-9]{0,15}")

Cell = tuple[int, int]
"""a column and a row of a matrix"""


def sizes_of(matrix: Matrix) -> list[int]:
    """Working sets in bytes, ascending, where those are the columns; else empty."""
    if not matrix.columns or not all(map(_SIZE.fullmatch, matrix.columns)):
        return []
    sizes = [int(column) for column in matrix.columns]
    return sizes if all(low < high for low, high in pairwise(sizes)) else []


def knees(sizes: list[int], times_ns: list[float]) -> list[int]:
    """Sizes in bytes of the caches that show in the times of loads, ascending."""
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
    """What the run found, in sentences."""
    matrices = {matrix.name: matrix for matrix in run.matrices}
    cpus = sorted({thread.cpu for thread in run.threads if thread.cpu is not None})
    return [
        *_disturbances(matrices.get("disturbance"), cpus),
        *_caches(run, matrices.get("latency")),
        *_rates(run, matrices),
        *_partitions(run, matrices),
        *unmeasured(run.machine, cpus),
    ]


def size_text(size: float) -> str:
    """48 KiB, 2 MiB, 1.5 MiB."""
    for scale, unit in ((1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB")):
        if size >= scale:
            return f"{size / scale:.4g} {unit}"
    return f"{size:g} B"


def _curve(matrix: Matrix | None, row: int) -> dict[int, float]:
    """Figures by size of the working set."""
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
    """Sizes in bytes of the caches that show in the loads of the first CPU, ascending."""
    curve = _curve(next((one for one in run.matrices if one.name == "latency"), None), 0)
    return knees(list(curve), list(curve.values()))


def _caches(run: Run, latency: Matrix | None) -> list[Finding]:
    curve = _curve(latency, 0)
    if not curve:
        return []
    left = seen_caches(run)
    said = {level: size for level, size in reported_caches(run).items() if size < max(curve)}
    same: list[str] = []
    found: list[Finding] = []
    for level, size in said.items():
        if not left:
            text = f"the L{level} cache of {size_text(size)} does not show in the times of loads"
            found.append(_against_the_kernel(run.machine, text))
            continue
        seen = min(left, key=lambda knee: abs(math.log(knee / size)))
        left = [knee for knee in left if knee > seen]
        if AGREE[0] <= seen / size <= AGREE[1]:
            same.append(f"L{level} at {size_text(seen)} of {size_text(size)}")
        else:
            found.append(_other_size(run.machine, level, size, seen))
    if same:
        found.append(Finding(f"caches show where the kernel says: {', '.join(same)}"))
    found += [
        Finding(
            f"loads slow down beyond {size_text(knee)} too, where the kernel knows of no cache",
            disagrees=True,
        )
        for knee in left
    ]
    return found


def _other_size(machine: Machine, level: int, size: int, seen: int) -> Finding:
    text = (
        f"the kernel says that the L{level} cache has {size_text(size)}, but loads slow down "
        f"beyond {size_text(seen)}"
    )
    return _against_the_kernel(machine, text)


def _against_the_kernel(machine: Machine, text: str) -> Finding:
    """A disagreement, unless a virtual machine's kernel cannot know better."""
    if machine.is_virtual:
        return Finding(f"{text}: a virtual machine has of its host's caches what others leave")
    return Finding(text, disagrees=True)


def _rates(run: Run, matrices: dict[str, Matrix]) -> list[Finding]:
    """What memory itself does: the largest set, where no cache holds that."""
    last = {
        name: [_last(matrices.get(name), row) for row in (0, -1)]
        for name in ("latency", "read", "write", "copy")
    }
    (load, _), (read, read_all) = last["latency"], last["read"]
    (write, _), (copy, _) = last["write"], last["copy"]
    if load is None or read is None or write is None or copy is None:
        return []
    huge = run.asked.options.get("huge_page_bytes")
    pages = f" in huge pages of {size_text(huge)}" if isinstance(huge, int) and huge else ""
    largest = max(_curve(matrices.get("latency"), 0))
    level, size = max(reported_caches(run).items(), default=(0, 0))
    where = (
        f"from {size_text(largest)}, the largest set, which is not larger than the L{level} cache,"
        if largest <= size
        else "from memory"
    )
    found = [
        Finding(
            f"{where}{pages} a load takes {load:.3g} ns; one CPU reads {read / 1e9:.3g} GB/s, "
            f"writes {write / 1e9:.3g} GB/s and copies {copy / 1e9:.3g} GB/s"
        )
    ]
    rows = matrices["read"].rows
    if len(rows) > 1 and read_all and read:
        found.append(
            Finding(
                f"{rows[-1]} together read {read_all / 1e9:.3g} GB/s, {read_all / read:.2f} times "
                "as much as one"
            )
        )
    return found


def _last(matrix: Matrix | None, row: int) -> float | None:
    curve = _curve(matrix, row)
    return curve[max(curve)] if curve else None


def _disturbances(matrix: Matrix | None, cpus: list[int]) -> list[Finding]:
    if matrix is None:
        return [Finding(f"CPU {cpus[0]} was measured alone: none could disturb it")] if cpus else []
    medians, repeats = _cells(matrix)
    if few := too_few(repeats.values()):
        return [few]
    disturbed = slowed(repeats, dict.fromkeys(repeats, SHARED))
    found: list[tuple[float, str]] = []
    for column, aggressor in enumerate(matrix.columns):
        victims = {row: is_so for (at, row), is_so in disturbed.items() if at == column}
        slow = [row for row, is_so in victims.items() if is_so is Slowed.YES]
        at_times = [row for row, is_so in victims.items() if is_so is Slowed.CHANGING]
        told = [
            f"from {_held_in(matrix.rows[row])} {medians[column, row]:.2f} times as long"
            for row in slow
        ]
        for row in at_times:
            low, high = spread(repeats[column, row])
            place = _held_in(matrix.rows[row])
            told.append(f"from {place} {low:.2f} to {high:.2f} times, which changes")
        if told:
            worst = max(medians[column, row] for row in slow + at_times)
            text = f"{aggressor} on the other CPUs slow loads of the first: {', '.join(told)}"
            found.append((worst, text))
    if all(is_so is Slowed.NO for is_so in disturbed.values()):
        return [Finding("nothing that the other CPUs did slowed loads of the first by a tenth")]
    unknown = [cell for cell, is_so in disturbed.items() if is_so is Slowed.UNKNOWN]
    which = [f"{matrix.columns[at]} from {_held_in(matrix.rows[row])}" for at, row in unknown]
    left = f"{len(unknown)} of {len(disturbed)} disturbances cannot be told"
    left += f" ({', '.join(which)})" if len(which) <= _MOST_NAMED else ""
    return [Finding(text) for _, text in sorted(found, reverse=True)] + [
        Finding(f"{left}; more --samples may tell")
    ] * bool(unknown)


def _held_in(victim: str) -> str:
    """Where the victim's loads are answered from, as a sentence has it."""
    return "an eighth of L3" if victim == "L3/8" else victim


def _cells(matrix: Matrix) -> tuple[dict[Cell, float], dict[Cell, list[float]]]:
    """The medians and the repeats of what was measured, by column and row."""
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
    """What half of the caches for the first CPU and half for the others changed."""
    (before, all_before), (after, all_after) = _cells(without), _cells(halved)
    gains = {
        cell: [a / b for a, b in zip(all_before[cell], all_after[cell], strict=False) if a and b]
        for cell in all_after
        if cell in all_before
    }
    if not gains or too_few(gains.values()):
        return [Finding("what partitions of the caches change cannot be told: too few repeats")]
    limits = dict.fromkeys(gains, SHARED)
    helped = slowed(gains, limits)
    cost = slowed({cell: [1 / gain for gain in gains[cell]] for cell in gains}, limits)
    found = [
        Finding(
            f"half of the caches for the first CPU and half for the others {verb} "
            f"{halved.columns[column]}: its loads from {halved.rows[row]} take "
            f"{after[column, row]:.2f} times as long instead of {before[column, row]:.2f}"
        )
        for verb, changed in (("help against", helped), ("cost beside", cost))
        for (column, row), is_so in changed.items()
        if is_so is Slowed.YES
    ]
    if found:
        return found
    if all(one is Slowed.NO for one in (*helped.values(), *cost.values())):
        return [Finding("half of the caches for each side changes no slowdown by a tenth")]
    return [Finding("what partitions of the caches change cannot be told; --samples may tell")]


def _partitions(run: Run, matrices: dict[str, Matrix]) -> list[Finding]:
    offered = run.asked.options.get("resctrl")
    if offered is None:
        return []
    if not offered:
        return [Finding("caches cannot be partitioned here: the kernel offers no resctrl")]
    caches = [
        f"the L{level} cache by {ways} ways into {run.asked.options.get(f'{key}_groups', 'some')} "
        "groups"
        for level in (3, 2)
        if (ways := run.asked.options.get(f"{(key := f'resctrl_l{level}')}_ways"))
    ]
    if step := run.asked.options.get("resctrl_bandwidth_step_percent"):
        caches.append(f"the bandwidth of memory in steps of {step} %")
    if not caches:
        return [
            Finding(
                "whether caches can be partitioned here is told once resctrl is mounted: "
                "mount -t resctrl resctrl /sys/fs/resctrl"
            )
        ]
    offer = f"resctrl can partition {', '.join(caches)}"
    if "partitioned" not in matrices or "disturbance" not in matrices:
        return [Finding(f"{offer}; this was measured without")]
    return [*_halves(matrices["disturbance"], matrices["partitioned"]), Finding(offer)]
