# SPDX-License-Identifier: GPL-2.0-only
"""What CPUs are to each other: sentences first, then tables and heat maps."""

import pytest

from rtscope.model.run import Matrix
from rtscope.report.page.matrix_charts import heat_map, matrix_chart
from rtscope.report.page.report import html_report
from rtscope.report.page.svg import figure
from rtscope.report.tables.matrices import matrix_columns
from tests.statistics.test_reach import run_with as memory_run
from tests.statistics.test_reach import times
from tests.statistics.test_sharing import machine_of, run_with


def test_the_page_has_a_heat_map_of_each_matrix() -> None:
    run = run_with(machine_of(2), vector={(0, 1): 1.9})
    page = html_report([run])
    assert page.index("share a vector unit") < page.index("Slowdown in vector arithmetic")
    assert page.count('<table class="heat">') == len(run.matrices)
    heats = {c.title: c.heat for m in run.matrices if (c := matrix_chart(run, m, ""))}
    heat = heats["Slowdown in vector arithmetic"]
    assert heat
    assert heat.texts == [["", "1.90"], ["1.90", ""]]
    assert heat.shares == [[None, pytest.approx(0.45)], [pytest.approx(0.45), None]]
    assert page.index("<h3>Slowdown in vector arithmetic") < page.index("<h3>Histogram")


def test_labels_of_a_machine_are_no_markup() -> None:
    evil = Matrix("m", "<b>", ["<i>x"], ["\x1b[31m"], [[1.0]], [[1.0]], [[1.0]])
    drawn = figure(heat_map(evil, ""))
    assert "&lt;i&gt;x" in drawn
    assert "1 &lt;b&gt;" in drawn
    assert "\x1b" not in drawn + "".join(
        str(cell) for column in matrix_columns(evil) for cell in column.cells
    )


def test_curves_have_the_caches_that_the_kernel_reports_and_sizes_at_their_axis() -> None:
    run = memory_run(times([48 << 10, 2 << 20], [1.7, 5.4, 130]))
    chart = matrix_chart(run, run.matrices[0], "")
    assert [mark.name for mark in chart.marks] == [
        "CPU 0", "all 2 CPUs", "L1: 48 KiB", "L2: 2 MiB", "caches seen",
    ]  # fmt: skip
    assert chart.marks[2].x.tolist() == [48, 48]
    axis = chart.panels[0].x
    assert axis.scale.log
    assert {tick.text: tick.at for tick in axis.ticks}["16 MiB"] == 16 << 10
    assert "caches have the sizes that the kernel reports" in html_report([run])


def test_caches_that_show_are_marked_on_each_curve_of_the_first_cpu() -> None:
    run = memory_run(times([48 << 10, 512 << 10], [1.7, 5.4, 130]))
    loads, reading = (matrix_chart(run, matrix, "") for matrix in run.matrices[:2])
    for chart, figures in ((loads, [1.7, 5.4]), (reading, [10.0, 10.0])):
        dots = chart.marks[-1]
        assert (dots.x.tolist(), dots.y.tolist()) == ([48, 512], figures)
        assert chart.note.endswith("one to end: 48 KiB, 512 KiB.")
