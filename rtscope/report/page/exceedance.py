# SPDX-License-Identifier: GPL-2.0-only
"""The share of samples above each latency, 1 - F, on two logarithmic axes.

Lines are the histograms' own buckets, never put into others: at each latency that a bucket ends
with, the line has exactly the share of samples above it. The band has the limits of each quantile
of all CPUs together, of 95 % confidence each (statistics/confidence.py). Budgets are drawn where a
line would break them: a limit on the maximum is a vertical rule, one on a quantile the corner that
the line must stay below and to the left of.
"""

import math
from collections.abc import Sequence
from contextlib import suppress
from typing import Final

import numpy as np

from rtscope.model.budget import Limit, parse_limit
from rtscope.model.errors import RtscopeError
from rtscope.model.run import Run
from rtscope.report.page.bins import Series
from rtscope.report.page.chart import GREY, Axis, Chart, Mark, Panel, floats
from rtscope.report.page.distribution import Lines
from rtscope.report.page.scale import Scale, Tick
from rtscope.statistics.comparison import Side, side_of
from rtscope.statistics.confidence import quantile_interval
from rtscope.statistics.metrics import PERCENTS, SAMPLES_BEYOND

_SHARES_PER_DECADE: Final = 6
_SUPERSCRIPTS: Final = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")
_HEIGHT: Final = 26.0


def exceedance(lines: Lines, runs: Sequence[Run], shown: Sequence[Series]) -> Chart:
    """The chart of these lines of the runs, with the bands and budgets of the runs."""
    drawn = [line for line in shown if len(line.curve.x)]
    most = max((float(line.curve.x[-1]) for line in drawn), default=10.0)
    scale = Scale(0.5 / most, 1.3, log=True)
    down = Axis("share of samples above (1 − F)", scale, _ticks(most))
    limits = _limits(runs)
    across = lines.latency_axis("log", values=_reached(lines, drawn, limits))
    marks: list[Mark] = []
    for number, run in enumerate(runs):
        marks += _band(number if len(runs) > 1 else _total_colour(lines), run)
    marks += [lines.mark(line, line.curve.y, 1 / line.curve.x, "vh") for line in drawn]
    marks += [_rule(limit, across.scale, scale) for limit in limits]
    return Chart(
        title="Share of samples above each latency",
        id="exceedance",
        panels=[Panel(x=across, y=down, marks=marks, height=_HEIGHT)],
        note="10⁻² is p99, 10⁻⁴ is p99.99. "
        "The band has the limits of 95 % confidence of each quantile of all CPUs together; it ends "
        f"where fewer than {SAMPLES_BEYOND} samples are left.",
    )


def _ticks(most: float) -> list[Tick]:
    powers = range(math.floor(math.log10(most)) + 1)
    every = 1 + len(powers) // 9
    return [
        Tick(10.0**-power, f"10{str(-power).translate(_SUPERSCRIPTS)}" if power else "1")
        for power in powers
        if power % every == 0
    ]


def _reached(lines: Lines, drawn: Sequence[Series], limits: Sequence[Limit]) -> list[float]:
    ends = [float(us) for line in drawn for us in (line.curve.y[0], line.curve.y[-1])]
    beyond = [line.beyond[0] for line in drawn if line.beyond]
    return [*ends, *beyond, *(limit.value / 1000 for limit in limits)]


def _limits(runs: Sequence[Run]) -> list[Limit]:
    """The runs' budgets that are a latency."""
    found: dict[str, Limit] = {}
    for text in (text for run in runs for text in run.asked.budget):
        with suppress(RtscopeError):
            limit = parse_limit(text)
            if (limit.percent is not None and not limit.is_response) or limit.metric == "max":
                found[limit.text] = limit
    return list(found.values())


def _rule(limit: Limit, across: Scale, down: Scale) -> Mark:
    at = limit.value / 1000
    if limit.percent is None:
        x, y = [at, at], [down.low, down.high]
    else:
        share = 1 - limit.percent / 100
        x, y = [at, at, across.high], [down.high, share, share]
    name = f"budget {limit.text}"
    return Mark(name=name, x=floats(x), y=floats(y), colour=GREY, dash=1)


def _total_colour(lines: Lines) -> int:
    totals = [line.colour for line in lines.drawn.series if line.total or line.lone]
    return totals[0] if totals else 0


def _band(colour: int, run: Run) -> list[Mark]:
    """The limits of the quantiles of all threads together."""
    try:
        side = side_of(run)
    except RtscopeError:
        return []
    if side.ranks.total < 2 * SAMPLES_BEYOND:
        return []
    deepest = math.log10(side.ranks.total / SAMPLES_BEYOND)
    shares = 10.0 ** -np.arange(0, deepest + 1e-9, 1 / _SHARES_PER_DECADE)[1:]
    points = []
    for share in shares.tolist():
        percent = round(100 * (1 - share), 9)
        limits = quantile_interval(side.ranks, percent, _effective(side, percent))
        if limits.low_ns is not None and limits.high_ns is not None:
            points.append((share, limits.low_ns / 1000, limits.high_ns / 1000))
    if len(points) < 2:
        return []
    share, low, high = (np.array(column) for column in zip(*points, strict=True))
    name = "95 % confidence"
    x, y = np.r_[low, high[::-1]], np.r_[share, share[::-1]]
    return [Mark(name=name, x=x, y=y, shape="band", colour=colour, legend=False)]


def _effective(side: Side, percent: float) -> float:
    """The effective number of samples of the next deeper percentile that has one."""
    return side.effective[next((one for one in PERCENTS if one >= percent), PERCENTS[-1])]
