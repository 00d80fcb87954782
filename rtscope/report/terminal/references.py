# SPDX-License-Identifier: GPL-2.0-only
"""References on the terminal."""

from collections.abc import Sequence

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.text import Text

from rtscope.model.reference import Reference, Table
from rtscope.model.run import Run
from rtscope.report.tables.column import Column
from rtscope.report.tables.references import columns_beside, published_columns
from rtscope.report.terminal.table import FittedTable, PiecedTable
from rtscope.statistics.reference import Beside
from rtscope.wording.plain import plain
from rtscope.wording.references import (
    beside_lines,
    caveats_of,
    citation,
    column_lines,
    entry_lines,
    properties_of,
)
from rtscope.wording.values import NOTHING


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
    """Authors, hardware and kernel of the publication."""
    facts = [Text.assemble((f"{name}: ", "bold"), text) for name, text in properties_of(reference)]
    caveats = [_item(text) for text in reference.caveats]
    return Group(Text(citation(reference), style="bold"), *facts, *caveats)


def beside_page(
    reference: Reference, found: Sequence[tuple[Table, Beside]], runs: Sequence[Run]
) -> RenderableType:
    """The reference's tables followed by ours."""
    parts = [reference_head(reference)]
    parts += [
        Text.assemble(("! ", "bold yellow"), text)
        for text in caveats_of(runs, [ours for _, ours in found])
    ]
    for table, ours in found:
        parts += [
            Text(),
            _title(table),
            *(Text(line) for line in column_lines(ours)),
            Text(),
            PiecedTable(columns_beside(table, ours)),
            Text(),
            *(Text(plain(text)) for text in beside_lines(ours)),
            Text("Notes on the published metrics:", style="bold"),
            *(_item(text) for text in [*entry_lines(table), *table.caveats]),
        ]
    return Group(*parts)


def _title(table: Table) -> Text:
    load = f"; load: {table.load}" if table.load else ""
    return Text.assemble((table.title, "bold"), f" ({table.place}{load})")


def _item(text: str) -> Padding:
    return Padding(Text(f"- {text}"), (0, 0, 0, 2), expand=False)
