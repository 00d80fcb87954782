# SPDX-License-Identifier: GPL-2.0-only
"""References as people read them: a published table, and ours beside it."""

import textwrap
from collections.abc import Sequence

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.text import Text

from rtscope.model.reference import Entry, Figure, Reference, Table, Value
from rtscope.model.run import Run
from rtscope.model.units import NS_PER_UNIT
from rtscope.report.columns import Column, FittedTable, PiecedTable
from rtscope.report.words import NOTHING, count_text, doubts, plain, time_text
from rtscope.statistics.reference import Beside, Cell, Filled, column_label

_TITLE_WIDTH = 16


def published_text(figure: Figure, value: Value) -> str:
    """A published value as printed, with its unit: "6.986 us", "about 30 us", "PASS"."""
    if value.number is None:
        return value.text
    relation = {"is": "", "about": "about ", "above": "> ", "below": "< "}[value.relation]
    unit = {"count": "", "percent": " %", "times": " ×"}.get(figure.unit, f" {figure.unit}")
    return f"{relation}{value.text.lstrip('~<>')}{unit}"


def our_text(figure: Figure, cell: Cell) -> str:
    """One of our figures: a time with its unit, a count with separators, or a dash."""
    if cell.value is None or figure.unit in NS_PER_UNIT:
        return time_text(cell.value)
    if figure.unit == "verdict":
        return "PASS" if cell.value else "FAIL"
    return f"{cell.value:,.0f}" if cell.value % 1 == 0 else f"{cell.value:,.4g}"


def published_columns(table: Table) -> list[Column]:
    """The table alone."""
    if table.rows == "figures":
        return [
            Column("", 0, [figure.name for figure in table.figures], left=True),
            *(_entry_column(table, entry, 1 + place) for place, entry in enumerate(table.entries)),
        ]
    columns = [Column("", 0, [entry.name for entry in table.entries], left=True)]
    for place, figure in enumerate(table.figures):
        cells = [published_text(figure, entry.values[place]) for entry in table.entries]
        columns.append(Column(_wrapped(figure.name), 1 + place, [*cells]))
    if any(entry.samples for entry in table.entries):
        columns.append(Column("samples", 90, [count_text(e.samples) for e in table.entries]))
    if any(entry.note for entry in table.entries):
        columns.append(Column("note", 91, [entry.note for entry in table.entries], left=True))
    return columns


def _entry_column(table: Table, entry: Entry, rank: int) -> Column:
    pairs = zip(table.figures, entry.values, strict=True)
    return Column(_wrapped(entry.name), rank, [published_text(f, v) for f, v in pairs])


def _wrapped(title: str) -> str:
    return "\n".join(textwrap.wrap(title, _TITLE_WIDTH, break_long_words=False))


def columns_beside(table: Table, ours: Beside) -> list[Column]:
    """The table with our columns beside the published ones."""
    return _figures_below(table, ours) if table.rows == "figures" else _entries_below(table, ours)


def _figures_below(table: Table, ours: Beside) -> list[Column]:
    samples = ["samples"] if ours.filled else []
    columns = [Column("", 0, [*(figure.name for figure in table.figures), *samples], left=True)]
    for place, entry in enumerate(table.entries):
        column = _entry_column(table, entry, 2 + 2 * place)
        columns.append(
            Column(column.title, column.rank, [*column.cells, count_text(entry.samples)])
        )
    for place, one in enumerate(ours.filled):
        title = f"{_label(ours, one.column)}:\n{_wrapped(plain(one.name))}"
        cells = [our_text(f, cell) for f, cell in zip(table.figures, one.cells, strict=True)]
        columns.append(Column(title, 1 + 2 * place, [*cells, count_text(one.samples)]))
    return columns


def _entries_below(table: Table, ours: Beside) -> list[Column]:
    own = list(dict.fromkeys(one.name for one in ours.filled if one.entry is None))
    by_place = {(one.column, one.entry, one.name): one for one in ours.filled}
    keys = [(entry.name, entry.name) for entry in table.entries] + [(None, name) for name in own]
    columns = [Column("", 0, [plain(name) for _, name in keys], left=True)]
    numbers = range(len(ours.columns))
    for place, figure in enumerate(table.figures):
        cells = [published_text(figure, entry.values[place]) for entry in table.entries]
        columns.append(Column(_wrapped(figure.name), 2 + 2 * place, [*cells, *("" for _ in own)]))
        if figure.ours is None:
            continue
        for number in numbers:
            held = [by_place.get((number, *key)) for key in keys]
            title = f"{_wrapped(figure.name)}\n{_label(ours, number)}"
            columns.append(
                Column(title, 1 + 2 * place, [_ours(figure, one, place) for one in held])
            )
            if figure.ours == "mean":
                limits = [_limits(one, place) for one in held]
                columns.append(Column(f"95 % limits\n{_label(ours, number)}", 80, [*limits]))
    if any(entry.samples for entry in table.entries):
        counts = [count_text(entry.samples) for entry in table.entries]
        columns.append(Column("samples", 82, [*counts, *("" for _ in own)]))
    for number in numbers:
        held = [by_place.get((number, *key)) for key in keys]
        counts = ["" if one is None else count_text(one.samples) for one in held]
        columns.append(Column(f"samples\n{_label(ours, number)}", 81, [*counts]))
    return columns


