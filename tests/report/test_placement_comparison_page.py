# SPDX-License-Identifier: GPL-2.0-only
"""Several series on a page: what to do of each first, then one figure of all, cell by cell."""

import re

import msgspec
import numpy as np
import pytest

from rtscope.model.placement_series import MeasuredSeries, series_of
from rtscope.model.run import Run
from rtscope.model.scaling import Placement
from rtscope.report.page.chart import Chart
from rtscope.report.page.placement_charts import charts_together
from rtscope.report.page.report import html_report
from rtscope.statistics.reference import column_label
from tests.placements import (
    ONE_NS,
    T2080,
    alike,
    cell_of,
    machine_of,
    measured_on,
    one_bucket,
    run_of_series,
    vector_unit_a_core,
)


def of_program(series: MeasuredSeries, name: str) -> Run:
    return run_of_series(msgspec.structs.replace(series, program=[name]), name)


def beside(seed: int, **times: float) -> Run:
    rng = np.random.default_rng(seed)
    place = Placement((1,), 1)
    cells = [cell_of(rng, "./app", place, ONE_NS * t, load=load) for load, t in times.items()]
    return of_program(MeasuredSeries(machine_of(2, 1), cells, 5, load_cpus=[0]), "./app")


def charts(*runs: Run) -> dict[str, Chart]:
    labelled = [(column_label(n), series_of(run)) for n, run in enumerate(runs)]
    return {chart.title: chart for chart in charts_together(labelled)}


def rows(page: str) -> list[list[str]]:
    """The words of the table of all cells."""
    table = page.partition("<h2>Metrics</h2>")[2].partition("</table>")[0]
    found = [re.findall(r"<t[hd][^>]*>(.*?)</t[hd]>", row) for row in table.split("<tr>")[1:]]
    return [[cell.replace("<br>", " ") for cell in row] for row in found]


@pytest.fixture(scope="module")
def two() -> list[Run]:
    a, b = measured_on(T2080, vector_unit_a_core), measured_on(T2080, alike, seed=5)
    return [run_of_series(a), run_of_series(b)]


@pytest.fixture(scope="module")
def both(two: list[Run]) -> str:
    return html_report(two)


def test_the_curves_of_all_are_in_the_same_chart_in_a_colour_each(two: list[Run]) -> None:
    drawn = charts(*two)
    assert [*drawn] == ["Speed-up", "Time", "Jitter"]
    for chart in drawn.values():
        curves = [mark for mark in chart.marks if mark.shape == "line"]
        assert [(mark.name[:9], mark.colour) for mark in curves] == [
            *[("A, scalar", 0), ("A, scalar", 0), ("A, vector", 0), ("A, vector", 0)],
            *[("B, scalar", 1), ("B, scalar", 1), ("B, vector", 1), ("B, vector", 1)],
        ]
        assert len({mark.dash for mark in curves}) == 4
    a, b = (drawn["Speed-up"].marks[2 * number + 1] for number in (2, 6))
    assert a.name == "A, vector, cores first"
    assert a.x.tolist() == b.x.tolist() == [*range(1, 9)]
    assert a.y[-1] == pytest.approx(1 / (0.05 + 0.95 / 4), rel=0.02)
    assert b.y[-1] == pytest.approx(1 / (0.05 + 0.95 / 8), rel=0.02)
    assert all(
        low < value < high for low, value, high in list(zip(a.low, a.y, a.high, strict=True))[1:]
    )
    assert drawn["Time"].marks[12].y[0] == pytest.approx(ONE_NS / 1000, rel=0.02)
    assert drawn["Time"].panels[0].y.title == "time (us)"


def test_the_same_cell_of_each_stands_in_one_row(both: str) -> None:
    head, *cells = rows(both)
    assert head[3:] == ["A time", "B time", "A times as fast", "B times as fast"]
    [row] = [row for row in cells if row[:3] == ["vector", "8", "0-7"]]
    assert float(row[5].split()[0]) == pytest.approx(1 / (0.05 + 0.95 / 4), rel=0.02)
    assert float(row[6].split()[0]) == pytest.approx(1 / (0.05 + 0.95 / 8), rel=0.02)


def test_two_versions_of_a_program_are_held_side_by_side_though_their_names_differ() -> None:
    old, new = (measured_on(T2080, how, workloads=["./app"]) for how in (one_bucket, alike))
    runs = [of_program(old, "./old"), of_program(new, "./new")]
    page = html_report(runs)
    head, *cells = rows(page)
    assert head[:2] == ["threads", "CPUs"]
    assert [row[0] for row in cells] == sorted(row[0] for row in cells)
    assert len(cells) == len(old.cells)
    assert all("–" not in row[2:4] for row in cells)
    names = {mark.name for mark in charts(*runs)["Speed-up"].marks}
    assert {"A, ./old, cores first", "B, ./new, cores first"} <= names


def test_what_each_load_does_in_each_series_is_side_by_side_worst_first() -> None:
    a = beside(1, idle=1, cache=1.4, memory=1.2, disk=1)
    b = beside(2, idle=2, cache=2.8, memory=4, network=2)
    page = html_report([a, b])
    [slowdown] = charts(a, b).values()
    assert [(bars.name, bars.colour) for bars in slowdown.bars] == [
        ("A, ./app", 0),
        ("B, ./app", 1),
    ]
    loads = slowdown.panels[0].y.rows
    assert list(loads[:2]) == ["memory", "cache"]
    first, second = (
        {loads[row]: end for row, end in zip(bars.rows, bars.end, strict=True)}
        for bars in slowdown.bars
    )
    assert (first["memory"], second["memory"]) == pytest.approx((20, 100), abs=3)
    head, *cells = rows(page)
    assert head == ["beside", "A time", "B time", "A times as long", "B times as long"]
    assert [row[0] for row in cells[:3]] == ["idle", "memory", "cache"]
    [network] = [row for row in cells if row[0] == "network"]
    assert [network[1], network[3]] == ["–", "–"]
