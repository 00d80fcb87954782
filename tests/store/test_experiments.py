# SPDX-License-Identifier: GPL-2.0-only
"""The store knows which runs are of one experiment, and takes stores from before it did."""

import sqlite3
from pathlib import Path

import msgspec
import pytest

from rtscope.model.run import Run, Status
from rtscope.store.database import list_runs, load, save
from rtscope.store.naming import runs_named
from tests.measured import run_of, thread_of

OLD_TABLE = """CREATE TABLE runs (
    saved INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, created TEXT NOT NULL, host TEXT,
    kernel TEXT, probe TEXT NOT NULL, load TEXT NOT NULL, status TEXT NOT NULL,
    count INTEGER NOT NULL, max_ns INTEGER, source TEXT NOT NULL, record BLOB NOT NULL
)"""


def a_run(number: int, experiment: str = "", cell: str = "") -> Run:
    return run_of(thread_of([1000]), id=f"{number:016x}", experiment=experiment, cell=cell)


@pytest.fixture
def old_store(tmp_path: Path) -> Path:
    """A store of format 1 with one run, as an rtscope before experiments left it."""
    path = tmp_path / "runs.sqlite"
    run = a_run(1)
    with sqlite3.connect(path) as database:
        database.execute(OLD_TABLE)
        database.execute("PRAGMA application_id = 1920234339")
        database.execute("PRAGMA user_version = 1")
        database.execute(
            "INSERT INTO runs VALUES (1, ?, ?, 'board', '6.12.1', 'cyclic', 'idle', 'complete', "
            "1, 1000, 'rtscope', ?)",
            (run.id, run.created, msgspec.json.encode(run)),
        )
    database.close()
    return path


def test_the_runs_of_one_experiment_are_found(tmp_path: Path) -> None:
    store = tmp_path / "runs.sqlite"
    for run in (
        a_run(1),
        a_run(2, "aa11", "one"),
        a_run(3, "aa22", "one"),
        a_run(4, "aa11", "two"),
    ):
        save(run, store)
    assert [run.cell for run in list_runs(store=store, experiment="aa11")] == ["two", "one"]
    assert len(list_runs(store=store, experiment="aa")) == 3
    assert len(list_runs(store=store)) == 4
    assert list_runs(store=store, experiment="b") == []
    assert load("0" * 15 + "4", store).experiment == "aa11"


def test_each_cell_of_an_experiment_stands_for_itself_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    held: list[tuple[str, Status]] = [
        ("one", "complete"),
        ("two", "interrupted"),
        ("two", "complete"),
        ("two", "failed"),
        ("three", "interrupted"),
        ("three", "failed"),
    ]
    for number, (cell, status) in enumerate(held, 1):
        save(msgspec.structs.replace(a_run(number, "aa11", cell), status=status))
    found = [(run.cell, run.status) for run in runs_named("aa")]
    assert found == [("one", "complete"), ("two", "complete"), ("three", "failed")]


def test_the_runs_of_an_experiment_stand_in_the_order_of_its_plan(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    for number, place in enumerate((3, 1, 2), 1):
        save(msgspec.structs.replace(a_run(number, "aa11", f"cell {place}"), place=place))
    assert [run.cell for run in runs_named("aa11")] == ["cell 1", "cell 2", "cell 3"]


def test_an_older_store_is_read_and_left_as_it_is(old_store: Path) -> None:
    before = old_store.read_bytes()
    assert [run.experiment for run in list_runs(store=old_store)] == [""]
    assert list_runs(store=old_store, experiment="aa") == []
    assert load("last", old_store) == a_run(1)
    assert old_store.read_bytes() == before


def test_an_older_store_takes_the_runs_of_an_experiment(old_store: Path) -> None:
    save(a_run(2, "aa11", "one"), old_store)
    save(a_run(3, "aa11", "two"), old_store)
    assert [run.experiment for run in list_runs(store=old_store)] == ["aa11", "aa11", ""]
    assert load("0" * 15 + "1", old_store) == a_run(1)
