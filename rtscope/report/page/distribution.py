# SPDX-License-Identifier: GPL-2.0-only
"""The charts that all probes have: histogram, percentiles, and latency over time.

Each has a panel with a logarithmic axis of latency and one with a linear axis; the page's switches
choose between them, and between a line for each thread and one for threads that are alike.
"""

from collections.abc import Callable, Sequence
from typing import Final, Literal

import numpy as np

from rtscope.model.units import counted, format_ns
from rtscope.report.page.bins import Bins, Drawing, Series
from rtscope.report.page.chart import Axis, Chart, Mark, Note, Panel, Shown, axis, floats, rule
from rtscope.report.page.marks import Mark as Threshold
from rtscope.report.page.scale import (
    Scale,
    linear,
    logarithmic,
    number_text,
    percentile_ticks,
    ticks,
)

_NOTHING: Final = 0.1
"""samples: below the logarithmic axis"""
_LEAST_US: Final = 5e-4
"""where 0 ns stands on a logarithmic axis"""
_COLOURS: Final = 8
_AXES: Final[tuple[Literal["log", "linear"], ...]] = ("log", "linear")


class Lines:
    """The lines of one page and their common names, styles, thresholds and axis."""

    def __init__(
        self, drawn: Drawing, labels: Sequence[str], quantity: str, thresholds: Sequence[Threshold]
    ) -> None:
        """Lines of runs with these labels."""
        self.drawn, self.labels = drawn, labels
        self.quantity, self.thresholds = quantity, thresholds
        totals = {line.colour for line in drawn.series if line.total}
        self._by_run = len(labels) > 1 and len(totals) == 1
        self._has_totals = bool(totals)

    def mark(self, line: Series, x: object, y: object, shape: str = "line", **more: object) -> Mark:
        """A mark in the line's style."""
        by_run = self._by_run and line.total
        colour = line.run if by_run else line.colour
        several = len(self.labels) > 1 and not by_run
        shown: Shown = "all" if line.total else "" if line.lone else "each"
        fields = {
            "name": self.name(line),
            "x": floats(x),  # type: ignore[arg-type]
            "y": floats(y),  # type: ignore[arg-type]
            "shape": shape,
            "colour": colour,
            "dash": line.run if several else colour // _COLOURS,
            "shown": shown if self._has_totals else "",
        }
        return Mark(**(fields | more))  # type: ignore[arg-type]

    def name(self, line: Series) -> str:
        """As the legend has it."""
        return f"{self.labels[line.run]}, {line.name}" if len(self.labels) > 1 else line.name

    def latency_axis(self, kind: str, title: str = "", values: Sequence[float] = ()) -> Axis:
        """An axis with room for these values, or for all buckets, and for every threshold."""
        lines = [line for line in self.drawn.series if not line.total]
        held = list(values) or [us for line in lines for us in (*line.log.low[:1], *_ends(line))]
        held += [mark["at"] for mark in self.thresholds]
        high = max(held, default=1.0)
        name = f"{title or self.quantity} (us)"
        if kind == "linear":
            return axis(name, linear(high), "us")
        low = max(_LEAST_US, min(held, default=1.0))
        return axis(name, logarithmic(low, max(high, low)), "us")

    def rules(self, low: float, high: float, *, upright: bool) -> list[Mark]:
        """The thresholds across a panel."""
        return [
            rule(one["text"], one["at"], low, high, upright=upright, dash=number)
            for number, one in enumerate(self.thresholds, 1)
        ]


def _ends(line: Series) -> list[float]:
    return [*line.log.high[-1:], *(us for us in (line.worst, *(line.beyond or ())[:1]) if us)]


def shared_charts(lines: Lines) -> list[Chart]:
    """Histogram, percentiles, and over time where that is known."""
    made = [_histogram(lines), _percentiles(lines)] if _has_histogram(lines) else []
    return made + ([over_time(lines)] if any(len(s.time.t) for s in lines.drawn.series) else [])


def _has_histogram(lines: Lines) -> bool:
    return any(len(line.curve.x) for line in lines.drawn.series)


def _both(panel: Callable[[Literal["log", "linear"]], Panel]) -> list[Panel]:
    return [panel(kind) for kind in _AXES]


