"""The figures of sweeps: speed-up with its laws, time, jitter, and slowdowns."""

from collections.abc import Iterable, Sequence
from typing import Any, Final, NamedTuple

from rtscope.model.sweep import Sweep
from rtscope.report.chart import Chart
from rtscope.report.plots import figure_text
from rtscope.report.sweep_words import cpus_text, curve_name
from rtscope.report.words import plain
from rtscope.statistics.placing import (
    Curve,
    Ratio,
    Slowdown,
    curves,
    jitter,
    longest_ns,
    slowdowns,
    time_ns,
)

_POINTS: Final = 60
_ROW_PX: Final = 34
_BAR_PX: Final = 16
"""of a row that has several"""
_FRAME_PX: Final = 90
_EACH_UP_TO: Final = 16
"""threads that have a tick of their own"""
_SYMBOLS: Final = ("circle", "diamond-open", "square-open", "triangle-up-open", "x", "star-open")
"""of a sweep's curves, with as many dashes"""
_LEAST_UNITS: Final = 10
"""of a time axis that reach to its end"""
_LIMITS: Final = "Against one thread of the same workload, with 95 % limits"


class _Line(NamedTuple):
    """A curve as it is drawn."""

    curve: Curve
    name: str
    colour: int
    dash: int = 0


class _Bars(NamedTuple):
    """What loads do to a workload, as it is drawn."""

    slowdowns: list[Slowdown]
    name: str
    colour: int


def sweep_charts(sweep: Sweep) -> list[Chart]:
    """Speed-up with the fitted laws, time, jitter, or the slowdowns."""
    if sweep.has_loads:
        where = f"By each load on {cpus_text(sweep.load_cpus)}, with 95 % limits."
        bars = [
            _Bars(slowdowns(sweep, one), plain(one), number)
            for number, one in enumerate(sweep.workloads)
        ]
        return _numbered([_slowdown_chart(bars, where)])
    drawn = [curve for curve in curves(sweep) if len(curve.cells) > 1]
    lines = [_Line(curve, curve_name(curve), number) for number, curve in enumerate(drawn)]
    speedups = [trace for line in lines for trace in (_speedups(line, "markers"), *_laws(line))]
    laws = "dotted is Amdahl's law, dashed the Universal Scalability Law, each fitted"
    times = [trace for line in lines for trace in (_times(line), _longest(line))]
    return _numbered(
        [
            _chart("Speed-up", f"{_LIMITS}; {laws}.", speedups, "times as fast as one thread"),
            _time_chart("Medians, and a point for the longest of all times.", times),
            _jitter_chart(lines),
        ]
        if lines
        else []
    )


def charts_together(sweeps: Sequence[tuple[str, Sweep]]) -> list[Chart]:
    """The same of several sweeps by their labels, without laws; each sweep has a colour.

    Where some have several workloads beside loads, each of these has one.
    """
    lines: list[_Line] = []
    bars: list[_Bars] = []
    lone = all(len(sweep.workloads) == 1 for _, sweep in sweeps if sweep.has_loads)
    for number, (label, sweep) in enumerate(sweeps):
        if sweep.has_loads:
            for workload in sweep.workloads:
                colour = number if lone else len(bars)
                name = f"{label}, {plain(workload)}"
                bars.append(_Bars(slowdowns(sweep, workload), name, colour))
            continue
        drawn = [curve for curve in curves(sweep) if len(curve.cells) > 1]
        lines += [
            _Line(curve, f"{label}, {curve_name(curve)}", number, turn % len(_SYMBOLS))
            for turn, curve in enumerate(drawn)
        ]
    charts = []
    if lines:
        speedups = [_speedups(line, "lines+markers") for line in lines]
        times = [_times(line, "lines+markers") for line in lines]
        charts = [
            _chart("Speed-up", f"{_LIMITS}.", speedups, "times as fast as one thread"),
            _time_chart("Medians of a period, or of a run of the program.", times),
            _jitter_chart(lines),
        ]
    if bars:
        charts.append(_slowdown_chart(bars, "By each load on other CPUs, with 95 % limits."))
    return _numbered(charts)


def _numbered(charts: Iterable[Chart]) -> list[Chart]:
    """Those that have something to draw, each with an id."""
    drawn = [chart for chart in charts if chart["traces"]]
    for number, chart in enumerate(drawn):
        chart["id"] = f"chart-{number}"
    return drawn


def _chart(title: str, note: str, traces: list[dict[str, Any]], unit: str) -> Chart:
    most = max((max(trace["x"]) for trace in traces), default=1)
    threads: dict[str, Any] = {"title": {"text": "threads"}, "range": [0.5, most + 0.5]}
    if most <= _EACH_UP_TO:
        threads["dtick"] = 1
    return {
        "id": "",
        "title": title,
        "note": note,
        "traces": traces,
        "layout": {
            "xaxis": threads,
            "yaxis": {"title": {"text": unit}, "rangemode": "tozero"},
        },
    }


