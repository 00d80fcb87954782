# SPDX-License-Identifier: GPL-2.0-only
"""The charts of labelled: speed-up with its laws, time, jitter, and slowdowns."""

from collections.abc import Sequence
from typing import Final, NamedTuple

from rtscope.model.placement_series import MeasuredSeries
from rtscope.report.page.chart import Axis, Bars, Chart, Mark, Panel, axis, floats, row_axis
from rtscope.report.page.probe_charts import numbered
from rtscope.report.page.scale import Scale, Tick, linear, ticks
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
from rtscope.wording.placement import cpus_text, curve_name
from rtscope.wording.plain import plain

_POINTS: Final = 60
_ROW_REM: Final = 2.0
_BAR_REM: Final = 1.1
"""of a row that has several"""
_EACH_UP_TO: Final = 16
"""threads that have a tick of their own"""
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


def placement_charts(series: MeasuredSeries) -> list[Chart]:
    """Speed-up with the fitted laws, time, jitter, or the slowdowns."""
    if series.has_loads:
        where = f"By each load on {cpus_text(series.load_cpus)}, with 95 % limits."
        bars = [
            _Bars(slowdowns(series, one), plain(one), number)
            for number, one in enumerate(series.workloads)
        ]
        return numbered([_slowdown_chart(bars, where)])
    drawn = [curve for curve in curves(series) if len(curve.cells) > 1]
    lines = [_Line(curve, curve_name(curve), number) for number, curve in enumerate(drawn)]
    if not lines:
        return []
    speedups = [mark for line in lines for mark in (_speedups(line), *_laws(line))]
    laws = "dotted is Amdahl's law, dashed the Universal Scalability Law, each fitted"
    return numbered(
        [
            _chart("Speed-up", f"{_LIMITS}; {laws}.", speedups, "times as fast as one thread"),
            _time_chart(lines, "Medians, and a point for the longest of all times.", longest=True),
            _jitter_chart(lines),
        ]
    )


def charts_together(labelled: Sequence[tuple[str, MeasuredSeries]]) -> list[Chart]:
    """The same of several series by their labels, without laws; each series has a colour.

    Where some have several workloads beside loads, each of these has one.
    """
    lines: list[_Line] = []
    bars: list[_Bars] = []
    lone = all(len(series.workloads) == 1 for _, series in labelled if series.has_loads)
    for number, (label, series) in enumerate(labelled):
        if series.has_loads:
            for workload in series.workloads:
                colour = number if lone else len(bars)
                name = f"{label}, {plain(workload)}"
                bars.append(_Bars(slowdowns(series, workload), name, colour))
            continue
        drawn = [curve for curve in curves(series) if len(curve.cells) > 1]
        lines += [
            _Line(curve, f"{label}, {curve_name(curve)}", number, turn)
            for turn, curve in enumerate(drawn)
        ]
    charts = []
    if lines:
        speedups = [mark for line in lines for mark in (_joined(line), _speedups(line))]
        charts = [
            _chart("Speed-up", f"{_LIMITS}.", speedups, "times as fast as one thread"),
            _time_chart(lines, "Medians of a period, or of a run of the program.", longest=False),
            _jitter_chart(lines),
        ]
    if bars:
        charts.append(_slowdown_chart(bars, "By each load on other CPUs, with 95 % limits."))
    return numbered(charts)


def _chart(title: str, note: str, marks: list[Mark], y_title: str, unit: str = "") -> Chart:
    most = max((float(mark.x.max()) for mark in marks), default=1.0)
    ends = [end for mark in marks for end in (*mark.y, *mark.high)]
    lowest = min((float(mark.y.min()) for mark in marks), default=0.0)
    across = Scale(0.5, most + 0.5)
    each = most <= _EACH_UP_TO
    marked = [Tick(n, str(n), n % 2 == 0 and most > 8) for n in range(1, int(most) + 1)]
    panel = Panel(
        x=Axis("threads", across, marked if each else ticks(across), "threads"),
        y=axis(y_title, linear(max(ends, default=1.0), min(0.0, lowest)), unit),
        marks=marks,
    )
    return Chart(title=title, note=note, panels=[panel])


