# SPDX-License-Identifier: GPL-2.0-only
"""Every view of the terminal: the same as its golden file, safe, and no wider than the terminal.

After a change of words or layout, write the files again: python -m tests.report.test_golden
"""

import html
import io
import re
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Final

import pytest
from rich.cells import cell_len
from rich.console import Console, RenderableType

from rtscope.report.exchange.case import cases_of_cells, cases_of_gate
from rtscope.report.exchange.formats import WRITERS
from rtscope.report.exchange.github import github_summary
from rtscope.report.exchange.junit import gate_junit_report, junit_report
from rtscope.report.exchange.sarif import sarif_report
from rtscope.report.page.report import html_report
from rtscope.report.terminal.console import output_console
from rtscope.statistics.verdict import judge
from tests.report.test_audit import AUDIT
from tests.report.views import LIMITS, VIEWS, gated, page_runs, results

GOLDEN: Final = Path(__file__).parent / "golden"
EXCHANGED: Final[dict[str, Callable[[], bytes]]] = {
    "gate.xml": lambda: gate_junit_report(gated("7.2")),
    "junit.xml": lambda: junit_report("Board & <co>", results()),
    "github.txt": lambda: WRITERS["github"](cases_of_cells(results())),
    "github.md": lambda: github_summary(cases_of_cells(results())),
    "gitlab.json": lambda: WRITERS["gitlab"](cases_of_cells(results())),
    "lava.txt": lambda: WRITERS["lava"](cases_of_cells(results())),
    "metrics.prom": lambda: WRITERS["prometheus"](cases_of_cells(results())),
    "ptest.txt": lambda: WRITERS["ptest"](cases_of_cells(results())),
    "results.tap": lambda: WRITERS["tap"](cases_of_gate(gated("7.2"))),
    "sarif.json": lambda: sarif_report(AUDIT),
}
HOSTILE: Final = "[red]x[/]\x1b]0;owned\x07\x1b[2J\n\u202e[link=file:///etc/passwd]y"


@cache
def view_of(view: str, name: str) -> RenderableType:
    """A view of this name; some compute for seconds, and widths do not change them."""
    return VIEWS[view](name)


def shown(view: str, name: str, width: int) -> str:
    file = io.StringIO()
    Console(file=file, width=width, height=24, color_system=None).print(view_of(view, name))
    return "".join(f"{line.rstrip()}\n" for line in file.getvalue().splitlines())


GOLDEN_VIEWS: Final = [view for view in VIEWS if view != "scale"]
"""The figures of scale come from random numbers and a solver, whose last digits may change."""


@pytest.mark.parametrize("view", GOLDEN_VIEWS)
def test_a_view_is_that_of_its_golden_file(view: str) -> None:
    assert shown(view, "a name", 120) == (GOLDEN / f"{view}.txt").read_text()


def words_of_page() -> str:
    """The text of a page of two runs: what stands between its tags, without its charts."""
    runs = page_runs()
    page = html_report(runs, [judge(run, LIMITS) for run in runs])
    bare = re.sub(r"<(script|style|svg|figure|head)\b.*?</\1>", "", page, flags=re.DOTALL)
    rows = re.sub(r"</t[dh]>\s*<t[dh][^>]*>", " | ", bare)
    lines = html.unescape(re.sub(r"<[a-z/!][^>]*>", "\n", rows)).splitlines()
    return "".join(f"{line.strip()}\n" for line in lines if line.strip())


def test_the_words_of_a_page_are_those_of_the_golden_file() -> None:
    assert words_of_page() == (GOLDEN / "page.txt").read_text()


@pytest.mark.parametrize("name", EXCHANGED)
def test_a_format_of_other_programs_is_that_of_its_golden_file(name: str) -> None:
    assert EXCHANGED[name]() == (GOLDEN / name).read_bytes()


@pytest.mark.parametrize("view", VIEWS)
def test_no_line_is_wider_than_the_terminal(view: str) -> None:
    for width in (40, 60, 80, 200):
        for name in ("a name", "name-" * 30):
            lines = shown(view, name, width).splitlines()
            assert max(map(cell_len, lines)) <= width, width


@pytest.mark.parametrize(
    "view", [view for view in VIEWS if view not in ("reference", "calibration")]
)
def test_names_neither_steer_the_terminal_nor_are_markup(view: str) -> None:
    text = shown(view, HOSTILE, 400)
    assert "[red]x[/]" in text
    assert not {"\x1b", "\x07", "\u202e"} & {*text}


def test_a_pipe_gets_120_columns_and_no_colours(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("COLUMNS", raising=False)
    monkeypatch.delenv("FORCE_COLOR", raising=False)
    file = io.StringIO()
    output_console(file).print(VIEWS["run"]("a name"))
    lines = [line.rstrip() for line in file.getvalue().splitlines()]
    assert lines == (GOLDEN / "run.txt").read_text().splitlines()


if __name__ == "__main__":
    for name in GOLDEN_VIEWS:
        (GOLDEN / f"{name}.txt").write_text(shown(name, "a name", 120))
    (GOLDEN / "page.txt").write_text(words_of_page())
    for name, written in EXCHANGED.items():
        (GOLDEN / name).write_bytes(written())