def _time_chart(note: str, traces: list[dict[str, Any]]) -> Chart:
    """Of traces in ns, in the unit that suits the longest."""
    most = max(max(trace["y"]) for trace in traces)
    units = ((1e9, "s"), (1e6, "ms"), (1e3, "us"))
    scale, unit = next((one for one in units if most >= _LEAST_UNITS * one[0]), units[-1])
    for trace in traces:
        trace["y"] = [ns / scale for ns in trace["y"]]
    return _chart("Time", note, traces, f"time ({unit})")


def _jitter_chart(lines: Sequence[_Line]) -> Chart:
    traces = [trace for line in lines if (trace := _jitters(line))["y"]]
    note = "How much the 99th percentile is above the median, in per cent of that."
    return _chart("Jitter", note, traces, "jitter (%)")


def _style(line: _Line, mode: str) -> dict[str, Any]:
    marker = {"marker": {"symbol": _SYMBOLS[line.dash], "size": 7}}
    return {"mode": mode, "colour": line.colour, "dash": line.dash} | marker


def _trace(line: _Line, mode: str, y: list[float], suffix: str = "") -> dict[str, Any]:
    """A point for each cell of the curve."""
    return _style(line, mode) | {
        "name": figure_text(line.name + suffix),
        "x": [cell.placement.threads for cell in line.curve.cells],
        "y": y,
        "text": [cpus_text(cell.placement.cpus) for cell in line.curve.cells],
    }


def _speedups(line: _Line, mode: str) -> dict[str, Any]:
    gains = line.curve.speedups
    return _trace(line, mode, [one.value for one in gains]) | {"error_y": _limits(gains)}


def _laws(line: _Line) -> list[dict[str, Any]]:
    curve = line.curve
    most = max(cell.placement.threads for cell in curve.cells)
    x = [1 + step * (most - 1) / _POINTS for step in range(_POINTS + 1)]
    return [
        {
            "mode": "lines",
            "name": figure_text(f"{line.name}, {law.law}"),
            "colour": line.colour,
            "dash": dash,
            "x": x,
            "y": [law.one_thread_ns.value / law.time_ns(n) for n in x],
            "hoverinfo": "name",
        }
        for law, dash in ((curve.amdahl, 2), (curve.usl, 1))
        if law
    ]


def _times(line: _Line, mode: str = "lines") -> dict[str, Any]:
    suffix = ", median" if mode == "lines" else ""
    return _trace(line, mode, [time_ns(cell) for cell in line.curve.cells], suffix)


def _longest(line: _Line) -> dict[str, Any]:
    times = [float(longest_ns(cell)) for cell in line.curve.cells]
    return _trace(line, "markers", times, ", longest")


def _jitters(line: _Line) -> dict[str, Any]:
    known = [
        (cell.placement.threads, share * 100)
        for cell in line.curve.cells
        if (share := jitter(cell)) is not None
    ]
    return _style(line, "lines+markers") | {
        "name": figure_text(line.name),
        "x": [threads for threads, _ in known],
        "y": [share for _, share in known],
    }


def _limits(ratios: Sequence[Ratio], scale: float = 1.0) -> dict[str, Any]:
    """Error bars; of none where one round cannot tell them."""
    return {
        "type": "data",
        "symmetric": False,
        "array": [scale * ((one.high or one.value) - one.value) for one in ratios],
        "arrayminus": [scale * (one.value - (one.low or one.value)) for one in ratios],
    }


def _slowdown_chart(bars: Sequence[_Bars], note: str) -> Chart:
    """A group of bars for each load, the one that slows most on top."""
    found = sorted((o for group in bars for o in group.slowdowns), key=lambda o: -o.ratio.value)
    loads = list(dict.fromkeys(one.cell.load for one in found))
    traces = [
        {
            "type": "bar",
            "orientation": "h",
            "name": figure_text(group.name),
            "colour": group.colour,
            "x": [(one.ratio.value - 1) * 100 for one in group.slowdowns],
            "y": [figure_text(plain(one.cell.load)) for one in group.slowdowns],
            "hoverinfo": "x+y+name",
            "error_x": _limits([one.ratio for one in group.slowdowns], 100),
        }
        for group in bars
    ]
    return {
        "id": "",
        "title": "Slowdown",
        "note": note,
        "traces": traces,
        "layout": {
            "height": _FRAME_PX + max(_ROW_PX, _BAR_PX * len(bars)) * len(loads),
            "barmode": "group",
            "xaxis": {"title": {"text": "longer than alone (%)"}},
            "yaxis": {
                "type": "category",
                "categoryorder": "array",
                "categoryarray": [figure_text(plain(load)) for load in loads],
                "autorange": "reversed",
            },
        },
    }
