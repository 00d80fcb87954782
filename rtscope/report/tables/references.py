# SPDX-License-Identifier: GPL-2.0-only
"""A published table, alone or with the columns of runs."""

import textwrap

from rtscope.model.reference import Entry, Metric, Table
from rtscope.report.tables.column import Column
from rtscope.statistics.reference import Beside, Filled
from rtscope.wording.plain import plain
from rtscope.wording.references import label_of, our_text, published_text
from rtscope.wording.values import NOTHING, count_text, time_text

_TITLE_WIDTH = 16


def published_columns(table: Table) -> list[Column]:
    """The table alone."""
    if table.rows == "figures":
        return [
            Column("", 0, [metric.name for metric in table.metrics], left=True),
            *(_entry_column(table, entry, 1 + place) for place, entry in enumerate(table.entries)),
        ]
    columns = [Column("", 0, [entry.name for entry in table.entries], left=True)]
    for place, metric in enumerate(table.metrics):
        cells = [published_text(metric, entry.values[place]) for entry in table.entries]
        columns.append(Column(_wrapped(metric.name), 1 + place, [*cells]))
    if any(entry.samples for entry in table.entries):
        columns.append(Column("samples", 90, [count_text(e.samples) for e in table.entries]))
    if any(entry.note for entry in table.entries):
        columns.append(Column("note", 91, [entry.note for entry in table.entries], left=True))
    return columns


def _entry_column(table: Table, entry: Entry, rank: int) -> Column:
    pairs = zip(table.metrics, entry.values, strict=True)
    return Column(_wrapped(entry.name), rank, [published_text(f, v) for f, v in pairs])


def _wrapped(title: str) -> str:
    return "\n".join(textwrap.wrap(title, _TITLE_WIDTH, break_long_words=False))


def columns_beside(table: Table, ours: Beside) -> list[Column]:
    """The published columns followed by ours."""
    return _metrics_below(table, ours) if table.rows == "figures" else _entries_below(table, ours)


def _metrics_below(table: Table, ours: Beside) -> list[Column]:
    samples = ["samples"] if ours.filled else []
    columns = [Column("", 0, [*(metric.name for metric in table.metrics), *samples], left=True)]
    for place, entry in enumerate(table.entries):
        column = _entry_column(table, entry, 2 + 2 * place)
        columns.append(
            Column(column.title, column.rank, [*column.cells, count_text(entry.samples)])
        )
    for place, one in enumerate(ours.filled):
        title = f"{label_of(ours, one.column)}:\n{_wrapped(plain(one.name))}"
        cells = [our_text(f, cell) for f, cell in zip(table.metrics, one.cells, strict=True)]
        columns.append(Column(title, 1 + 2 * place, [*cells, count_text(one.samples)]))
    return columns


def _entries_below(table: Table, ours: Beside) -> list[Column]:
    own = list(dict.fromkeys(one.name for one in ours.filled if one.entry is None))
    by_place = {(one.column, one.entry, one.name): one for one in ours.filled}
    keys = [(entry.name, entry.name) for entry in table.entries] + [(None, name) for name in own]
    columns = [Column("", 0, [plain(name) for _, name in keys], left=True)]
    numbers = range(len(ours.columns))
    for place, metric in enumerate(table.metrics):
        cells = [published_text(metric, entry.values[place]) for entry in table.entries]
        columns.append(Column(_wrapped(metric.name), 2 + 2 * place, [*cells, *("" for _ in own)]))
        if metric.ours is None:
            continue
        for number in numbers:
            held = [by_place.get((number, *key)) for key in keys]
            title = f"{_wrapped(metric.name)}\n{label_of(ours, number)}"
            columns.append(
                Column(title, 1 + 2 * place, [_ours(metric, one, place) for one in held])
            )
            if metric.ours == "mean":
                limits = [_limits(one, place) for one in held]
                columns.append(Column(f"95 % limits\n{label_of(ours, number)}", 80, [*limits]))
    if any(entry.samples for entry in table.entries):
        counts = [count_text(entry.samples) for entry in table.entries]
        columns.append(Column("samples", 82, [*counts, *("" for _ in own)]))
    for number in numbers:
        held = [by_place.get((number, *key)) for key in keys]
        counts = ["" if one is None else count_text(one.samples) for one in held]
        columns.append(Column(f"samples\n{label_of(ours, number)}", 81, [*counts]))
    return columns


def _ours(metric: Metric, one: Filled | None, place: int) -> str:
    return "no run" if one is None else our_text(metric, one.cells[place])


def _limits(one: Filled | None, place: int) -> str:
    interval = one.cells[place].interval if one else None
    if interval is None or interval.low_ns is None or interval.high_ns is None:
        return NOTHING if one else ""
    return f"{time_text(interval.low_ns)} … {time_text(interval.high_ns)}"
