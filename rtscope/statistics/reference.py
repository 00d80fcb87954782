# SPDX-License-Identifier: GPL-2.0-only
"""A published table compared with the runs of this store.

A run fills the entries that match its load, its threads' names, their CPUs or its cell of a plan.
Runs of one entry are merged if they differ only in settings that the table merges too, such as the
interval; otherwise each has its own column. A run without a matching entry gets a new entry. If the
rows of the table are metrics, each measurement is a new column.

Our mean has confidence limits (confidence.py). The conclusion is the position of a published mean
relative to them, because means do not depend on the number of samples. Maxima do, so for maxima
only the numbers of samples are reported: a table of other hardware under other loads decides
nothing.
"""

import math
from collections.abc import Callable, Sequence
from typing import Final

import msgspec
import numpy as np

from rtscope.model.errors import RtscopeError
from rtscope.model.loadspec import load_parts
from rtscope.model.reference import Entry, Metric, Reference, Table
from rtscope.model.run import Run, Thread
from rtscope.model.units import format_duration_ns
from rtscope.statistics import confidence
from rtscope.statistics.confidence import Interval
from rtscope.statistics.metrics import Metrics, as_arrays, metrics_of_run

_DURATIONS_DIFFER: Final = 0.1
_RULES: Final[dict[str, Callable[[list[float]], float]]] = {"sum": sum, "most": max, "least": min}


class Cell(msgspec.Struct, frozen=True):
    """One of our metrics, in nanoseconds if the published one is a time, else unchanged."""

    value: float | None
    interval: Interval = Interval(None, None)
    """of a mean"""


class Column(msgspec.Struct, frozen=True):
    """The system and method of runs; runs with equal ones can be merged."""

    hostname: str | None
    cpu_model: str | None
    kernel_release: str | None
    preemption: str | None
    load: str | None
    """if the table's entries are not loads"""
    interval_ns: int | None
    """unless the table merges intervals"""
    duration_ns: int | None
    """unless the table merges durations"""
    options: tuple[tuple[str, str], ...] = ()
    """those that differ between runs of one entry"""


class Filled(msgspec.Struct, frozen=True):
    """The measurement of one entry with one method on one system."""

    column: int
    """index into Beside.columns"""
    entry: str | None
    """the matching published entry; None if there is none"""
    name: str
    """of this entry or column: the load, and the thread if threads have names"""
    runs: list[str]
    samples: int
    cells: list[Cell]
    """one for each metric of the table"""


class PublishedMeans(msgspec.Struct, frozen=True):
    """The position of a published mean relative to the 95 % limits of ours, by row."""

    metric: str = msgspec.field(name="figure")
    below: list[str]
    within: list[str]
    above: list[str]


class SamplesOfMaxima(msgspec.Struct, frozen=True):
    """The smallest and largest number of samples of the maxima."""

    published: tuple[int, int] | None
    ours: tuple[int, int]


class Beside(msgspec.Struct, frozen=True):
    """A table and ours."""

    reference: str
    table: str
    columns: list[Column]
    filled: list[Filled]
    missing: list[str] = []
    """rows of the table without a run"""
    matches_rows: bool = True
    """whether a run fills at least one of its rows"""
    means: list[PublishedMeans] = []
    maxima: SamplesOfMaxima | None = None


def tables_beside(reference: Reference, runs: Sequence[Run]) -> list[Table]:
    """The tables comparable with one of these runs. Raises RtscopeError if there is none."""
    found = [table for table in reference.tables if any(_fits(table, run) for run in runs)]
    if not found:
        probes = sorted({table.probe for table in reference.tables if table.probe})
        measured = sorted({run.probe for run in runs})
        demands = [
            f"{table.name} for {words}"
            for table in reference.tables
            if table.probe in measured and (words := _demands(table))
        ]
        raise RtscopeError(
            f"no table of {reference.name} fits runs of {', '.join(measured) or 'no probe'}: "
            f"its tables are for the probes {', '.join(probes) or '(none)'}"
            f"{'; ' if demands else ''}{', '.join(demands)}"
        )
    return found


def _is_like(table: Table, thread: Thread) -> bool:
    """Whether an entry matches threads of that name."""
    return any(not entry.threads or thread.name in entry.threads for entry in table.entries)


def _demands(table: Table) -> str:
    """The conditions of a table on runs besides the probe, in words."""
    demands = []
    if table.seconds is not None:
        demands.append(f"runs of {format_duration_ns(round(table.seconds * 1e9))}")
    if table.isolated:
        demands.append("machines with every CPU but 0 isolated")
    return " and ".join(demands)


def _fits(table: Table, run: Run) -> bool:
    return (
        table.probe == run.probe
        and any(_is_like(table, thread) for thread in run.threads)
        and (table.seconds is None or _lasted(run, table.seconds))
        and (not table.isolated or _all_but_first_isolated(run))
    )


def _lasted(run: Run, seconds: float) -> bool:
    return abs((run.elapsed_ns or 0) / 1e9 - seconds) <= _DURATIONS_DIFFER * seconds