def _label(ours: Beside, number: int) -> str:
    return column_label(number) if len(ours.columns) > 1 else "here"


def _ours(figure: Figure, one: Filled | None, place: int) -> str:
    return "no run" if one is None else our_text(figure, one.cells[place])


def _limits(one: Filled | None, place: int) -> str:
    interval = one.cells[place].interval if one else None
    if interval is None or interval.low_ns is None or interval.high_ns is None:
        return NOTHING if one else ""
    return f"{time_text(interval.low_ns)} … {time_text(interval.high_ns)}"


def column_lines(ours: Beside) -> list[str]:
    """Who is who: "here: board, 6.12.1"."""
    return [f"{_label(ours, index)}: {plain(words)}" for index, words in enumerate(ours.columns)]


def doubts_of(runs: Sequence[Run], found: Sequence[Beside]) -> list[str]:
    """Whatever lessens the worth of the runs that stand in the tables, each thing once."""
    used = {run for ours in found for one in ours.filled for run in one.runs}
    return list(dict.fromkeys(text for run in runs if run.id in used for text in doubts(run)))


def citation(reference: Reference) -> str:
    """Authors: Title. Where, year."""
    year = f", {reference.year}" if reference.year else ""
    return f"{', '.join(reference.authors)}: {reference.title}. {reference.published}{year}"


def facts_of(reference: Reference) -> list[tuple[str, str]]:
    """Hardware, kernel and setup."""
    pairs = [
        ("hardware", reference.hardware),
        ("kernel", reference.kernel),
        ("setup", reference.setup),
    ]
    return [(name, text) for name, text in pairs if text]


def entry_lines(table: Table) -> list[str]:
    """What differs from the reference's machine, entry by entry."""
    told = []
    for entry in table.entries:
        parts = [text for text in (entry.hardware, entry.kernel) if text]
        if entry.high_resolution_timers is not None:
            on = "with" if entry.high_resolution_timers else "without"
            parts.append(f"{on} high-resolution timers")
        if parts:
            told.append(f"{entry.name}: {', '.join(parts)}")
    return told


def reference_table(references: Sequence[Reference]) -> RenderableType:
    """What references there are."""
    return FittedTable(
        [
            Column("reference", 0, [one.name for one in references], left=True),
            Column("year", 2, [str(one.year or NOTHING) for one in references]),
            Column("tables", 3, [_names(one) for one in references], left=True),
            Column("title", 1, [one.title for one in references], left=True),
        ]
    )


def _names(reference: Reference) -> str:
    return ", ".join(table.name for table in reference.tables)


def reference_page(reference: Reference) -> RenderableType:
    """A reference, whole."""
    parts: list[RenderableType] = [reference_head(reference)]
    for table in reference.tables:
        parts += [Text(), _title(table), FittedTable(published_columns(table))]
        parts += [_item(text) for text in [*entry_lines(table), *table.caveats]]
    return Group(*parts)


def reference_head(reference: Reference) -> RenderableType:
    """Who published it, and on what it was measured."""
    facts = [Text.assemble((f"{name}: ", "bold"), text) for name, text in facts_of(reference)]
    caveats = [_item(text) for text in reference.caveats]
    return Group(Text(citation(reference), style="bold"), *facts, *caveats)


def beside_page(
    reference: Reference, found: Sequence[tuple[Table, Beside]], runs: Sequence[Run]
) -> RenderableType:
    """The reference's tables with ours beside them."""
    parts = [reference_head(reference)]
    parts += [
        Text.assemble(("! ", "bold yellow"), text)
        for text in doubts_of(runs, [ours for _, ours in found])
    ]
    for table, ours in found:
        parts += [
            Text(),
            _title(table),
            *(Text(line) for line in column_lines(ours)),
            Text(),
            PiecedTable(columns_beside(table, ours)),
            Text(),
            *(Text(plain(text)) for text in ours.said),
            Text("To be known of the published figures:", style="bold"),
            *(_item(text) for text in [*entry_lines(table), *table.caveats]),
        ]
    return Group(*parts)


def _title(table: Table) -> Text:
    load = f"; load: {table.load}" if table.load else ""
    return Text.assemble((table.title, "bold"), f" ({table.place}{load})")


def _item(text: str) -> Padding:
    return Padding(Text(f"- {text}"), (0, 0, 0, 2), expand=False)
