# SPDX-License-Identifier: GPL-2.0-only
"""A series's page and table: what to do comes first, and the figures are those measured."""

import io

import numpy as np
import pytest
from rich.console import Console

from rtscope.model.placement_series import MeasuredSeries
from rtscope.model.run import Asked, RunWarning
from rtscope.model.scaling import Placement
from rtscope.report.page.placement_charts import placement_charts
from rtscope.report.page.report import html_report
from rtscope.report.page.scale import Scale
from rtscope.report.terminal.run import summary
from tests.placements import (
    ONE_NS,
    T2080,
    cell_of,
    machine_of,
    measured_on,
    run_of_series,
    vector_unit_a_core,
)


def shown(series: MeasuredSeries) -> str:
    out = io.StringIO()
    Console(file=out, width=160).print(summary(run_of_series(series)))
    return out.getvalue()


def page_of(series: MeasuredSeries) -> str:
    return html_report([run_of_series(series)])


@pytest.fixture(scope="module")
def t2080() -> MeasuredSeries:
    return measured_on(T2080, vector_unit_a_core)


def test_the_recommendation_comes_before_everything_that_was_measured(
    t2080: MeasuredSeries,
) -> None:
    for text in (shown(t2080), page_of(t2080).partition("<body")[2]):
        advice = text.index("Use CPUs 0, 2, 4, 6 for 4 vector threads")
        finding = text.index("share a vector unit")
        table = text.index("times as fast", text.index("workload"))
        assert advice < finding < table


def test_a_hostile_name_stays_text_on_the_page(t2080: MeasuredSeries) -> None:
    name = "</script><b>\x1b[31m"
    asked = Asked(command=["rtscope", name])
    page = html_report([run_of_series(t2080, name, warnings=[RunWarning("w", name)], asked=asked)])
    assert "<b>" not in page.partition("<body")[2].partition("<script>")[0]
    assert page.count("<figure ") == 3


def test_curves_are_drawn_with_both_laws(t2080: MeasuredSeries) -> None:
    speedup, time, jitter = placement_charts(t2080)
    assert (speedup.title, time.title, jitter.title) == ("Speed-up", "Time", "Jitter")
    names = [mark.name for mark in speedup.marks]
    assert names[:3] == [
        "scalar, cores first",
        "scalar, cores first, Amdahl",
        "scalar, cores first, USL",
    ]
    assert len(names) == 12
    law = speedup.marks[1]
    assert law.y[0] == pytest.approx(1, abs=0.01)
    assert law.y[-1] == pytest.approx(1 / (0.05 + 0.95 / 8), rel=0.02)
    axis = speedup.panels[0].x
    assert [tick.at for tick in axis.ticks] == [*range(1, 9)]
    assert axis.scale == Scale(0.5, 8.5)


def test_slowdowns_are_drawn_and_reported_worst_first() -> None:
    rng = np.random.default_rng(4)
    place = Placement((1,), 1)
    times = {"idle": 1.0, "cache": 1.5, "memory": 2.0}
    cells = [cell_of(rng, "./app", place, ONE_NS * t, load=load) for load, t in times.items()]
    series = MeasuredSeries(machine_of(2, 1), cells, 5, load_cpus=[0])
    [chart] = placement_charts(series)
    [bars] = chart.bars
    rows = chart.panels[0].y
    assert [rows.rows[row] for row in bars.rows] == ["memory", "cache"]
    assert rows.ticks[0].text == "memory"
    assert rows.scale.share([0.5])[0] > rows.scale.share([1.5])[0]
    assert bars.end[0] == pytest.approx(100, abs=3)
    reported = [line.split()[0] for line in shown(series).splitlines() if "./app  " in line]
    assert reported == ["idle", "memory", "cache"]
