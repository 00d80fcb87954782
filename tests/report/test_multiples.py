# SPDX-License-Identifier: GPL-2.0-only
"""The CPUs of a run stand beside each other on one scale, and what differs is said in words."""

import numpy as np

from rtscope.model.run import Run
from rtscope.report.page.multiples import multiples
from rtscope.wording.findings import sentences_of
from tests.measured import latencies, run_of, thread_of


def a_run(count: int, worse: int = -1) -> Run:
    rng = np.random.default_rng(7)
    return run_of(
        *(
            thread_of(latencies(rng, "independent") * (2 if cpu == worse else 1), cpu)
            for cpu in range(count)
        )
    )


def test_each_cpu_has_a_panel_with_all_its_samples_and_its_worst_marked() -> None:
    run = a_run(6)
    chart = multiples(run, "latency", [])
    assert [panel.title for panel in chart.panels] == [f"CPU {t.cpu}" for t in run.threads]
    assert len({(panel.x.scale, panel.y.scale) for panel in chart.panels}) == 1
    for panel, thread in zip(chart.panels, run.threads, strict=True):
        steps, dots = panel.marks
        assert sum(count for count in steps.y if count >= 1) == thread.count
        assert dots.x.tolist() == [sample.latency_ns / 1000 for sample in thread.worst]


def test_a_cpu_that_differs_is_reported_and_has_another_colour() -> None:
    run = a_run(4, worse=2)
    different = [found.cpu for found in sentences_of(run) if found.cpu is not None]
    chart = multiples(run, "latency", different)
    assert chart.note.endswith("What differs has another colour: 2.")
    assert [panel.marks[0].colour for panel in chart.panels] == [0, 0, 1, 0]
