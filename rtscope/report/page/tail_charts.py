# SPDX-License-Identifier: GPL-2.0-only
"""The tail of a run's threads: what is reached in longer times, and how stable the fit is."""

from collections.abc import Sequence
from typing import Final

import numpy as np

from rtscope.report.page.bins import thread_colours, thread_key
from rtscope.report.page.chart import Chart, Floats, Mark, Panel, axis, floats
from rtscope.report.page.probe_charts import Labelled
from rtscope.report.page.scale import linear, logarithmic
from rtscope.statistics.tail.bounds import PERIODS_S, Fit, ThreadTail, return_level_ns, thread_tail
from rtscope.wording.tail import disagreement, refusal, shape_sentence
from rtscope.wording.values import thread_name

_MOST_THREADS: Final = 4
_POINTS: Final = 80
_HOUR_S: Final = 3600
_HEIGHT: Final = 16.0


def tail_charts(labelled: Sequence[Labelled]) -> list[Chart]:
    """A chart of each run that has exceedances, of its threads with the largest samples."""
    return [_chart(one) for one in labelled if any(t.exceedances for t in one.run.threads)]


def _chart(one: Labelled) -> Chart:
    threads = [thread for thread in one.run.threads if thread.exceedances]
    largest = sorted(threads, key=lambda thread: -(thread.max_ns or 0))[:_MOST_THREADS]
    colours = thread_colours([one.run])
    levels: list[Mark] = []
    shapes: list[Mark] = []
    lines = []
    for thread in sorted(largest, key=lambda thread: thread.thread):
        tail, name = thread_tail(one.run, thread), thread_name(thread)
        colour = colours[thread_key(thread)]
        if tail.fitted:
            levels += _levels(tail.fitted, name, colour)
            lines.append(f"{name}: {shape_sentence(tail.fitted)}.")
            if warning := disagreement(tail.fitted):
                lines.append(f"{name}: {warning}.")
        else:
            lines.append(f"{name}: no bound: {refusal(tail)}.")
        if tail.stability:
            shapes.append(_shapes(tail, name, colour))
    title = "How late in longer times"
    return Chart(
        title=f"{one.label}: {title[0].lower()}{title[1:]}" if one.label else title,
        note=" ".join(
            [
                *lines,
                "Dots: the largest samples, where their rank places them; line: the fit; bars: "
                "limits of 95 % for an hour, a day and a year of this load. It is no worst case.",
            ]
        ),
        panels=[*_level_panel(levels), *_shape_panel(shapes)],
    )


def _levels(fitted: Fit, name: str, colour: int) -> list[Mark]:
    excesses = np.asarray(fitted.excesses_ns)
    number = len(excesses)
    hours = (number + 1) / np.arange(number, 0, -1) / fitted.clusters_per_hour
    shown = np.unique(np.round(np.geomspace(1, number, 200)).astype(int))
    times = np.geomspace(float(hours[0]), PERIODS_S["year"] / _HOUR_S, _POINTS)
    fit = [return_level_ns(fitted, float(hour)) / 1000 for hour in times]
    return [
        Mark(
            name=name,
            x=hours[number - shown],
            y=(fitted.threshold_ns + excesses[number - shown]) / 1000,
            shape="dots",
            colour=colour,
        ),
        Mark(name=name, x=times, y=floats(fit), colour=colour, legend=False),
        Mark(
            name=name,
            x=floats([PERIODS_S[level.period] / _HOUR_S for level in fitted.levels]),
            y=floats([level.ns / 1000 for level in fitted.levels]),
            low=[level.low_ns / 1000 for level in fitted.levels],
            high=[(level.high_ns or level.ns) / 1000 for level in fitted.levels],
            shape="dots",
            colour=colour,
            legend=False,
        ),
    ]


def _shapes(tail: ThreadTail, name: str, colour: int) -> Mark:
    return Mark(
        name=name,
        x=floats([one.threshold_ns / 1000 for one in tail.stability]),
        y=floats([one.shape for one in tail.stability]),
        low=[one.shape - 1.96 * one.error for one in tail.stability],
        high=[one.shape + 1.96 * one.error for one in tail.stability],
        shape="dots",
        colour=colour,
    )


def _level_panel(marks: Sequence[Mark]) -> list[Panel]:
    if not marks:
        return []
    x, y = _ends(marks)
    return [
        Panel(
            x=axis("hours of operation", logarithmic(*x), "h"),
            y=axis("latency (us)", logarithmic(*y), "us"),
            marks=[*marks],
            title="Reached once in this time",
            height=_HEIGHT,
        )
    ]


def _shape_panel(marks: Sequence[Mark]) -> list[Panel]:
    if not marks:
        return []
    x, y = _ends(marks)
    return [
        Panel(
            x=axis("threshold (us)", logarithmic(*x), "us"),
            y=axis("shape", linear(y[1], y[0])),
            marks=[*marks],
            title="Shape of the tail over each threshold",
            height=_HEIGHT,
        )
    ]


def _ends(marks: Sequence[Mark]) -> tuple[tuple[float, float], tuple[float, float]]:
    x: Floats = np.concatenate([mark.x for mark in marks])
    y: Floats = np.concatenate(
        [np.concatenate((mark.y, floats(mark.low), floats(mark.high))) for mark in marks]
    )
    return (float(x.min()), float(x.max())), (float(y.min()), float(y.max()))
