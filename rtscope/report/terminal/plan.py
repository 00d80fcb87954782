# SPDX-License-Identifier: GPL-2.0-only
"""The cells of a plan that is only checked, with how long each takes."""

from dataclasses import dataclass

from rich.console import Console, ConsoleOptions, RenderResult
from rich.text import Text

from rtscope.engine.cells import Cell
from rtscope.engine.experiment import CheckedPlan
from rtscope.model.plan import PlacementSeries
from rtscope.model.units import counted
from rtscope.report.tables.column import Column
from rtscope.report.terminal.table import fitted
from rtscope.wording.plain import plain
from rtscope.wording.values import span_text


@dataclass
class PlanView:
    """Renders itself to the width it gets."""

    plan: CheckedPlan

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """Rich's protocol."""
        plan, cells = self.plan.file.plan, self.plan.cells
        yield Text(plain(plan.title), style="bold")
        for line in plan.description.strip().splitlines():
            yield Text(plain(line))
        spans = [self.plan.times_ns[cell.name] for cell in cells]
        times = ["its own time" if ns is None else span_text(ns) for ns in spans]
        columns = [
            Column("cell", 0, [plain(cell.name) for cell in cells], left=True),
            Column("takes about", 1, [*times]),
            Column("ends after", 3, [_ends_after(cell) for cell in cells], left=True),
            Column("budget", 2, [_budget(cell) for cell in cells], left=True),
        ]
        yield Text()
        yield fitted(columns, options.max_width)
        total = f"{counted(len(cells), 'cell')}, about {span_text(sum(ns or 0 for ns in spans))}"
        unknown = spans.count(None)
        more = f", and for {unknown} the time that their probe takes" if unknown else ""
        yield Text(f"\n{total}{more}; nothing was measured")


def _budget(cell: Cell) -> str:
    return "" if isinstance(cell.work, PlacementSeries) else ", ".join(cell.work.budget)


def _ends_after(cell: Cell) -> str:
    work = cell.work
    if isinstance(work, PlacementSeries):
        return counted(work.rounds, "round")
    ends = [] if work.samples is None else [counted(work.samples, "sample")]
    if work.duration_ns is not None:
        ends.append(span_text(work.duration_ns))
    return " or ".join(ends)
