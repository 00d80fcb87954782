# SPDX-License-Identifier: GPL-2.0-only
"""Changes and steps are told to a person, whatever a machine calls its threads."""

from rtscope.report.page.report import html_report
from rtscope.report.page.step_charts import step_chart
from rtscope.statistics.steps import steps_among
from tests.measured import run_of, thread_of
from tests.report.views import change, tuned

RUNS = [tuned(step, number) for number in (1, 2, 3) for step in (0, 1)]


def test_names_of_threads_steer_no_page() -> None:
    hostile = "\x1b[31m[bold]</script>\u202eevil"
    exceptions = [change(hostile, "failed", hostile)]
    page = html_report(
        [tuned(step, 1, name=hostile, profile=hostile, exceptions=exceptions) for step in (0, 1)]
    )
    assert "</script>\\u202e" not in page
    assert "[bold]</script>" not in page


def test_the_page_has_a_panel_for_each_step_and_a_line_for_each_cpu() -> None:
    (steps,) = steps_among(RUNS)
    chart = step_chart(steps, RUNS, "steps-0")
    assert chart
    assert [(panel.title, [mark.name for mark in panel.marks]) for panel in chart.panels] == [
        ("as booted", ["CPU 0", "CPU 1"]),
        ("moved", ["CPU 0", "CPU 1"]),
    ]
    samples = [sum(count for count in mark.y if count >= 1) for mark in chart.marks]
    assert samples == [6000] * 4, "no sample is lost between the bins"
    run = tuned(1, 4, held=2, exceptions=[change("irq 9", "immovable", "per CPU")])
    page = html_report([*RUNS, run])
    assert "moved (step 1 of ours for CPUs 1, round 4): 2 changes held, 1 not" in page
    assert "immovable: irq 9: per CPU" in page
    assert 'id="steps-0"' in page
    assert "The profile ours for CPU 1, step by step" in page
    assert 'id="steps-0"' not in html_report([run_of(thread_of([1, 2, 3]))])