def _all_but_first_isolated(run: Run) -> bool:
    cpus = [cpu for cpu in run.machine.cpus if cpu.online]
    return len(cpus) > 1 and all(cpu.isolated == (cpu.number != 0) for cpu in cpus)


def beside(reference: Reference, table: Table, runs: Sequence[Run]) -> Beside:
    """The table with the runs that measured the same.

    Raises RtscopeError where a run's counts are impossible (metrics.merge).
    """
    measured = [run for run in runs if _fits(table, run)]
    column_of = _columns(table, measured)
    columns = list(dict.fromkeys(column_of))
    parts: dict[tuple[int, int, str], list[tuple[Run, list[Thread]]]] = {}
    for run, column in zip(measured, column_of, strict=True):
        for place, name, threads in _places(table, run):
            parts.setdefault((place, columns.index(column), name), []).append((run, threads))
    filled = [
        _filled(table, place, column, name, pieces)
        for (place, column, name), pieces in sorted(parts.items(), key=lambda part: part[0][:2])
    ]
    return Beside(reference.name, table.name, columns, filled, *_conclusions(table, filled))


def _columns(table: Table, runs: Sequence[Run]) -> list[Column]:
    """The column of each run."""
    keys = [_column(table, run) for run in runs]
    given: dict[tuple[Column, int, str], dict[str, set[str]]] = {}
    for run, key in zip(runs, keys, strict=True):
        for place, name, _ in _places(table, run):
            held = given.setdefault((key, place, name), {})
            for option, value in run.asked.options.items():
                held.setdefault(option, set()).add(str(value))
    differing = {
        option for held in given.values() for option, values in held.items() if len(values) > 1
    }
    return [
        msgspec.structs.replace(
            key,
            options=tuple(
                (name, str(run.asked.options[name]))
                for name in sorted(differing)
                if name in run.asked.options
            ),
        )
        for run, key in zip(runs, keys, strict=True)
    ]


def _load_is_of_column(table: Table) -> bool:
    """Whether the entries are neither loads nor columns."""
    return table.rows == "entries" and not any(entry.loads for entry in table.entries)


def _column(table: Table, run: Run) -> Column:
    machine, asked, together = run.machine, run.asked, table.together
    return Column(
        machine.hostname,
        machine.cpu_model,
        machine.kernel_release,
        machine.preemption,
        run.load if _load_is_of_column(table) else None,
        (asked.interval_ns or None) if "interval" not in together else None,
        (asked.duration_ns or None) if "duration" not in together else None,
    )


def column_label(index: int) -> str:
    """A, B, ... Z, A2, B2 ..."""
    turn, letter = divmod(index, 26)
    return chr(ord("A") + letter) + (str(turn + 1) if turn else "")


def load_stands_for(load: str, wanted: str) -> bool:
    """Whether a run has the wanted load, in any order; a kind without a strength matches any."""
    parts, needed = sorted(load_parts(load)), sorted(load_parts(wanted))
    return len(parts) == len(needed) and all(
        kind == its_kind and its_strength in ("", strength)
        for (kind, strength), (its_kind, its_strength) in zip(parts, needed, strict=True)
    )


def _places(table: Table, run: Run) -> list[tuple[int, str, list[Thread]]]:
    """The run's place: index of the entry (or their number: none), name, and its threads."""
    none = len(table.entries)
    if table.rows == "figures":
        threads = [t for t in run.threads if t.count and _is_like(table, t)]
        named: dict[str, list[Thread]] = {}
        for thread in threads:
            named.setdefault(_own_name(table, run, thread), []).append(thread)
        return [(none, name, held) for name, held in named.items()]
    found = [
        (index, entry.name, threads)
        for index, entry in enumerate(table.entries)
        if (threads := threads_like(entry, run))
    ]
    used = {thread.thread for _, _, threads in found for thread in threads}
    rest: dict[str, list[Thread]] = {}
    for thread in run.threads:
        if thread.count and thread.thread not in used:
            rest.setdefault(_own_name(table, run, thread), []).append(thread)
    return found + [(none, name, threads) for name, threads in rest.items()]


def threads_like(entry: Entry, run: Run) -> list[Thread]:
    """The threads of a run that match an entry."""
    if entry.loads and not any(load_stands_for(run.load, wanted) for wanted in entry.loads):
        return []
    if entry.cell is not None and not run.cell.startswith(f"{entry.cell}: "):
        return []
    if not (entry.loads or entry.threads or entry.cell or entry.cpu is not None):
        return []
    return [
        thread
        for thread in run.threads
        if thread.count
        and (not entry.threads or thread.name in entry.threads)
        and entry.cpu in (None, thread.cpu)
    ]


def _own_name(table: Table, run: Run, thread: Thread) -> str:
    parts = [] if _load_is_of_column(table) and thread.name else [run.load]
    if thread.name:
        parts.append(thread.name)
    if thread.cpu is not None and any(entry.cpu is not None for entry in table.entries):
        parts.append(f"CPU {thread.cpu}")
    return ", ".join(parts)


