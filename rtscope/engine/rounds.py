# SPDX-License-Identifier: GPL-2.0-only
"""The rounds of a placement series: each round has all measurements in a new order.

A machine's drift (clock speed, temperature, other work) then affects all cells alike, and times of
one round can be compared with each other.
"""

import math
import random
import re
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, Final

import msgspec
import numpy as np

from rtscope.model.cpulist import format_cpu_list
from rtscope.model.errors import RtscopeError
from rtscope.model.histogram import Histogram
from rtscope.model.machine import Machine
from rtscope.model.request import Request
from rtscope.model.run import Asked, Run, RunWarning, Status, Thread, Windows
from rtscope.model.scaling import CellRecord, Placement, SeriesRecord
from rtscope.statistics.metrics import as_arrays, merge
from rtscope.store.database import new_run_id

_REASONS: Final = ("thread-failed", "thread-moved", "watchdog")
"""codes of warnings that give the reason why a run has ended"""
_NOT_THERE: Final = "could not be started: No such file"
_OF_A_CELL: Final = ("form", "threads", "command")
"""options of single runs, not of the whole series"""

_CPUS: Final = re.compile(r"\bCPUs? [0-9][0-9,-]*")

RunOf = Callable[[Request], Run]
Key = tuple[str, Placement, str]


class Slot(msgspec.Struct, frozen=True):
    """One measurement of each round."""

    workload: str
    placement: Placement
    request: Request
    load: str = "idle"

    @property
    def key(self) -> Key:
        """Its identity within the series."""
        return self.workload, self.placement, self.load

    @property
    def name(self) -> str:
        """Its name: scalar, 2 threads on CPUs 0,2 with load memory."""
        cpus, threads = self.placement.cpus, self.placement.threads
        where = f"CPU{'s' if len(cpus) > 1 else ''} {format_cpu_list(cpus)}"
        beside = "" if self.load == "idle" else f" beside {self.load}"
        return f"{self.workload}, {threads} thread{'s' if threads > 1 else ''} on {where}{beside}"


class Progress(msgspec.Struct, frozen=True):
    """Callbacks for the progress of a series."""

    on_slot: Callable[[str, int, int], None] = lambda name, done, total: None
    """name of the next measurement, number of those done, number of all"""
    on_round: Callable[[Run], None] = lambda run: None
    """the record after each round but the last"""
    is_over: Callable[[], bool] = lambda: False


def begun(
    probe: str,
    machine: Machine,
    target: str,
    series: SeriesRecord,
    *,
    load: str = "idle",
    asked: Asked = Asked(),
    warnings: Sequence[RunWarning] = (),
) -> Run:
    """Return the empty record of a placement series."""
    return Run(
        id=new_run_id(),
        created=datetime.now(UTC).isoformat(timespec="microseconds"),
        probe=probe,
        status="interrupted",
        load=load,
        machine=machine,
        threads=[],
        asked=asked,
        target=target,
        placement_series=series,
        warnings=list(warnings),
    )


def measure_rounds(
    slots: Sequence[Slot],
    rounds: int,
    record: Run,
    run_of: RunOf,
    progress: Progress = Progress(),
    earlier: Run | None = None,
) -> Run:
    """Measure all slots `rounds` times; after an interruption the record has the whole rounds.

    A record that ends in the first round has the cells measured until then. With `earlier`,
    the record of these slots, only the rounds after its own are measured. A load that cannot run
    is left out, and a workload that fails ends the series, each with a warning. Raises RtscopeError
    where nothing was measured.
    """
    start_s = time.monotonic()
    warnings = {(one.code, one.text): None for one in record.warnings}
    left = list(slots)
    taken: list[dict[Key, Run]] = []
    status: Status = "complete"
    first = earlier.placement_series.rounds if earlier and earlier.placement_series else 0
    done = first * len(slots)
    whole = True

    def so_far(status: Status) -> Run:
        elapsed_ns = int((time.monotonic() - start_s) * 1e9)
        partial = _record_so_far(record, left, taken, warnings, status, elapsed_ns, earlier)
        assert partial.placement_series is not None
        series = msgspec.structs.replace(partial.placement_series, whole=whole)
        return msgspec.structs.replace(partial, placement_series=series)

    def on_slot(slot: Slot) -> None:
        nonlocal done
        progress.on_slot(slot.name, done, rounds * len(slots))
        done += 1

    for number in range(first, rounds):
        order = random.Random(number).sample(left, len(left))  # noqa: S311 - an order
        this: dict[Key, Run] = {}
        try:
            ended = _round(
                order, left, run_of, on_slot, progress.is_over, warnings, this, seed=number + 1
            )
            status = "complete" if ended else "interrupted"
        except RtscopeError as error:
            if not taken and not this and not earlier:
                raise
            shown = "those before it are" if taken or earlier else "what was measured before is"
            text = f"round {number + 1} failed, and {shown} shown: {error}"
            warnings["round-failed", text] = None
            status = "failed"
        if status != "complete":
            if not taken and this and not earlier:
                left = [slot for slot in left if slot.key in this]
                taken.append(this)
                whole = False
            break
        taken.append(this)
        if number < rounds - 1:
            progress.on_round(so_far("interrupted"))
    if not taken and not earlier:
        raise RtscopeError("interrupted before anything was measured")
    return so_far(status)


