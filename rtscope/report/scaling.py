# SPDX-License-Identifier: GPL-2.0-only
"""A sweep for people: what to do first, then what was found, then the figures."""

from collections.abc import Iterator

from rtscope.model.cpulist import format_cpu_list
from rtscope.model.run import Run
from rtscope.model.scaling import Placement
from rtscope.model.sweep import Cell, Sweep, sweep_of
from rtscope.model.units import format_duration_ns, format_size
from rtscope.report.advice import advice
from rtscope.report.columns import Column
from rtscope.report.placing import findings, interference, left_out
from rtscope.report.sweep_words import cpus_text, curve_name, law_text, ratio_text
from rtscope.report.words import NOTHING, machine_name, moment_text, plain, time_text
from rtscope.statistics.placing import (
    Ratio,
    curves,
    jitter,
    longest_ns,
    ratio,
    slowdowns,
    slower_cpus,
    time_ns,
)
from rtscope.statistics.scaling import Fit


def sweep_sentences(run: Run) -> tuple[list[str], list[str]]:
    """What to do, and what was found besides."""
    sweep = sweep_of(run)
    if sweep.has_loads:
        return [plain(text) for text in interference(sweep)], left_out(sweep)
    return [plain(text) for text in advice(sweep)], [plain(text) for text in findings(sweep)]


def where_text(run: Run) -> str:
    """The machine, its CPU and its kernel."""
    where = [machine_name(run), run.machine.cpu_model, run.machine.kernel_release]
    return " · ".join(plain(text) for text in where if text)


def how_text(run: Run) -> str:
    """What was measured, when, and how."""
    workloads = list(dict.fromkeys(cell.workload for cell in run.sweep.cells)) if run.sweep else []
    told = [" and ".join(plain(one) for one in workloads), settings_text(run)]
    if run.asked.interval_ns:
        told.append(f"every {format_duration_ns(run.asked.interval_ns)}")
    if moment := moment_text(run, 0):
        told.append(f"begun {moment.partition('.')[0].removesuffix(' UTC')} UTC")
    return ", ".join([*told, f"run {plain(run.id)}"])


def settings_text(run: Run) -> str:
    """5 rounds, parallel 95 %, table 16 KiB; of a run that is no sweep empty."""
    if run.sweep is None:
        return ""
    rounds, options = run.sweep.rounds, run.asked.options
    told = [f"{rounds} round{'s' if rounds > 1 else ''}"]
    if "parallel_percent" in options:
        told.append(f"parallel {options['parallel_percent']} %")
    if isinstance(size := options.get("table_bytes"), int):
        told.append(f"table {format_size(size)}")
    return ", ".join(told)


def table_of(run: Run) -> list[Column]:
    """One row a cell."""
    sweep = sweep_of(run)
    return _load_table(sweep) if sweep.has_loads else _placement_table(sweep)


def gains_of(sweep: Sweep) -> dict[tuple[str, Placement, str], Ratio]:
    """Of each cell by workload, placement and load, how much faster it is than one thread.

    Beside loads, how much longer it takes than alone. The one that others are held against has
    none, nor have they where that was not measured.
    """
    if sweep.has_loads:
        found = [one for workload in sweep.workloads for one in slowdowns(sweep, workload)]
        return {(o.cell.workload, o.cell.placement, o.cell.load): o.ratio for o in found}
    gains = {}
    for workload in sweep.workloads:
        cells = [cell for cell in sweep.cells if cell.workload == workload]
        singles = [cell for cell in cells if cell.placement.threads == 1]
        one = min(singles, key=time_ns, default=None)
        for cell in cells:
            if one and cell is not one:
                gains[workload, cell.placement, cell.load] = ratio(one, cell)
    return gains


def _placement_table(sweep: Sweep) -> list[Column]:
    cells = sorted(
        sweep.cells,
        key=lambda cell: (
            sweep.workloads.index(cell.workload),
            cell.placement.threads,
            cell.placement.cpus,
        ),
    )
    found = gains_of(sweep)
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


def _load_table(sweep: Sweep) -> list[Column]:
    rows: list[tuple[Cell, Ratio | None, float | None, float | None]] = []
    for workload in sweep.workloads:
        alone = sweep.cell(workload, _first(sweep, workload).placement)
        if alone:
            rows.append((alone, None, None, None))
            for one in slowdowns(sweep, workload):
                rows.append((one.cell, one.ratio, one.tail.value, one.ratio.p_value))
        else:
            rows += [(c, None, None, None) for c in sweep.cells if c.workload == workload]
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


def laws_of(run: Run) -> Iterator[str]:
    """Each curve's laws, with their parameters."""
    sweep = sweep_of(run)
    if sweep.has_loads:
        return
    for curve in curves(sweep):
        slow = sorted(slower_cpus(sweep, curve.workload))
        unlike = f"; it takes {cpus_text(slow)} for as fast as the others" if slow else ""
        for law in (curve.amdahl, curve.usl):
            if law:
                yield f"{curve_name(curve)}, {law.law}: {law_text(law)}{_worth(law)}{unlike}"


def _worth(law: Fit) -> str:
    if law.misfit_p is None:
        return "; too few numbers of threads to test whether it holds"
    worst = max(law.residuals.values(), key=abs)
    text = f"; misses no time by more than {abs(worst) * 100:.1f} %"
    if law.holds:
        return text
    return f"{text}, which is more than chance (p = {law.misfit_p:.1g}): it does not hold"
