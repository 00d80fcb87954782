# SPDX-License-Identifier: GPL-2.0-only
"""All cells of an experiment in one table, one display and one JUnit file."""

import io
from xml.etree import ElementTree as ET

import msgspec
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console

from rtscope.model.budget import parse_limit
from rtscope.model.progress import Progress, ThreadProgress
from rtscope.model.run import Run
from rtscope.report.exchange.junit import junit_report
from rtscope.report.terminal.experiment import CellTable, ExperimentState, ExperimentView
from rtscope.report.terminal.live import LiveState
from rtscope.statistics.cells import CellResult, unkept
from rtscope.statistics.verdict import judge
from tests.measured import run_of, thread_of


def result(name: str, *limits: str, **fields: object) -> CellResult:
    run: Run = run_of(thread_of([1000] * 30 + [9000]), **fields)
    return CellResult(name, run, judge(run, [parse_limit(limit) for limit in limits]))


RESULTS = [
    result("measured"),
    result("kept", "max<10us", "missed<1"),
    result("broken", "max<1us", "p99<1s"),
    result("unproven", "p99.9<1s"),
    result("cut", "max<10us", status="interrupted"),
    CellResult("failed", failure="no <socket> \x1b[31m"),
    CellResult("left"),
]
VERDICTS = ["measured", "pass", "fail", "inconclusive", "interrupted", "failed", "not begun"]


def shown(renderable: object, width: int = 120, height: int = 30) -> str:
    console = Console(file=io.StringIO(), width=width, height=height, force_terminal=True)
    console.print(renderable)
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue()


def test_each_cell_has_a_verdict_and_only_the_good_ones_are_good() -> None:
    assert [one.verdict for one in RESULTS] == VERDICTS
    assert [one.is_bad for one in RESULTS] == [False, False, True, True, True, True, True]
    assert [name for name, _ in unkept(RESULTS)] == ["broken", "broken", "unproven", "cut"]


def test_the_table_has_every_cell_with_its_worst_and_its_verdict() -> None:
    lines = shown(CellTable(RESULTS)).splitlines()
    for name, verdict in zip([one.name for one in RESULTS], VERDICTS, strict=True):
        (line,) = [line for line in lines if line.startswith(f"{name} ")]
        assert verdict in line
        assert ("9.00 us" in line) == (name not in ("failed", "left"))


def test_series_that_are_not_alike_have_rows_of_their_own() -> None:
    inherit, none = (
        msgspec.structs.replace(thread_of([ns]), thread=ns, name=name)
        for name, ns in (("inherit", 2000), ("none", 12_000))
    )
    lines = shown(CellTable([CellResult("pi, load idle", run_of(inherit, none))])).splitlines()
    first, second = (line for line in lines if line.startswith("pi, load idle: "))
    assert "inherit on CPU 0" in first
    assert "2.00 us" in first
    assert "12.00 us" not in first
    assert "none on CPU 0" in second
    assert "12.00 us" in second


def test_the_display_tells_what_is_done_and_what_is_left() -> None:
    state = ExperimentState("Board", 10, done=3, left_ns=[60 * 10**9, None])
    assert state.progress() == ("3 of 10 cells done, about 1 min 0 s left, and 1 of unknown length")
    state.left_ns = [None, None]
    assert state.progress() == "3 of 10 cells done, 2 of unknown length left"
    state.left_ns = [60 * 10**9, None]
    state.cell, state.cell_ns = LiveState("cyclic, load idle"), 30 * 10**9
    assert "about 1 min 30 s left" in state.progress()
    state.cell.progress = Progress(20 * 10**9, [ThreadProgress(0, 5, max_ns=7000)])
    assert "about 1 min 10 s left" in state.progress()
    text = shown(ExperimentView(state))
    assert "Board" in text
    assert "cyclic, load idle" in text
    assert "7.00 us" in text


@given(st.integers(60, 200), st.integers(6, 50), st.integers(1, 40))
def test_the_display_fits_the_terminal(width: int, height: int, threads: int) -> None:
    live = LiveState("cyclic, load idle", {number: number for number in range(threads)})
    live.progress = Progress(10**9, [ThreadProgress(n, 5, max_ns=7000) for n in range(threads)])
    state = ExperimentState("A board of ours", 10, 3, [1], live, 10**10)
    console = Console(file=io.StringIO(), width=width, height=height)
    lines = console.render_lines(ExperimentView(state), console.options.update(height=None))
    assert all(sum(segment.cell_length for segment in line) <= width for line in lines)
    assert len(lines) <= max(height, 13)


def test_junit_has_a_case_for_each_cell_with_what_became_of_it() -> None:
    root = ET.fromstring(junit_report("Board & <co>", RESULTS))
    assert root.attrib["name"] == "Board & <co>"
    cases = {case.attrib["name"]: case for case in root.iter("testcase")}
    assert list(cases) == [one.name for one in RESULTS]
    tags = {name: [child.tag for child in case if child.tag != "system-out"]
            for name, case in cases.items()}  # fmt: skip
    assert tags == {
        "measured": [], "kept": [], "broken": ["failure", "failure"], "unproven": ["failure"],
        "cut": ["failure", "error"], "failed": ["error"], "left": ["skipped"],
    }  # fmt: skip
    broken = [failure.attrib for failure in cases["broken"].iter("failure")]
    assert {failure["type"] for failure in broken} == {"fail", "inconclusive"}
    assert "max is 9.00 us" in broken[0]["message"]
    assert "\x1b" not in ET.tostring(root, encoding="unicode")
    assert float(cases["kept"].attrib["time"]) == 60.0
    for counted in (root, *root.iter("testsuite")):
        counts = [counted.attrib[kind] for kind in ("tests", "failures", "errors", "skipped")]
        assert counts == ["7", "4", "2", "1"]


@given(st.text())
def test_any_name_makes_valid_xml(name: str) -> None:
    root = ET.fromstring(junit_report(name, [CellResult(name, failure=name)]))
    assert len(list(root.iter("testcase"))) == 1
