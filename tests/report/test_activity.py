# SPDX-License-Identifier: GPL-2.0-only
"""What a command that measures tells rtscope serve."""

from pathlib import Path

import pytest

from rtscope.engine.cells import Cell
from rtscope.engine.runner import Experiment
from rtscope.model.progress import Progress, ThreadProgress
from rtscope.model.request import Request
from rtscope.report.observers.activity import ActivityFile
from rtscope.statistics.cells import CellResult
from rtscope.store.activity import activities
from tests.measured import run_of, thread_of

CELL = Cell("cyclic under idle", "ssh:board", Request("cyclic"), 0, 0)


@pytest.fixture(autouse=True)
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A state directory of each test's own."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))


def test_a_measurement_is_shown_from_its_beginning_to_its_end() -> None:
    """Its target, its progress, its run; then it is gone."""
    observer = ActivityFile("quick", "rtscope run quick")
    experiment = Experiment("ab", [CELL], {})
    observer.opened(experiment, {CELL.name: None})
    ((activity, (board,)),) = activities()
    assert (activity.command, board.name, board.state) == ("rtscope run quick", "board", "queued")
    observer.began(CELL)
    progress = Progress(10**9, [ThreadProgress(0, 5, 1, max_ns=7), ThreadProgress(1, 6, max_ns=9)])
    observer._written_s = 0.0
    observer.received(CELL, progress)
    ((_, (board,)),) = activities()
    assert board.progress
    shown = board.progress
    assert (board.state, shown.samples, shown.missed, shown.max_ns) == ("measuring", 11, 1, 9)
    run = run_of(thread_of([1, 2, 3]))
    observer.measured(CELL, CellResult(CELL.name, run))
    ((_, (board,)),) = activities()
    assert (board.state, board.progress, board.done, board.run) == ("done", None, 1, run.id)
    observer.ended(experiment, [])
    assert activities() == []


def test_a_folder_that_cannot_be_written_stops_no_measurement(tmp_path: Path) -> None:
    """Nothing is shown then."""
    (tmp_path / "rtscope").write_text("a file")
    observer = ActivityFile("quick", "rtscope run quick")
    observer.opened(Experiment("ab", [CELL], {}), {CELL.name: None})
    observer.began(CELL)
    observer.close()
    assert activities() == []
