"""A sweep for people: what to do first, then what was found, then the figures."""

from collections.abc import Iterator

from rich.console import Console, ConsoleOptions, RenderResult
from rich.text import Text

from rtscope.model.cpulist import format_cpu_list
from rtscope.model.scaling import Cell, Sweep
from rtscope.report.columns import Column, FittedTable
from rtscope.report.page import render_page
from rtscope.report.placing import (
    advice,
    curve_name,
    findings,
    interference,
    law_text,
    ratio_text,
)
from rtscope.report.scaling_charts import sweep_charts
from rtscope.report.words import NOTHING, plain, time_text
from rtscope.statistics.confidence import LEVEL
from rtscope.statistics.placing import (
    Ratio,
    curves,
    jitter,
    longest_ns,
    ratio,
    slowdowns,
    time_ns,
)
from rtscope.statistics.scaling import Fit


def sweep_sentences(sweep: Sweep) -> tuple[list[str], list[str]]:
    """What to do, and what was found besides."""
    if sweep.has_loads:
        return [plain(text) for text in interference(sweep)], []
    return [plain(text) for text in advice(sweep)], [plain(text) for text in findings(sweep)]


def sweep_view(sweep: Sweep) -> "SweepView":
    """The sweep in a terminal."""
    return SweepView(sweep)


class SweepView:
    """Renders itself to the width it gets."""

    def __init__(self, sweep: Sweep) -> None:
        """A view of this sweep."""
        self._sweep = sweep

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """Rich's protocol."""
        sweep = self._sweep
        first, more = sweep_sentences(sweep)
        yield Text(headline(sweep), "dim")
        for warning in sweep.warnings:
            yield Text.assemble(("! ", "bold yellow"), plain(warning.text))
        yield Text()
        for text in first:
            yield Text(text, "bold")
        for text in more:
            yield Text(text)
        yield Text()
        yield FittedTable(table_of(sweep))
        laws = list(_laws(sweep))
        if laws:
            yield Text()
        for law in laws:
            yield Text(law)


def headline(sweep: Sweep) -> str:
    """Where and how it was measured."""
    machine = sweep.machine
    where = [machine.hostname or machine.board, machine.cpu_model, machine.kernel_release]
    how = [f"{name} {value}" for name, value in sweep.settings.items()]
    told = [plain(text) for text in where if text] + [f"{sweep.rounds} rounds"]
    return " · ".join(told + [plain(text) for text in how])


def table_of(sweep: Sweep) -> list[Column]:
    """One row a cell."""
    return _load_table(sweep) if sweep.has_loads else _placement_table(sweep)


def _placement_table(sweep: Sweep) -> list[Column]:
    cells = sorted(
        sweep.cells,
        key=lambda cell: (
            sweep.workloads.index(cell.workload),
            cell.placement.threads,
            cell.placement.cpus,
        ),
    )
    singles = {
        workload: min(
            (c for c in cells if c.workload == workload and c.placement.threads == 1),
            key=time_ns,
            default=None,
        )
        for workload in sweep.workloads
    }
    gains = [
        ratio(one, cell) if (one := singles[cell.workload]) and one is not cell else None
        for cell in cells
    ]
    return [
        Column("workload", 0, [plain(cell.workload) for cell in cells], left=True),
        Column("threads", 1, [f"{cell.placement.threads}" for cell in cells]),
        Column("CPUs", 2, [format_cpu_list(cell.placement.cpus) for cell in cells], left=True),
        Column("time", 3, [time_text(time_ns(cell)) for cell in cells]),
        Column("times as fast", 4, [ratio_text(gain) if gain else NOTHING for gain in gains]),
        Column("jitter", 5, [_share(jitter(cell)) for cell in cells]),
        Column("longest", 6, [time_text(longest_ns(cell)) for cell in cells]),
        Column("missed", 7, [f"{cell.missed:,}" for cell in cells]),
    ]


def _load_table(sweep: Sweep) -> list[Column]:
    rows: list[tuple[Cell, Ratio | None, float | None, float | None]] = []
    for workload in sweep.workloads:
        alone = sweep.cell(workload, _first(sweep, workload).placement)
        if alone:
            rows.append((alone, None, None, None))
        for one in slowdowns(sweep, workload):
            rows.append((one.cell, one.ratio, one.tail.value, one.p_value))
    return [
        Column("beside", 0, [plain(cell.load) for cell, *_ in rows], left=True),
        Column("workload", 6, [plain(cell.workload) for cell, *_ in rows], left=True),
        Column("time", 2, [time_text(time_ns(cell)) for cell, *_ in rows]),
        Column("times as long", 1, [ratio_text(one) if one else NOTHING for _, one, *_ in rows]),
        Column("p", 5, [NOTHING if p is None else f"{p:.2g}" for *_, p in rows]),
        Column("longest", 3, [time_text(longest_ns(cell)) for cell, *_ in rows]),
        Column("tail, times", 4, [NOTHING if t is None else f"{t:.2f}" for _, _, t, _ in rows]),
    ]


def _first(sweep: Sweep, workload: str) -> Cell:
    return next(cell for cell in sweep.cells if cell.workload == workload)


def _share(value: float | None) -> str:
    return NOTHING if value is None else f"{value * 100:.1f} %"


def _laws(sweep: Sweep) -> Iterator[str]:
    """Each curve's laws, with their parameters."""
    if sweep.has_loads:
        return
    for curve in curves(sweep):
        for law in (curve.amdahl, curve.usl):
            if law:
                yield f"{curve_name(curve)}, {law.law}: {law_text(law)}{_worth(law)}"


def _worth(law: Fit) -> str:
    if law.misfit_p is None:
        return "; too few numbers of threads to test whether it holds"
    worst = max(law.residuals.values(), key=abs)
    text = f"; misses no time by more than {abs(worst) * 100:.1f} %"
    if law.holds:
        return text
    return f"{text}, which is more than chance (p = {law.misfit_p:.1g}): it does not hold"


def sweep_page(sweep: Sweep) -> str:
    """The sweep as a page. Raises RtscopeError where plotly's script is missing."""
    first, more = sweep_sentences(sweep)
    charts = sweep_charts(sweep)
    return render_page(
        "scaling.html.jinja",
        {"runs": [], "series": [], "marks": [], "each": False, "quantity": "time"}
        | {"charts": charts},
        title="Who disturbs whom" if sweep.has_loads else "How it scales",
        headline=headline(sweep),
        doubts=[plain(one.text) for one in sweep.warnings],
        first=first,
        more=more,
        table=table_of(sweep),
        laws=list(_laws(sweep)),
        charts=charts,
        jitter=not sweep.has_loads,
        command=plain(" ".join(sweep.command)),
        level=f"{LEVEL * 100:.0f} %",
    )
