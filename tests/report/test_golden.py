# SPDX-License-Identifier: GPL-2.0-only
"""One run in each format of text, whole: golden/run.txt and golden/junit.xml.

After a change of words or layout, write them again: python -m tests.report.test_golden
"""

import io
from pathlib import Path
from typing import Final

import msgspec
import pytest

from rtscope.model.budget import parse_limit
from rtscope.model.machine import Machine
from rtscope.model.run import LoadWork, RunWarning
from rtscope.report.exchange.junit import junit_report
from rtscope.report.terminal.console import output_console
from rtscope.report.terminal.run import summary
from rtscope.statistics.cells import CellResult
from rtscope.statistics.verdict import judge
from tests.measured import run_of, thread_of

GOLDEN: Final = Path(__file__).parent / "golden"
LIMITS: Final = [parse_limit(text) for text in ("max<10us", "mean<5us", "p99.99<1ms")]
RUN: Final = run_of(
    msgspec.structs.replace(thread_of([1000] * 12_000 + [40_000], 0), missed=2),
    thread_of([2000] * 12_000, 1),
    machine=Machine(hostname="board", kernel_release="6.12.1-rt", preemption="rt"),
    loads=[LoadWork("files", 4, 1, 2.0, {"stats": 3000})],
    warnings=[RunWarning("no-memlock", "memory is not locked")],
)


def on_terminal() -> str:
    file = io.StringIO()
    output_console(file).print(summary(RUN, judge(RUN, LIMITS)))
    return "".join(f"{line.rstrip()}\n" for line in file.getvalue().splitlines())


def as_junit() -> str:
    cells = [
        CellResult("cyclic under files", RUN, judge(RUN, LIMITS)),
        CellResult("signal", failure="the agent ended before it measured"),
        CellResult("noise"),
    ]
    return junit_report("quick", cells).decode()


FORMATS: Final = {"run.txt": on_terminal, "junit.xml": as_junit}


@pytest.mark.parametrize("name", list(FORMATS))
def test_the_output_is_that_of_the_golden_file(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("COLUMNS", raising=False)
    assert FORMATS[name]() == (GOLDEN / name).read_text()


if __name__ == "__main__":
    for name, render in FORMATS.items():
        (GOLDEN / name).write_text(render())
