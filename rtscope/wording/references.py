# SPDX-License-Identifier: GPL-2.0-only
"""Published metrics and those of ours, in words."""

from collections.abc import Sequence

from rtscope.model.reference import Metric, Reference, Table, Value
from rtscope.model.run import Run
from rtscope.model.units import NS_PER_UNIT, format_duration_ns
from rtscope.statistics.reference import (
    Beside,
    Cell,
    Column,
    PublishedMeans,
    SamplesOfMaxima,
    column_label,
)
from rtscope.wording.plain import plain
from rtscope.wording.run import caveats
from rtscope.wording.values import time_text


def published_text(metric: Metric, value: Value) -> str:
    """A published value as printed, with its unit: "6.986 us", "about 30 us", "PASS"."""
    if value.number is None:
        return value.text
    relation = {"is": "", "about": "about ", "above": "> ", "below": "< "}[value.relation]
    unit = {"count": "", "percent": " %", "times": " ×"}.get(metric.unit, f" {metric.unit}")
    return f"{relation}{value.text.lstrip('~<>')}{unit}"


def our_text(metric: Metric, cell: Cell) -> str:
    """One of our metrics: a time with its unit, a count with separators, or a dash."""
    if cell.value is None or metric.unit in NS_PER_UNIT:
        return time_text(cell.value)
    if metric.unit == "verdict":
        return "PASS" if cell.value else "FAIL"
    return f"{cell.value:,.0f}" if cell.value % 1 == 0 else f"{cell.value:,.4g}"


def label_of(ours: Beside, number: int) -> str:
    return column_label(number) if len(ours.columns) > 1 else "here"


def column_lines(ours: Beside) -> list[str]:
    """The system and method of each column: "here: board, 6.12.1, every 1ms"."""
    return [
        f"{label_of(ours, index)}: {plain(_column_text(one))}"
        for index, one in enumerate(ours.columns)
    ]


def _column_text(column: Column) -> str:
    preemption = column.preemption and f"preemption {column.preemption}"
    known = [column.hostname, column.cpu_model, column.kernel_release, preemption]
    parts = [text for text in known if text] or ["unknown system"]
    if column.load is not None:
        parts.append(f"load {column.load}")
    if column.interval_ns is not None:
        parts.append(f"every {format_duration_ns(column.interval_ns)}")
    if column.duration_ns is not None:
        parts.append(f"for {format_duration_ns(column.duration_ns)}")
    return ", ".join([*parts, *(f"{name} {value}" for name, value in column.options)])


def caveats_of(runs: Sequence[Run], found: Sequence[Beside]) -> list[str]:
    """Whatever lessens the worth of the runs that stand in the tables, each thing once."""
    used = {run for ours in found for one in ours.filled for run in one.runs}
    return list(dict.fromkeys(text for run in runs if run.id in used for text in caveats(run)))


def citation(reference: Reference) -> str:
    """Authors: Title. Where, year."""
    year = f", {reference.year}" if reference.year else ""
    return f"{', '.join(reference.authors)}: {reference.title}. {reference.published}{year}"


def properties_of(reference: Reference) -> list[tuple[str, str]]:
    """Hardware, kernel and setup."""
    pairs = [
        ("hardware", reference.hardware),
        ("kernel", reference.kernel),
        ("setup", reference.setup),
    ]
    return [(name, text) for name, text in pairs if text]


def entry_lines(table: Table) -> list[str]:
    """What differs from the reference's machine, entry by entry."""
    lines = []
    for entry in table.entries:
        parts = [text for text in (entry.hardware, entry.kernel) if text]
        if entry.high_resolution_timers is not None:
            on = "with" if entry.high_resolution_timers else "without"
            parts.append(f"{on} high-resolution timers")
        if parts:
            lines.append(f"{entry.name}: {', '.join(parts)}")
    return lines


def beside_lines(ours: Beside) -> list[str]:
    """The conclusions from the runs and the published values, with their limits."""
    if not ours.filled:
        return []
    lines = ["Systems, kernels and loads differ, so a difference may come from any of them."]
    if not ours.matches_rows:
        lines.append("No run matches a row of this table; the runs' own rows are at the end.")
    elif ours.missing:
        lines.append(f"No run matches {'; '.join(ours.missing)}.")
    lines += map(_means_line, ours.means)
    if ours.maxima:
        lines.append(_maxima_line(ours.maxima))
    return lines


def _means_line(means: PublishedMeans) -> str:
    places = {"below": means.below, "within": means.within, "above": means.above}
    found = [f"{where} them for {'; '.join(names)}" for where, names in places.items() if names]
    return (
        f"Relative to the 95 % limits of our mean, the published {means.metric} is "
        f"{'; '.join(found)}."
    )


def _maxima_line(maxima: SamplesOfMaxima) -> str:
    theirs = (
        f"the published maxima are of {_range(maxima.published)} samples"
        if maxima.published
        else "the reference does not report the number of samples"
    )
    return (
        f"A maximum is one sample, and grows with the number of samples: {theirs}, ours are of "
        f"{_range(maxima.ours)}. Do not rank systems by them."
    )


def _range(counts: tuple[int, int]) -> str:
    low, high = counts
    return f"{low:,}" if low == high else f"{low:,} to {high:,}"