def _round(
    order: Sequence[Slot],
    left: list[Slot],
    run_of: Callable[[Request], Run],
    on_slot: Callable[[Slot], None],
    is_over: Callable[[], bool],
    warnings: dict[tuple[str, str], None],
    this: dict[Key, Run],
    *,
    seed: int,
) -> bool:
    """Put a run of each slot into `this`; return False if that was interrupted.

    `seed` is the number of the round: what loads and a machine of the lab leave to chance differs
    from round to round, as on a real one. What cannot run is no longer `left`. Raises RtscopeError
    where a workload fails, or a load that ran in the first round.
    """
    for slot in order:
        on_slot(slot)
        try:
            run = run_of(msgspec.structs.replace(slot.request, seed=seed))
        except RtscopeError as error:
            if is_over():
                return False
            if slot.load == "idle" or seed > 1:
                raise RtscopeError(f"{slot.name} could not be measured: {error}") from None
            left.remove(slot)
            text = f"{slot.load} is left out, for it cannot run here: {error}"
            warnings["load-left-out", text] = None
            continue
        if is_over() or run.status == "interrupted":
            return False
        this[slot.key] = checked(run, slot.name)
        warnings |= {(one.code, one.text): None for one in run.warnings}
    return True


def _record_so_far(
    record: Run,
    slots: Sequence[Slot],
    taken: Sequence[Mapping[Key, Run]],
    warnings: Mapping[tuple[str, str], None],
    status: Status,
    elapsed_ns: int,
    earlier: Run | None,
) -> Run:
    """Return the record with all measurements, new and earlier ones."""
    assert record.placement_series is not None
    changes: dict[str, Any] = {
        "status": status,
        "elapsed_ns": elapsed_ns + ((earlier and earlier.elapsed_ns) or 0),
        "warnings": _once(RunWarning(code, text) for code, text in warnings),
    }
    if not taken:
        return msgspec.structs.replace(record, **changes)
    before = _earlier_cells(earlier)
    cells, threads = [], []
    for number, slot in enumerate(slots):
        runs = [one[slot.key] for one in taken]
        cell, thread = before.get(slot.key, (None, None))
        medians_ns = [*(cell.medians_ns if cell else []), *map(median_ns, runs)]
        parts = [*([_part(cell, thread)] if cell and thread else []), *map(_part_of, runs)]
        cells.append(
            CellRecord(slot.workload, slot.placement, slot.load, medians_ns, _busy_cpus(parts))
        )
        threads.append(_thread(number, slot.name, runs, thread))
    first = taken[0][slots[0].key]
    options = {name: v for name, v in first.asked.options.items() if name not in _OF_A_CELL}
    if record.placement_series.program:
        options["command"] = " ".join(record.placement_series.program)
    rounds = len(taken) + (
        earlier.placement_series.rounds if earlier and earlier.placement_series else 0
    )
    return msgspec.structs.replace(
        record,
        **changes,
        threads=threads,
        placement_series=msgspec.structs.replace(
            record.placement_series, rounds=rounds, cells=cells
        ),
        asked=msgspec.structs.replace(
            record.asked, options=options, interval_ns=first.asked.interval_ns or None
        ),
        agent_version=first.agent_version,
        lab=first.lab and msgspec.structs.replace(first.lab, instructions={}),
    )


def _once(warnings: Iterable[RunWarning]) -> list[RunWarning]:
    """Return the warnings without repeats that differ only in their CPUs."""
    found: dict[tuple[str, str], RunWarning] = {}
    for one in warnings:
        key = one.code, _CPUS.sub("CPU", one.text)
        known = found.get(key)
        if known is None or len(known.text) < len(one.text):
            found[key] = one
    return list(found.values())


