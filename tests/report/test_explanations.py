# SPDX-License-Identifier: GPL-2.0-only
"""How a sample came about is told in a sentence, a tree of calls and a timeline."""

import io
import re

import msgspec
from hypothesis import given
from rich.console import Console

from rtscope.model.run import Run
from rtscope.model.timeline import Call, CpuTrack, Explanation, Stretch
from rtscope.report.page.report import html_report
from rtscope.report.page.timeline import lanes
from rtscope.report.terminal.run import summary
from rtscope.wording.explanation import headline, tree
from tests.explain.traces import recorded_run
from tests.measured import run_of, thread_of
from tests.report.views import CALLS, explanation
from tests.strategies import explanations

TOLD = explanation()


def a_run(*reported: Explanation) -> Run:
    return run_of(thread_of([1000, 10_000]), explanations=list(reported))


def shown(run: Run) -> str:
    file = io.StringIO()
    Console(file=file, width=140, color_system=None).print(summary(run))
    return file.getvalue()


def test_the_sentence_names_who_ran_and_the_timeline_needs_no_script() -> None:
    spread = msgspec.structs.replace(TOLD, cause=[], calls=[Call(0, 50, 0, "short")])
    assert headline(a_run(), spread).endswith(
        "start: no call took a good part of it, swapper/0 ran for 9.50 us, slow_driver [driver] "
        "took 7.00 us in all"
    )
    assert tree(spread) == []
    assert "as a table" not in html_report([a_run(spread)])

    page = html_report([a_run(TOLD)])
    drawn = re.search(r'<svg class="timeline".*?</svg>', page, re.DOTALL)
    assert drawn is not None
    assert drawn[0].count("<rect") == len(lanes(TOLD).bars) == len(CALLS) + 4
    assert "<title>slow_driver [driver], from 0.200 us for 7.00 us</title>" in drawn[0]
    names = [name for _, name in lanes(TOLD).names]
    assert names == ["task", "interrupts off", "preemption off", "function"]


def test_cpus_are_tracks_with_the_late_thread_the_deadline_and_the_sample_marked() -> None:
    run = recorded_run()
    drawn = lanes(run.explanations[0])
    assert [name for _, name in drawn.names] == ["CPU 0", "CPU 1"]
    late = [bar for bar in drawn.bars if bar.kind == "late"]
    assert {bar.name for bar in late if bar.name} == {"cyclic/1/100"}
    deadline, sample = drawn.marks
    assert late[-1].x < sample.x < late[-1].x + late[-1].width
    assert 0 < deadline.x < sample.x < 1000

    page = html_report([run])
    figure = re.search(r'<details class="explained"><summary.*?</details>', page, re.DOTALL)
    assert figure is not None
    assert "<svg" in figure[0].partition("</summary>")[0]
    assert "in the hard interrupt eth0" in figure[0].partition("</summary>")[2]


def test_a_report_of_many_samples_on_many_cpus_stays_small() -> None:
    told = recorded_run().explanations[0]
    stretches = [Stretch(at * 300, 200, f"program {at % 7}/{at}") for at in range(60)]
    tracks = [CpuTrack(cpu, stretches, stretches) for cpu in range(16)]
    many = [msgspec.structs.replace(told, tracks=tracks)] * 64
    assert sum(len(lanes(one, 20).bars) for one in many) == 64 * 20
    assert len(html_report([a_run(*many)]).encode()) < 500_000


@given(explanations())
def test_parts_that_do_not_fit_together_are_shown_within_the_picture(reported: Explanation) -> None:
    drawn = lanes(reported)

    assert all(0 <= bar.x <= 1000 and 0 <= bar.width <= 1000 for bar in drawn.bars)
    assert all(0 <= bar.lane < drawn.lanes for bar in drawn.bars)
    assert "\x1b" not in shown(a_run(reported))
