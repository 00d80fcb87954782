# SPDX-License-Identifier: GPL-2.0-only
"""The first run of a page against the others: a headline, and a sentence each."""

import numpy as np

from rtscope.model.run import Run
from rtscope.report.page.report import html_report
from rtscope.wording.comparison import verdict_of
from tests.measured import latencies, run_of, thread_of


def a_run(times: float = 1.0, **fields: object) -> Run:
    values = latencies(np.random.default_rng(3), "independent") * times
    return run_of(thread_of(values.astype(int)), **fields)


def test_each_run_is_compared_with_the_first() -> None:
    verdict = verdict_of("ABCD", [a_run(), a_run(), a_run(0.5), a_run(probe="loop")])
    assert verdict.headline == (
        "No evidence that B differs from A; C is better than A; D cannot be compared with A"
    )
    assert [text.split(" ", 1)[0] for text in verdict.sentences] == ["No", "C", "A", "This"]
    assert "<h1>Measured on board</h1>" in html_report([a_run()])
    assert "<h1>5 runs</h1>" in html_report([a_run()] * 5)
