# SPDX-License-Identifier: GPL-2.0-only
"""The cells of a series as a table."""

from rtscope.model.cpulist import format_cpu_list
from rtscope.model.placement_series import Cell, MeasuredSeries, series_of
from rtscope.model.run import Run
from rtscope.model.scaling import Placement
from rtscope.report.tables.column import Column
from rtscope.statistics.placing import (
    Ratio,
    jitter,
    longest_ns,
    ratio,
    slowdowns,
    time_ns,
)
from rtscope.wording.placement import ratio_text
from rtscope.wording.plain import plain
from rtscope.wording.values import NOTHING, time_text


def table_of(run: Run) -> list[Column]:
    """One row a cell."""
    series = series_of(run)
    return _load_table(series) if series.has_loads else _placement_table(series)


def gains_of(series: MeasuredSeries) -> dict[tuple[str, Placement, str], Ratio]:
    """Of each cell by workload, placement and load, how much faster it is than one thread.

    Beside loads, how much longer it takes than alone. The one that others are held against has
    none, nor have they where that was not measured.
    """
    if series.has_loads:
        found = [one for workload in series.workloads for one in slowdowns(series, workload)]
        return {(o.cell.workload, o.cell.placement, o.cell.load): o.ratio for o in found}
    gains = {}
    for workload in series.workloads:
        cells = [cell for cell in series.cells if cell.workload == workload]
        singles = [cell for cell in cells if cell.placement.threads == 1]
        one = min(singles, key=time_ns, default=None)
        for cell in cells:
            if one and cell is not one:
                gains[workload, cell.placement, cell.load] = ratio(one, cell)
    return gains


def _placement_table(series: MeasuredSeries) -> list[Column]:
    cells = sorted(
        series.cells,
        key=lambda cell: (
            series.workloads.index(cell.workload),
            cell.placement.threads,
            cell.placement.cpus,
        ),
    )
    found = gains_of(series)
    gains = [found.get((cell.workload, cell.placement, cell.load)) for cell in cells]
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


def _load_table(series: MeasuredSeries) -> list[Column]:
    rows: list[tuple[Cell, Ratio | None, float | None, float | None]] = []
    for workload in series.workloads:
        alone = series.cell(workload, _first(series, workload).placement)
        if alone:
            rows.append((alone, None, None, None))
            for one in slowdowns(series, workload):
                rows.append((one.cell, one.ratio, one.tail.value, one.ratio.p_value))
        else:
            rows += [(c, None, None, None) for c in series.cells if c.workload == workload]
    return [
        Column("beside", 0, [plain(cell.load) for cell, *_ in rows], left=True),
        Column("workload", 6, [plain(cell.workload) for cell, *_ in rows], left=True),
        Column("time", 2, [time_text(time_ns(cell)) for cell, *_ in rows]),
        Column("times as long", 1, [ratio_text(one) if one else NOTHING for _, one, *_ in rows]),
        Column("p", 5, [NOTHING if p is None else f"{p:.2g}" for *_, p in rows]),
        Column("longest", 3, [time_text(longest_ns(cell)) for cell, *_ in rows]),
        Column("tail, times", 4, [NOTHING if t is None else f"{t:.2f}" for _, _, t, _ in rows]),
    ]


def _first(series: MeasuredSeries, workload: str) -> Cell:
    return next(cell for cell in series.cells if cell.workload == workload)


def _share(value: float | None) -> str:
    return NOTHING if value is None else f"{value * 100:.1f} %"
