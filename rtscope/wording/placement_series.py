# SPDX-License-Identifier: GPL-2.0-only
"""How a placement series was measured, and the laws that it follows."""

from collections.abc import Iterator

from rtscope.model.placement_series import series_of
from rtscope.model.run import Run
from rtscope.model.units import format_duration_ns, format_size
from rtscope.statistics.placing import (
    curves,
    slower_cpus,
)
from rtscope.statistics.scaling import Fit
from rtscope.wording.placement import cpus_text, curve_name, law_text
from rtscope.wording.plain import plain
from rtscope.wording.run import moment_text


def where_text(run: Run) -> str:
    """The machine, its CPU and its kernel."""
    where = [run.machine_name, run.machine.cpu_model, run.machine.kernel_release]
    return " · ".join(plain(text) for text in where if text)


def how_text(run: Run) -> str:
    """What was measured, when, and how."""
    workloads = (
        list(dict.fromkeys(cell.workload for cell in run.placement_series.cells))
        if run.placement_series
        else []
    )
    parts = [" and ".join(plain(one) for one in workloads), settings_text(run)]
    if run.asked.interval_ns:
        parts.append(f"every {format_duration_ns(run.asked.interval_ns)}")
    if moment := moment_text(run, 0):
        parts.append(f"begun {moment.partition('.')[0].removesuffix(' UTC')} UTC")
    return ", ".join([*parts, f"run {plain(run.id)}"])


def settings_text(run: Run) -> str:
    """5 rounds, parallel 95 %, table 16 KiB; of a run that is no series empty."""
    if run.placement_series is None:
        return ""
    rounds, options = run.placement_series.rounds, run.asked.options
    parts = [f"{rounds} round{'s' if rounds > 1 else ''}"]
    if "parallel_percent" in options:
        parts.append(f"parallel {options['parallel_percent']} %")
    if isinstance(size := options.get("table_bytes"), int):
        parts.append(f"table {format_size(size)}")
    return ", ".join(parts)


def laws_of(run: Run) -> Iterator[str]:
    """Each curve's laws, with their parameters."""
    series = series_of(run)
    if series.has_loads:
        return
    for curve in curves(series):
        slow = sorted(slower_cpus(series, curve.workload))
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
