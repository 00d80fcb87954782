# SPDX-License-Identifier: GPL-2.0-only
"""Changes and steps are told to a person, whatever a machine calls its threads."""

import io
import re

import msgspec
import numpy as np
from rich.console import Console

from rtscope.model.run import Run, RunWarning
from rtscope.model.tuning import Change, ChangeState, Tuning
from rtscope.report.page.report import html_report
from rtscope.report.page.step_charts import step_chart
from rtscope.report.terminal.run import summary
from rtscope.report.terminal.tuning import ChangesView, PlanView, StepsView, counts_line
from rtscope.statistics.steps import steps_among
from tests.measured import run_of, thread_of

HOSTILE = "\x1b[31m[bold]</script>\u202eevil"


def shown(view: object, width: int = 160) -> str:
    console = Console(file=io.StringIO(), width=width, highlight=False)
    console.print(view)
    file = console.file
    assert isinstance(file, io.StringIO)
    return file.getvalue()


def change(what: str = "irq 24", state: ChangeState = "applied", why: str = "") -> Change:
    return Change("ours", "interrupt", what, "/proc/irq/24", "0-3", "0", state, why)


def tuned(step: int, number: int, **more: object) -> Run:
    rng = np.random.default_rng(10 * step + number)
    factor = 0.5 if step else 1.0
    threads = [
        thread_of((rng.lognormal(8, 0.2, 2000) * (factor if cpu else 1)).astype(np.int64), cpu)
        for cpu in (0, 1)
    ]
    name = "moved" if step else "as booted"
    tuning = Tuning("ours", step, name, cpus="1", round=number, held=2 * step)
    tuning = msgspec.structs.replace(tuning, **more)
    return run_of(*threads, id=f"{step:08x}{number:08x}", tuning=tuning, elapsed_ns=10**9)


RUNS = [tuned(step, number) for number in (1, 2, 3) for step in (0, 1)]


def test_a_plan_is_a_table_of_old_and_new() -> None:
    text = shown(ChangesView("this would be changed", [change(state="planned")]))
    assert re.search(r"what +is +is to be +state +where", text)
    assert re.search(r"irq 24 +0-3 +0 +planned +/proc/irq/24", text)
    assert "1 change (1 interrupt): 1 planned" in text


def test_a_plan_has_a_row_for_each_step() -> None:
    states: list[tuple[ChangeState, str]] = [
        *(("planned", "a"), ("planned", "b"), ("immovable", "b"), ("failed", "")),
    ]
    planned = [msgspec.structs.replace(change(state=state), rule=rule) for state, rule in states]
    view = PlanView("x", [("one", ["a", "b"]), ("two", ["c"])], planned)
    assert list(view.rows()) == [
        ("one", {"planned": 2, "immovable": 1}),
        ("two", {}),
        ("other", {"failed": 1}),
    ]
    assert re.search(r"one +3 +2 planned, 1 immovable", shown(view))


def test_what_did_not_hold_is_told_with_its_reason() -> None:
    changes = [change(), change("irq 9", "not-held", "irqbalance set it back")]
    text = shown(ChangesView("x", changes))
    assert "! irq 9: irqbalance set it back" in text
    assert counts_line(changes) == "2 changes (2 interrupt): 1 applied, 1 not-held"


def test_rules_of_a_profile_for_many_machines_that_match_nothing_are_counted() -> None:
    rules = [RunWarning("rule-unmatched", f"rule {number}") for number in range(3)]
    text = shown(ChangesView("x", [change()], [*rules, RunWarning("denied", "not root")]))
    assert "3 rules match nothing on this machine" in text
    assert "rule 1" not in text
    assert "! not root" in text
    assert "! rule 0" in shown(ChangesView("x", [change()], rules[:1]))


def test_names_of_threads_steer_no_terminal_and_no_page() -> None:
    hostile = change(HOSTILE, "failed", HOSTILE)
    assert not re.search("[\x1b\u202e]", shown(ChangesView(HOSTILE, [hostile])))
    runs = [tuned(step, 1, name=HOSTILE, profile=HOSTILE, exceptions=[hostile]) for step in (0, 1)]
    (steps,) = steps_among(runs)
    assert not re.search("[\x1b\u202e]", shown(StepsView(steps)))
    page = html_report(runs)
    assert "</script>\\u202e" not in page
    assert "[bold]</script>" not in page


def test_each_step_has_its_gain_and_limits() -> None:
    (steps,) = steps_among(RUNS)
    text = shown(StepsView(steps), 250)
    assert "The profile ours for CPU 1, step by step: cyclic under load idle" in text
    booted, moved = (line for line in text.split("\n") if re.match(r"(as booted|moved) +1 ", line))
    assert "better" in moved
    assert "−" in moved
    assert "better" not in booted
    assert re.search(r"moved against as booted, on CPU 1: .*p99 is .* us against .* us", text)
    assert "moved against as booted, on CPU 0: no evidence of a difference." in text


def test_what_was_left_out_and_did_not_hold_is_beside_the_figures() -> None:
    exceptions = [change("irq 9", "not-held", "a daemon"), change("irq 8", "not-held")]
    runs = [
        tuned(1, 1, left_out=["boot add=nohz_full=1"], exceptions=exceptions),
        tuned(0, 1),
    ]
    (steps,) = steps_among(runs)
    text = " ".join(shown(StepsView(steps)).split())
    assert "moved: not-held: irq 9 (a daemon) and 1 more." in text
    assert "moved: not applied, because it takes a boot: nohz_full=1." in text
    assert "one round does not show" in text


def test_the_page_has_a_panel_for_each_step_and_a_line_for_each_cpu() -> None:
    (steps,) = steps_among(RUNS)
    chart = step_chart(steps, RUNS, "steps-0")
    assert chart
    assert [(panel.title, [mark.name for mark in panel.marks]) for panel in chart.panels] == [
        ("as booted", ["CPU 0", "CPU 1"]),
        ("moved", ["CPU 0", "CPU 1"]),
    ]
    for mark in chart.marks:
        samples = sum(count for count in mark.y if count >= 1)
        assert samples == 6000, "no sample is lost between the bins"
        assert len(mark.x) == len(mark.y)
    page = html_report(RUNS)
    assert 'id="steps-0"' in page
    assert "The profile ours for CPU 1, step by step" in page
    assert 'id="steps-0"' not in html_report([run_of(thread_of([1, 2, 3]))])


def test_a_tuned_run_says_with_what_it_was_measured() -> None:
    run = tuned(1, 2, exceptions=[change("irq 9", "immovable", "per CPU")])
    said = "moved (step 1 of ours for CPUs 1, round 2): 2 changes held, 1 not"
    assert said in shown(summary(run), 200)
    page = html_report([run, tuned(0, 2)])
    assert said in page
    assert "moved, cyclic under load idle" in page
    assert "immovable: irq 9: per CPU" in page