def _earlier_cells(earlier: Run | None) -> dict[Key, tuple[CellRecord, Thread]]:
    if earlier is None or earlier.placement_series is None:
        return {}
    pairs = zip(earlier.placement_series.cells, earlier.threads, strict=True)
    return {(cell.workload, cell.placement, cell.load): (cell, thread) for cell, thread in pairs}


def _part(cell: CellRecord, thread: Thread) -> tuple[float | None, float]:
    """CPU time and elapsed time of the earlier rounds of a cell, in ns."""
    elapsed_ns = thread.count * (thread.mean_ns or 0.0)
    return None if cell.busy_cpus is None else cell.busy_cpus * elapsed_ns, elapsed_ns


def _part_of(run: Run) -> tuple[float | None, float]:
    """CPU time and elapsed time of one round, in ns; only a program (probe exec) has the first."""
    thread = run.threads[0]
    cpu_ns = thread.metrics.get("cpu_ns")
    used_ns = None if cpu_ns is None else thread.count * cpu_ns
    return used_ns, thread.count * (thread.mean_ns or 0.0)


def _busy_cpus(parts: Sequence[tuple[float | None, float]]) -> float | None:
    """CPU time over elapsed time; None without CPU times."""
    elapsed_ns = sum(elapsed for _, elapsed in parts)
    used_ns = [used for used, _ in parts if used is not None]
    if len(used_ns) < len(parts) or not elapsed_ns:
        return None
    return sum(used_ns) / elapsed_ns


def _thread(number: int, name: str, runs: Sequence[Run], earlier: Thread | None) -> Thread:
    """Return the times of all rounds of a cell; each round is a window of them."""
    now = [run.threads[0] for run in runs]
    rounds = [*([earlier] if earlier else []), *now]
    count = np.array([one.count for one in rounds], dtype=np.float64)
    means = np.array([one.mean_ns or 0.0 for one in rounds])
    variances = np.array([(one.stddev_ns or 0.0) ** 2 for one in rounds])
    mean = float((count * means).sum() / count.sum())
    variance = float((count * (variances + (means - mean) ** 2)).sum() / count.sum())
    before = earlier.windows if earlier else Windows([], [], [], [])
    begun_ns = before.end_ns[-1] if before.end_ns else 0
    ends = begun_ns + np.cumsum([run.elapsed_ns or 0 for run in runs])
    return Thread(
        thread=number,
        cpu=None,
        policy=now[0].policy,
        priority=now[0].priority,
        count=sum(one.count for one in rounds),
        histogram=merge([one.histogram for one in rounds]),
        min_ns=min(one.min_ns or 0 for one in rounds),
        max_ns=max(one.max_ns or 0 for one in rounds),
        mean_ns=mean,
        stddev_ns=math.sqrt(variance),
        missed=sum(one.missed or 0 for one in rounds),
        name=name,
        windows=Windows(
            [*before.end_ns, *ends.tolist()],
            [*before.count, *(one.count for one in now)],
            [*before.mean_ns, *(one.mean_ns or 0.0 for one in now)],
            [*before.max_ns, *(one.max_ns or 0 for one in now)],
        ),
    )


def checked(run: Run, name: str) -> Run:
    """Return the run. Raises RtscopeError with `name` where it has no samples."""
    if run.status == "interrupted":
        raise RtscopeError("interrupted before anything was measured")
    if run.status == "complete" and run.threads and run.threads[0].count:
        return run
    reason = next((one.text for one in run.warnings if one.code in _REASONS), "")
    reason = reason.removeprefix("thread 0 could not measure on: ")
    if _NOT_THERE in reason and run.target != "local":
        reason += f": copy it to {run.target} first, and give its path there"
    raise RtscopeError(f"{name} could not be measured: {reason or run.status}")


def median_ns(run: Run) -> float:
    """Return the median of the run's times; the mean of the middle two for an even number."""
    return _median(run.threads[0].histogram)


def _median(histogram: Histogram) -> float:
    lower, last, count = as_arrays(histogram)
    reached = np.cumsum(count)
    middle = (lower + last) / 2
    ranks = (histogram.total - 1) // 2, histogram.total // 2
    return float(np.mean([middle[np.searchsorted(reached, rank, side="right")] for rank in ranks]))
