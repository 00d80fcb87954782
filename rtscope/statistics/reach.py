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
from rtscope.statistics.sharing import SHARED, unmeasured

STEP: Final = 1.08
RISE: Final = 1.3
AGREE: Final = (0.5, 1.5)
"""of the size that the kernel says, where a cache may show to be what it says"""
_SIZE: Final = re.compile(r"[1-9][0-9]{0,15}")


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
        *_caches(run.machine, matrices.get("latency")),
        *_rates(matrices),
        *_partitions(run),
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


def reported_caches(machine: Machine) -> dict[int, int]:
    """Level and size in bytes of the first CPU's data caches."""
    found: dict[int, int] = {}
    for cache in machine.caches:
        if cache.kind != "instruction" and cache.size_bytes > 0:
            found.setdefault(cache.level, cache.size_bytes)
    return dict(sorted(found.items()))


def _caches(machine: Machine, latency: Matrix | None) -> list[Finding]:
    curve = _curve(latency, 0)
    if not curve:
        return []
    left = knees(list(curve), list(curve.values()))
    said = {level: size for level, size in reported_caches(machine).items() if size < max(curve)}
    same: list[str] = []
    found: list[Finding] = []
    for level, size in said.items():
        if not left:
            text = f"the L{level} cache of {size_text(size)} does not show in the times of loads"
            found.append(Finding(text, disagrees=True))
            continue
        seen = min(left, key=lambda knee: abs(math.log(knee / size)))
        left = [knee for knee in left if knee > seen]
        if AGREE[0] <= seen / size <= AGREE[1]:
            same.append(f"L{level} at {size_text(seen)} of {size_text(size)}")
        else:
            found.append(_other_size(machine, level, size, seen))
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
    if machine.virtualisation not in (None, "none"):
        return Finding(f"{text}: a virtual machine has of its host's caches what others leave")
    return Finding(text, disagrees=True)


def _rates(matrices: dict[str, Matrix]) -> list[Finding]:
    """What memory itself does: the largest set."""
    last = {
        name: [_last(matrices.get(name), row) for row in (0, -1)]
        for name in ("latency", "read", "write", "copy")
    }
    (load, _), (read, read_all) = last["latency"], last["read"]
    (write, _), (copy, _) = last["write"], last["copy"]
    if load is None or read is None or write is None or copy is None:
        return []
    found = [
        Finding(
            f"from memory a load takes {load:.3g} ns; one CPU reads {read / 1e9:.3g} GB/s, writes "
            f"{write / 1e9:.3g} GB/s and copies {copy / 1e9:.3g} GB/s"
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
    found: list[tuple[float, str]] = []
    for column, aggressor in enumerate(matrix.columns):
        slow = {
            victim: value
            for victim, values, lows in zip(matrix.rows, matrix.value, matrix.low, strict=True)
            if (value := values[column]) is not None and (low := lows[column]) and low > SHARED
        }
        if slow:
            worst = max(slow.values())
            told = ", ".join(f"{victim} {value:.2f} times" for victim, value in slow.items())
            found.append((worst, f"{aggressor} on the other CPUs slow loads of the first: {told}"))
    quiet = [value for row in matrix.high for value in row if value is not None]
    if not found and quiet and max(quiet) < SHARED:
        return [Finding("nothing that the other CPUs did slowed loads of the first by a tenth")]
    return [Finding(text) for _, text in sorted(found, reverse=True)]


def _partitions(run: Run) -> list[Finding]:
    offered = run.asked.options.get("resctrl")
    if offered is None:
        return []
    if offered:
        return [Finding("resctrl can partition the caches here; this was measured without")]
    return [Finding("caches cannot be partitioned here: the kernel offers no /sys/fs/resctrl")]