def _filled(
    table: Table, place: int, column: int, name: str, pieces: list[tuple[Run, list[Thread]]]
) -> Filled:
    threads = [thread for run, held in in_sequence(pieces) for thread in held]
    pooled = metrics_of_run(msgspec.structs.replace(pieces[0][0], threads=threads))
    return Filled(
        column,
        table.entries[place].name if place < len(table.entries) else None,
        name,
        [run.id for run, _ in pieces],
        pooled.count,
        [_cell(metric, pooled, threads) for metric in table.metrics],
    )


def in_sequence(pieces: Sequence[tuple[Run, list[Thread]]]) -> list[tuple[Run, list[Thread]]]:
    """The same threads with the windows of all runs in sequence, as if it had been one run."""
    result = []
    start_ns = 0
    for run, threads in pieces:
        moved = [
            msgspec.structs.replace(
                thread,
                windows=msgspec.structs.replace(
                    thread.windows, end_ns=[end + start_ns for end in thread.windows.end_ns]
                ),
            )
            for thread in threads
        ]
        result.append((run, moved))
        start_ns += max((t.windows.end_ns[-1] for t in threads if t.windows.end_ns), default=0)
    return result


def _cell(metric: Metric, pooled: Metrics, threads: list[Thread]) -> Cell:
    match metric.ours:
        case None:
            return Cell(None)
        case "mean":
            return _mean(pooled, threads)
        case "between":
            return Cell(float(_between(metric, threads)))
        case "threads above":
            limit = metric.from_ns or 0
            return Cell(float(sum((thread.max_ns or 0) >= limit for thread in threads)))
    plain = {
        "min": pooled.min_ns,
        "max": pooled.max_ns,
        "stddev": pooled.stddev_ns,
        "samples": pooled.count,
        "missed": pooled.missed,
    }
    if metric.ours in plain:
        return Cell(plain[metric.ours])
    rule, _, name = metric.ours.partition(" of ")
    known = [
        value
        for thread in threads
        if (value := thread.metrics.get(name)) is not None and math.isfinite(value)
    ]
    return Cell(float(_RULES[rule](known)) if known else None)


def _mean(pooled: Metrics, threads: list[Thread]) -> Cell:
    if pooled.mean_ns is None or pooled.stddev_ns is None:
        return Cell(pooled.mean_ns)
    windows = confidence.pooled_windows(threads)
    batches = confidence.batch_means(windows, pooled.stddev_ns)
    limits = confidence.mean_interval(pooled.mean_ns, pooled.stddev_ns, pooled.count, batches)
    # No latency is negative, so no mean is either.
    low = None if limits.low_ns is None else max(0.0, limits.low_ns)
    return Cell(pooled.mean_ns, msgspec.structs.replace(limits, low_ns=low))


def _between(metric: Metric, threads: list[Thread]) -> int:
    """Samples of buckets that begin within the metric's bounds."""
    count = 0
    for thread in threads:
        lower, _, counts = as_arrays(thread.histogram)
        below = metric.below_ns if metric.below_ns is not None else np.inf
        count += int(counts[(lower >= (metric.from_ns or 0)) & (lower < below)].sum())
    return count


def _conclusions(
    table: Table, filled: list[Filled]
) -> tuple[list[str], bool, list[PublishedMeans], SamplesOfMaxima | None]:
    """The last fields of Beside."""
    if not filled:
        return [], True, [], None
    missing, means = [], []
    if table.rows == "entries":
        names = {one.entry for one in filled}
        missing = [entry.name for entry in table.entries if entry.name not in names]
        means = _published_means(table, filled, {entry.name: entry for entry in table.entries})
    has_maxima = any(metric.ours == "max" for metric in table.metrics)
    maxima = _samples_of_maxima(table, filled) if has_maxima else None
    return missing, len(missing) < len(table.entries), means, maxima


def _published_means(
    table: Table, filled: list[Filled], entries: dict[str, Entry]
) -> list[PublishedMeans]:
    several = len({one.column for one in filled}) > 1
    found = []
    for place, metric in enumerate(table.metrics):
        if metric.ours != "mean":
            continue
        means = PublishedMeans(metric.name, [], [], [])
        for one in filled:
            published = metric.ns(entries[one.entry].values[place]) if one.entry else None
            low, high = one.cells[place].interval.low_ns, one.cells[place].interval.high_ns
            if published is None or low is None or high is None:
                continue
            lies = (
                means.below
                if published < low
                else means.above
                if published > high
                else means.within
            )
            lies.append(f"{one.name} ({column_label(one.column)})" if several else one.name)
        if means.below or means.within or means.above:
            found.append(means)
    return found


def _samples_of_maxima(table: Table, filled: list[Filled]) -> SamplesOfMaxima:
    published = [entry.samples for entry in table.entries if entry.samples]
    ours = [one.samples for one in filled]
    known = (min(published), max(published)) if published else None
    return SamplesOfMaxima(known, (min(ours), max(ours)))