def _histogram(lines: Lines) -> Chart:
    series = lines.drawn.series
    ratio, width = lines.drawn.ratio, lines.drawn.width_us
    titles = {
        "log": f"samples per bin (bins {(ratio - 1) * 100:.1f} % wide)",
        "linear": f"samples per bin (bins {number_text(width)} us wide)",
    }

    def panel(kind: Literal["log", "linear"]) -> Panel:
        bins = [line.log if kind == "log" else line.linear for line in series]
        top = max((int(one.count.max()) for one in bins if len(one.count)), default=1)
        scale = Scale(0.7, max(top, 3) * 2, log=True)
        marks = []
        for line, one in zip(series, bins, strict=True):
            marks.append(lines.mark(line, *_steps(one), "hv"))
            if line.worst is not None:
                marks.append(lines.mark(line, [line.worst], [1], "dots", texts=[_worst(line)]))
            if line.beyond:
                at, count = line.beyond
                said = f"{counted(count, 'sample')} of {format_ns(at * 1000)} or more"
                marks.append(lines.mark(line, [at], [count], "dots", texts=[said]))
        return Panel(
            x=lines.latency_axis(kind),
            y=Axis(titles[kind], scale, ticks(scale, 8), "samples"),
            marks=marks + lines.rules(scale.low, scale.high, upright=True),
            notes=_pointers(lines),
            height=24,
            choice=kind,
        )

    return Chart(title="Histogram", id="histogram", panels=_both(panel))


def _worst(line: Series) -> str:
    return f"worst: {format_ns((line.worst or 0) * 1000)}"


def _pointers(lines: Lines) -> list[Note]:
    """The worst of all threads, and of all totals."""
    notes = []
    for total in (False, True):
        held = [line for line in lines.drawn.series if line.total == total or line.lone]
        known = [line for line in held if line.worst is not None]
        if known and any(line.total == total for line in known):
            worst = max(known, key=lambda line: line.worst or 0)
            has_both = any(line.total for line in lines.drawn.series)
            shown: Shown = ("all" if total else "each") if has_both else ""
            notes.append(Note(worst.worst or 0, f"{_worst(worst)}, {lines.name(worst)}", shown))
    return notes


def _steps(bins: Bins) -> tuple[object, object]:
    """One step per bin; where bins do not touch, the line falls to nothing between them."""
    if not len(bins.low):
        return [], []
    gaps = np.flatnonzero(bins.low[1:] > bins.high[:-1]) + 1
    x = np.insert(bins.low, gaps, bins.high[gaps - 1])
    y = np.insert(bins.count.astype(float), gaps, _NOTHING)
    return np.r_[bins.low[0], x, bins.high[-1]], np.r_[_NOTHING, y, _NOTHING]


def _percentiles(lines: Lines) -> Chart:
    series = [line for line in lines.drawn.series if len(line.curve.x)]
    most = max(10.0, *(float(line.curve.x[-1]) for line in series))
    scale = Scale(1, most * 1.1, log=True)
    across = Axis("percentile", scale, percentile_ticks(scale), "%")

    def panel(kind: Literal["log", "linear"]) -> Panel:
        marks = []
        for line in series:
            marks.append(lines.mark(line, line.curve.x, line.curve.y, "hv"))
            if line.beyond:
                at, _ = line.beyond
                said = f"the rest: {format_ns(at * 1000)} or more"
                marks.append(lines.mark(line, line.curve.x[-1:], [at], "dots", texts=[said]))
        marks += lines.rules(1, most, upright=False)
        return Panel(x=across, y=lines.latency_axis(kind), marks=marks, choice=kind)

    return Chart(title="Percentiles", id="percentiles", panels=_both(panel))


def over_time(lines: Lines, axes: Sequence[Literal["log", "linear"]] = _AXES) -> Chart:
    """The latency over time; some line must have windows."""
    series = [line for line in lines.drawn.series if len(line.time.t)]
    end = max(float(line.time.t[-1]) for line in series)
    across = axis("since the start (s)", linear(end), "s")
    known = [us for line in series for us in (*line.time.max, *line.time.mean) if us > 0]
    known += [us for line in series for _, us in line.spikes]

    def panel(kind: Literal["log", "linear"]) -> Panel:
        marks = []
        for line in series:
            # A window begins where the one before it ended, the first at the start of the run.
            t = np.r_[0, line.time.t]
            for y, style in (
                (line.time.max, {}),
                (line.time.mean, {"dash": 2, "soft": True, "legend": False}),
            ):
                marks.append(lines.mark(line, t, np.r_[y[:1], y], "vh", **style))
            if line.spikes:
                at, us = zip(*line.spikes, strict=True)
                marks.append(lines.mark(line, at, us, "dots", legend=False))
        marks += lines.rules(0, end, upright=False)
        title = f"max {lines.quantity}, and mean dotted"
        return Panel(x=across, y=lines.latency_axis(kind, title, known), marks=marks, choice=kind)

    return Chart(title="Over time", id="time", panels=[panel(kind) for kind in axes])