def _time_chart(lines: Sequence[_Line], note: str, *, longest: bool) -> Chart:
    """Times in the unit that suits the longest."""
    medians = [[time_ns(cell) for cell in line.curve.cells] for line in lines]
    longest_of = [[float(longest_ns(cell)) for cell in line.curve.cells] for line in lines]
    most = max(ns for times in (longest_of if longest else medians) for ns in times)
    units = ((1e9, "s"), (1e6, "ms"), (1e3, "us"))
    scale, unit = next((one for one in units if most >= _LEAST_UNITS * one[0]), units[-1])
    marks = []
    for line, median, worst in zip(lines, medians, longest_of, strict=True):
        of_units = [ns / scale for ns in median]
        name = f"{line.name}, median" if longest else line.name
        marks.append(_mark(line, of_units, name=name, shape="line"))
        if longest:
            at = [ns / scale for ns in worst]
            marks.append(_mark(line, at, name=f"{line.name}, longest", shape="dots"))
        else:
            marks.append(_mark(line, of_units, shape="dots", legend=False))
    return _chart("Time", note, marks, f"time ({unit})", unit)


def _jitter_chart(lines: Sequence[_Line]) -> Chart:
    marks = [mark for line in lines for mark in _jitters(line)]
    note = "How much the 99th percentile is above the median, in per cent of the median."
    return _chart("Jitter", note, marks, "jitter (%)", "%")


def _mark(line: _Line, y: Sequence[float], **more: object) -> Mark:
    """A point for each cell of the curve."""
    fields = {
        "name": line.name,
        "x": floats([cell.placement.threads for cell in line.curve.cells]),
        "y": floats(y),
        "colour": line.colour,
        "dash": line.dash,
    }
    return Mark(**(fields | more))  # type: ignore[arg-type]


def _speedups(line: _Line) -> Mark:
    gains = line.curve.speedups
    low, high = _limits(gains)
    places = [cpus_text(cell.placement.cpus) for cell in line.curve.cells]
    texts = [f"{gain.value:.4g} on {where}" for gain, where in zip(gains, places, strict=True)]
    values = [one.value for one in gains]
    return _mark(line, values, shape="dots", low=low, high=high, texts=texts)


def _joined(line: _Line) -> Mark:
    return _mark(line, [one.value for one in line.curve.speedups], shape="line")


def _laws(line: _Line) -> list[Mark]:
    curve = line.curve
    most = max(cell.placement.threads for cell in curve.cells)
    x = [1 + step * (most - 1) / _POINTS for step in range(_POINTS + 1)]
    return [
        Mark(
            name=f"{line.name}, {law.law}",
            x=floats(x),
            y=floats([law.one_thread_ns.value / law.time_ns(n) for n in x]),
            colour=line.colour,
            dash=dash,
        )
        for law, dash in ((curve.amdahl, 2), (curve.usl, 1))
        if law
    ]


def _jitters(line: _Line) -> list[Mark]:
    known = [
        (cell.placement.threads, share * 100)
        for cell in line.curve.cells
        if (share := jitter(cell)) is not None
    ]
    if not known:
        return []
    x, y = (floats(values) for values in zip(*known, strict=True))
    style = {"name": line.name, "x": x, "y": y, "colour": line.colour, "dash": line.dash}
    return [Mark(**style), Mark(**style, shape="dots", legend=False)]  # type: ignore[arg-type]


def _limits(ratios: Sequence[Ratio]) -> tuple[list[float], list[float]]:
    """Lower and upper limits; the value itself where one round has none."""
    return [one.low or one.value for one in ratios], [one.high or one.value for one in ratios]


def _slowdown_chart(bars: Sequence[_Bars], note: str) -> Chart:
    """A group of bars for each load, the one that slows most on top."""
    found = sorted((o for group in bars for o in group.slowdowns), key=lambda o: -o.ratio.value)
    loads = list(dict.fromkeys(one.cell.load for one in found))
    drawn = []
    for number, group in enumerate(bars):
        ratios = [one.ratio for one in group.slowdowns]
        low, high = _limits(ratios)
        drawn.append(
            Bars(
                name=group.name,
                rows=[loads.index(one.cell.load) for one in group.slowdowns],
                start=[0.0] * len(ratios),
                end=[(one.value - 1) * 100 for one in ratios],
                slot=number,
                slots=len(bars),
                colour=group.colour,
                low=[(value - 1) * 100 for value in low],
                high=[(value - 1) * 100 for value in high],
            )
        )
    drawn = [one for one in drawn if one.rows]
    ends = [value for one in drawn for value in (*one.low, *one.high)]
    panel = Panel(
        x=axis(
            "longer than alone (%)",
            linear(max([1.0, *ends]), min([0.0, *ends])),
            "%",
        ),
        y=row_axis([plain(load) for load in loads]),
        bars=drawn,
        height=max(_ROW_REM, _BAR_REM * len(bars)) * max(1, len(loads)),
    )
    return Chart(title="Slowdown", note=note, panels=[panel])
