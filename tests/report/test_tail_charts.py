# SPDX-License-Identifier: GPL-2.0-only
"""The charts of a tail show what the fit says."""

import msgspec
import numpy as np
import pytest

from rtscope.report.page.probe_charts import Labelled
from rtscope.report.page.tail_charts import tail_charts
from rtscope.statistics.tail.bounds import PERIODS_S, thread_tail
from tests.statistics.tail.synthetic import KNOWN, run_with

RUN = run_with(KNOWN[3], 1)


def test_the_line_ends_at_the_level_of_a_year_and_the_dots_lie_along_it() -> None:
    (chart,) = tail_charts([Labelled("", RUN)])
    levels, shapes = chart.panels
    dots, line, limits = levels.marks
    fitted = thread_tail(RUN, RUN.threads[0]).fitted
    assert fitted is not None

    year = fitted.levels[-1]
    assert line.x[-1] == pytest.approx(PERIODS_S["year"] / 3600)
    assert line.y[-1] == pytest.approx(year.ns / 1000)
    assert (limits.low[-1], limits.high[-1]) == (year.low_ns / 1000, (year.high_ns or 0) / 1000)
    assert dots.y.max() == pytest.approx((RUN.threads[0].max_ns or 0) / 1000, rel=1e-3)
    middle = np.interp(dots.x, line.x, line.y)
    assert np.median(np.abs(dots.y / middle - 1)) < 0.02
    assert [len(mark.x) for mark in shapes.marks] == [
        len(thread_tail(RUN, RUN.threads[0]).stability)
    ]


def test_a_run_without_times_of_its_largest_samples_has_no_such_chart() -> None:
    bare = [msgspec.structs.replace(thread, exceedances=None) for thread in RUN.threads]
    assert tail_charts([Labelled("", msgspec.structs.replace(RUN, threads=bare))]) == []
