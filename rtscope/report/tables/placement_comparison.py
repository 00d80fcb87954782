# SPDX-License-Identifier: GPL-2.0-only
"""The cells of several series side by side."""

from collections.abc import Sequence

from rtscope.model.cpulist import format_cpu_list
from rtscope.model.placement_series import Cell, MeasuredSeries
from rtscope.model.scaling import Placement
from rtscope.report.tables.column import Column
from rtscope.report.tables.placement_series import gains_of
from rtscope.statistics.placing import Ratio, time_ns
from rtscope.wording.placement import ratio_text
from rtscope.wording.plain import plain
from rtscope.wording.values import NOTHING, time_text

Labelled = Sequence[tuple[str, MeasuredSeries]]
_Key = tuple[str, Placement | None, str]
_Found = dict[_Key, tuple[Cell, Ratio | None]]


def placements_together(labelled: Labelled) -> list[Column]:
    """One row a placement, two columns a series; none without series."""
    found = _found(labelled)
    workloads = _workloads(found)
    rows = sorted(
        {(workload, place) for cells in found for workload, place, _ in cells if place},
        key=lambda row: (workloads.index(row[0]), row[1].threads, row[1].cpus),
    )
    columns = [
        Column("threads", 0, [f"{place.threads}" for _, place in rows]),
        Column("CPUs", 0, [format_cpu_list(place.cpus) for _, place in rows], left=True),
    ]
    keys: list[_Key] = [(workload, place, "idle") for workload, place in rows]
    return _table(columns, keys, labelled, found, "times as fast")


def loads_together(labelled: Labelled) -> list[Column]:
    """One row for each load, the slowest first, and two columns for each series."""
    found = _found(labelled)
    workloads = _workloads(found)
    most: dict[_Key, float] = {}
    for cells in found:
        for key, (_, slower) in cells.items():
            most[key] = max(most.get(key, 0.0), slower.value if slower else 0.0)
    keys = sorted(most, key=lambda key: (workloads.index(key[0]), key[2] != "idle", -most[key]))
    columns = [Column("beside", 0, [plain(load) for *_, load in keys], left=True)]
    return _table(columns, keys, labelled, found, "times as long")


def _found(labelled: Labelled) -> list[_Found]:
    """The cells of each series, with the cell that each is compared with.

    Where all measured a program it is the same row, though one may be another version of the other
    or lie in another folder. Where the loads run is no other row.
    """
    programs = all(series.program for _, series in labelled)
    held = []
    for _, series in labelled:
        gains = gains_of(series)
        held.append(
            {
                (
                    "" if programs else cell.workload,
                    None if series.has_loads else cell.placement,
                    cell.load,
                ): (cell, gains.get((cell.workload, cell.placement, cell.load)))
                for cell in series.cells
            }
        )
    return held


def _workloads(found: Sequence[_Found]) -> list[str]:
    return list(dict.fromkeys(workload for cells in found for workload, *_ in cells))


def _table(
    columns: list[Column],
    keys: Sequence[_Key],
    labelled: Labelled,
    found: Sequence[_Found],
    what: str,
) -> list[Column]:
    """These columns, the times of each series, and their ratio to another series."""
    if not labelled:
        return []
    if any(workload for workload, *_ in keys):
        names = [plain(workload) for workload, *_ in keys]
        columns = [Column("workload", 0, [*names], left=True), *columns]
    times, ratios = [], []
    for (label, _), cells in zip(labelled, found, strict=True):
        row = [cells.get(key, (None, None)) for key in keys]
        shown = [time_text(time_ns(cell) if cell else None) for cell, _ in row]
        times.append(Column(f"{label}\ntime", 0, [*shown]))
        texts = [ratio_text(one) if one else NOTHING for _, one in row]
        ratios.append(Column(f"{label}\n{what}", 0, [*texts]))
    return [*columns, *times, *ratios]
