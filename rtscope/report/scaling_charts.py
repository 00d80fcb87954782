"""The figures of a sweep's page: speed-up with its laws, time, jitter, and slowdowns."""

from typing import Any, Final

from rtscope.model.scaling import Sweep
from rtscope.report.chart import Chart
from rtscope.report.placing import cpus_text, curve_name
from rtscope.report.plots import figure_text
from rtscope.report.words import plain
from rtscope.statistics.placing import Curve, curves, jitter, longest_ns, slowdowns, time_ns

_POINTS: Final = 60
_ROW_PX: Final = 34
_FRAME_PX: Final = 90


def sweep_charts(sweep: Sweep) -> list[Chart]:
    """Speed-up with the fitted laws, jitter, or the slowdowns."""
    found = _slowdown_charts(sweep) if sweep.has_loads else _curve_charts(sweep)
    for number, chart in enumerate(found):
        chart["id"] = f"chart-{number}"
    return found


def _curve_charts(sweep: Sweep) -> list[Chart]:
    all_curves = curves(sweep)
    several = [curve for curve in all_curves if len(curve.cells) > 1]
    if not several:
        return []
    return [
        _chart(
            "Speed-up",
            "Against one thread of the same workload, with 95 % limits; dotted is Amdahl's law, "
            "dashed the Universal Scalability Law, each fitted.",
            [trace for number, curve in enumerate(several) for trace in _speedup(number, curve)],
            "times as fast as one thread",
        ),
        _chart(
            "Time",
            "Medians, and a point for the longest of all times.",
            [trace for number, curve in enumerate(several) for trace in _times(number, curve)],
            "time (us)",
        ),
        _chart(
            "Jitter",
            "How much the 99th percentile is above the median, in per cent of that.",
            [trace for n, curve in enumerate(several) if (trace := _jitters(n, curve))["y"]],
            "jitter (%)",
        ),
    ]


def _chart(title: str, note: str, traces: list[dict[str, Any]], unit: str) -> Chart:
    return {
        "id": "",
        "title": title,
        "note": note,
        "traces": traces,
        "layout": {
            "xaxis": {"title": {"text": "threads"}, "rangemode": "tozero"},
            "yaxis": {"title": {"text": unit}, "rangemode": "tozero"},
        },
    }


def _speedup(number: int, curve: Curve) -> list[dict[str, Any]]:
    values = [one.value for one in curve.speedups]
    traces: list[dict[str, Any]] = [
        {
            "mode": "markers",
            "name": figure_text(curve_name(curve)),
            "colour": number,
            "x": [cell.placement.threads for cell in curve.cells],
            "y": values,
            "text": [cpus_text(cell.placement.cpus) for cell in curve.cells],
            "error_y": {
                "type": "data",
                "symmetric": False,
                "array": [(one.high or one.value) - one.value for one in curve.speedups],
                "arrayminus": [one.value - (one.low or one.value) for one in curve.speedups],
            },
        }
    ]
    most = max(cell.placement.threads for cell in curve.cells)
    x = [1 + step * (most - 1) / _POINTS for step in range(_POINTS + 1)]
    for law, dash in ((curve.amdahl, 2), (curve.usl, 1)):
        if law:
            traces.append(
                {
                    "mode": "lines",
                    "name": figure_text(f"{curve_name(curve)}, {law.law}"),
                    "colour": number,
                    "dash": dash,
                    "x": x,
                    "y": [law.one_thread_ns.value / law.time_ns(n) for n in x],
                    "hoverinfo": "name",
                }
            )
    return traces


def _times(number: int, curve: Curve) -> list[dict[str, Any]]:
    name = figure_text(curve_name(curve))
    x = [cell.placement.threads for cell in curve.cells]
    return [
        {
            "mode": "lines",
            "name": f"{name}, median",
            "colour": number,
            "x": x,
            "y": [time_ns(cell) / 1000 for cell in curve.cells],
        },
        {
            "mode": "markers",
            "name": f"{name}, longest",
            "colour": number,
            "x": x,
            "y": [longest_ns(cell) / 1000 for cell in curve.cells],
        },
    ]


def _jitters(number: int, curve: Curve) -> dict[str, Any]:
    known = [
        (cell.placement.threads, share * 100)
        for cell in curve.cells
        if (share := jitter(cell)) is not None
    ]
    return {
        "mode": "lines",
        "name": figure_text(curve_name(curve)),
        "colour": number,
        "x": [threads for threads, _ in known],
        "y": [share for _, share in known],
    }


def _slowdown_charts(sweep: Sweep) -> list[Chart]:
    traces = []
    rows = 0
    for number, workload in enumerate(sweep.workloads):
        found = slowdowns(sweep, workload)[::-1]
        rows = max(rows, len(found))
        traces.append(
            {
                "type": "bar",
                "orientation": "h",
                "name": figure_text(plain(workload)),
                "colour": number,
                "x": [(one.ratio.value - 1) * 100 for one in found],
                "y": [figure_text(plain(one.cell.load)) for one in found],
                "hoverinfo": "x+y+name",
                "error_x": {
                    "type": "data",
                    "symmetric": False,
                    "array": [100 * ((o.ratio.high or 0) - o.ratio.value) for o in found],
                    "arrayminus": [100 * (o.ratio.value - (o.ratio.low or 0)) for o in found],
                },
            }
        )
    return [
        {
            "id": "",
            "title": "Slowdown",
            "note": f"By each load on {cpus_text(sweep.load_cpus)}, with 95 % limits.",
            "traces": traces,
            "layout": {
                "height": _FRAME_PX + _ROW_PX * rows,
                "barmode": "group",
                "xaxis": {"title": {"text": "longer than alone (%)"}},
                "yaxis": {"type": "category"},
            },
        }
    ]
