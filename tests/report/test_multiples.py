# SPDX-License-Identifier: GPL-2.0-only
"""The CPUs of a run stand beside each other on one scale, and what differs is said in words."""

import io

import numpy as np
import pytest

from rtscope.model.run import Run
from rtscope.report.findings import findings_of
from rtscope.report.page.multiples import multiples
from rtscope.report.page.probe_charts import Labelled, charts_of
from rtscope.report.page.report import html_report
from rtscope.report.terminal import output_console, summary
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


def test_a_cpu_that_differs_is_told_and_has_another_colour() -> None:
    run = a_run(4, worse=2)
    different = [found.cpu for found in findings_of(run) if found.cpu is not None]
    chart = multiples(run, "latency", different)
    assert chart.note.endswith("What differs has another colour: 2.")
    assert [panel.marks[0].colour for panel in chart.panels] == [0, 0, 1, 0]


def test_which_cpus_differ_is_said_in_the_terminal_and_once_on_the_page() -> None:
    run = a_run(4, worse=2)
    first, second = (found.text for found in findings_of(run))
    assert first.startswith("CPU 2 differs: its p99")
    assert second == "no evidence that the other CPUs differ by 10 % or more"
    file = io.StringIO()
    output_console(file).print(summary(run))
    assert f"→ {first}" in " ".join(file.getvalue().split())
    assert f"→ {second}" in file.getvalue()
    page = html_report([run])
    assert page.count(second) == 1
    assert "What differs has another colour: 2." in page


@pytest.mark.parametrize(
    ("count", "said"),
    [
        (3, ["no evidence that the CPUs differ by 10 % or more"]),
        (2, ["no evidence that the two CPUs differ by 10 % or more"]),
        (1, []),
    ],
)
def test_cpus_that_are_alike_are_said_to_be(count: int, said: list[str]) -> None:
    assert [found.text for found in findings_of(a_run(count))] == said


def test_cpus_with_too_few_samples_are_told_as_that() -> None:
    many, few = [*range(900, 1100)] * 20, [*range(500, 1500, 20)]
    run = run_of(*(thread_of(one, cpu) for cpu, one in enumerate([many, many, few])))
    assert [found.text for found in findings_of(run)] == [
        "too few data to say whether CPU 2 differs by 10 % or more from CPU 0: measure for longer",
        "no evidence that the other CPU differs by 10 % or more",
    ]


def test_only_several_cpus_without_names_have_panels() -> None:
    assert [chart.title for chart in charts_of([Labelled("A", a_run(2))])] == ["A: each CPU"]
    assert charts_of([Labelled("", a_run(1))]) == []
    assert charts_of([Labelled("", run_of(thread_of([5] * 99), probe="cyclic"))]) == []
