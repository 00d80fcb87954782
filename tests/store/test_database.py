# SPDX-License-Identifier: GPL-2.0-only
"""The store keeps runs, finds them by a few letters or by experiment, and never loses one."""

import resource
import sqlite3
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import msgspec
import pytest
from hypothesis import given

from rtscope.model.errors import RtscopeError, StoreError
from rtscope.model.machine import Machine
from rtscope.model.run import Run, Status
from rtscope.store import sqlite
from rtscope.store.address import Place
from rtscope.store.database import list_runs, load, remove, rescue, save
from rtscope.store.importer import import_file
from rtscope.store.naming import runs_named
from rtscope.store.summary import Summary
from tests.measured import run_of, thread_of
from tests.strategies import runs

FIRST, SECOND, THIRD, FOURTH = "ab" + "0" * 14, "ab" + "1" * 14, "c" * 16, "d" * 16


def a_run(run_id: str, samples: int = 3, **fields: object) -> Run:
    threads = [thread_of(range(2000 + cpu, 2000 + cpu + samples), cpu) for cpu in range(2)]
    machine = Machine(hostname="bo\x00ard", kernel_release="6.12.43-rt")
    run = run_of(*threads, id=run_id, load="mixed:2", machine=machine)
    return msgspec.structs.replace(run, **fields)


def ids(store: Place) -> list[str]:
    return [run.id for run in list_runs(store=store)]


def with_three(place: Place) -> Place:
    for run_id in (FIRST, SECOND, THIRD):
        assert save(a_run(run_id), place)
    return place


@pytest.fixture
def filled(place: Place) -> Place:
    """A store of each kind with three runs, saved in order."""
    return with_three(place)


@pytest.fixture
def store(tmp_path: Path) -> Path:
    """An SQLite store with three runs, saved in order."""
    path = tmp_path / "rtscope" / "runs.sqlite"
    with_three(path)
    return path


def test_the_list_shows_the_last_first(filled: Place) -> None:
    assert ids(filled) == [THIRD, SECOND, FIRST]
    (newest,) = list_runs(1, filled)
    assert newest == Summary(
        id=THIRD,
        created="2026-11-21T12:00:00+00:00",
        host="bo\x00ard" if isinstance(filled, Path) else "bo\\x00ard",
        kernel="6.12.43-rt",
        probe="cyclic",
        load="mixed:2",
        status="complete",
        count=6,
        max_ns=2003,
        source="rtscope",
    )


@pytest.mark.parametrize(
    ("name", "run_id"),
    [("C", THIRD), ("ab1", SECOND), ("last", THIRD), ("last~0", THIRD), ("last~2", FIRST)],
)
def test_a_saved_run_is_found(filled: Place, name: str, run_id: str) -> None:
    assert load(name, filled) == a_run(run_id)


@pytest.mark.parametrize(
    ("name", "words"),
    [
        *((name, "names no run") for name in ("", "zz", "%", "a' OR 1", "0" * 17, "last~", "é")),
        ("last~-1", "names no run"),
        ("dd", "no run's id begins with 'dd'"),
        ("last~3", "has no run 'last~3'"),
        ("ab", f"(?s){FIRST}.*{SECOND}|{SECOND}.*{FIRST}"),
    ],
)
def test_a_name_of_no_run_or_of_several_is_refused(filled: Place, name: str, words: str) -> None:
    with pytest.raises(RtscopeError, match=words) as caught:
        load(name, filled)
    assert THIRD not in str(caught.value)


def test_saving_twice_says_that_it_is_there(filled: Place) -> None:
    assert not save(a_run(FIRST), filled)
    assert ids(filled) == [THIRD, SECOND, FIRST]
    assert save(a_run(FIRST, samples=4), filled)
    assert load(FIRST, filled).threads[0].count == 4
    assert ids(filled) == [FIRST, THIRD, SECOND]


def test_removing_is_all_or_nothing(filled: Place) -> None:
    with pytest.raises(RtscopeError, match="several runs"):
        remove([THIRD, "ab"], filled)
    assert len(ids(filled)) == 3
    assert [run.id for run in remove(["last", "ab0", "c"], filled)] == [THIRD, FIRST]
    assert ids(filled) == [SECOND]


def test_a_store_that_is_not_there_or_has_no_bytes_is_empty(tmp_path: Path) -> None:
    path = tmp_path / "none" / "runs.sqlite"
    assert list_runs(store=path) == []
    with pytest.raises(RtscopeError, match="has no run 'last'"):
        load("last", path)
    assert not path.parent.exists()
    with pytest.raises(StoreError, match="cannot be made: Not a directory"):
        save(a_run(FIRST), Path("/dev/null/rtscope/runs.sqlite"))
    empty = tmp_path / "runs.sqlite"
    empty.touch()
    assert list_runs(store=empty) == []
    assert save(a_run(FIRST), empty)
    assert ids(empty) == [FIRST]


def test_a_locked_store_is_read_only(store: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sqlite, "BUSY_SECONDS", 0.05)
    other = sqlite3.connect(store, isolation_level=None)
    other.execute("BEGIN EXCLUSIVE")
    try:
        with pytest.raises(StoreError, match=r"runs\.sqlite is locked by another rtscope"):
            save(a_run(FOURTH), store)
        assert load("last", store).id == THIRD
    finally:
        other.close()
    assert save(a_run(FOURTH), store)


def overwritten(store: Path) -> None:
    data = bytearray(store.read_bytes())
    data[: len(data) // 2] = b"\xaa" * (len(data) // 2)
    store.write_bytes(data)


def changed(statement: str) -> Callable[[Path], None]:
    def change(store: Path) -> None:
        connection = sqlite3.connect(store, isolation_level=None)
        connection.execute(statement)
        connection.close()

    return change


@pytest.mark.parametrize(
    ("damage", "words"),
    [
        (overwritten, r"runs\.sqlite is damaged .*move it away"),
        (changed("PRAGMA user_version = 7"), r"newer rtscope \(format 7\); this one reads up to 3"),
        (changed("PRAGMA application_id = 9"), "not an rtscope store"),
    ],
    ids=["damaged", "newer", "foreign"],
)
def test_a_bad_store_is_refused_and_left_alone(
    store: Path, damage: Callable[[Path], None], words: str
) -> None:
    damage(store)
    before = store.read_bytes()
    for act in (
        lambda: load("last", store),
        lambda: list_runs(store=store),
        lambda: save(a_run(FOURTH), store),
    ):
        with pytest.raises(StoreError, match=words):
            act()
    assert store.read_bytes() == before


@pytest.mark.parametrize(
    ("value", "words"),
    [("substr(record, 1, 50)", f"run {FIRST} in the store .*truncated"), ("7", f"run {FIRST} in")],
)
def test_a_damaged_record_is_named(store: Path, value: str, words: str) -> None:
    changed(f"UPDATE runs SET record = {value} WHERE id = '{FIRST}'")(store)
    with pytest.raises(RtscopeError, match=words):
        load(FIRST, store)
    assert load(THIRD, store) == a_run(THIRD)


def test_a_run_that_no_file_can_hold_is_reported_and_the_store_survives(store: Path) -> None:
    """The kernel refuses to let files grow, as with a quota or a full disk."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (60_000, before[1]))
    try:
        with pytest.raises(StoreError, match="could not be written"):
            save(a_run(FOURTH, samples=50_000), store)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert ids(store) == [THIRD, SECOND, FIRST]


def test_a_read_only_directory(store: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as read_only:
        read_only.setattr("os.access", lambda *_: False)
        with sqlite._reading(store) as connection:
            assert connection.execute("SELECT count(*) FROM runs").fetchone() == (3,)
            assert [path.name for path in store.parent.iterdir()] == ["runs.sqlite"]
    other = sqlite3.connect(store)
    other.execute("SELECT count(*) FROM runs").fetchone()
    try:
        assert save(a_run(FOURTH), store)
        monkeypatch.setattr("os.access", lambda *_: False)
        assert load("last", store).id == FOURTH
    finally:
        other.close()


def test_runs_saved_at_the_same_time_are_all_kept(place: Place) -> None:
    saved = [f"{number:016x}" for number in range(40)]
    with ThreadPoolExecutor(4) as pool:
        assert all(pool.map(lambda run_id: save(a_run(run_id), place), saved))
    assert sorted(ids(place)) == saved


def test_a_run_is_rescued(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    gone = tmp_path / "gone"
    gone.mkdir()
    monkeypatch.chdir(gone)
    written = [rescue(a_run(FIRST)), rescue(a_run(FIRST, samples=4))]
    assert written[0] == Path(f"rtscope-{FIRST}.json")
    assert [import_file(path) for path in written] == [[a_run(FIRST)], [a_run(FIRST, samples=4)]]
    for path in written:
        path.unlink()
    gone.rmdir()
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    assert rescue(a_run(FIRST)) == tmp_path / f"rtscope-{FIRST}.json"
    monkeypatch.setenv("TMPDIR", str(gone))
    with pytest.raises(RtscopeError, match=f"run {FIRST} could not be saved anywhere"):
        rescue(a_run(FIRST))


def test_undecodable_names_do_not_lose_the_run(place: Place) -> None:
    run = a_run(FIRST, load="cmd:\udcff", machine=Machine("h\udce9"))
    assert save(run, place)
    assert load("last", place).load == "cmd:\\udcff"


@given(runs())
def test_any_run_comes_back_from_the_store(place: Place, run: Run) -> None:
    save(run, place)
    assert load(run.id, place) == run
    assert list_runs(1000, place)


def of_experiment(number: int, experiment: str, cell: str, **fields: object) -> Run:
    run = a_run(f"{number:016x}", experiment=experiment, cell=cell)
    return msgspec.structs.replace(run, **fields)


def test_the_runs_of_one_experiment_are_found(place: Place) -> None:
    cells = [("", ""), ("aa11", "one"), ("aa22", "one"), ("aa11", "two")]
    for number, (experiment, cell) in enumerate(cells, 1):
        save(of_experiment(number, experiment, cell), place)
    found = {
        name: [run.cell for run in list_runs(store=place, experiment=name)]
        for name in ("aa11", "aa", "b")
    }
    assert found == {"aa11": ["two", "one"], "aa": ["two", "one", "one"], "b": []}
    assert len(ids(place)) == 4


def test_cells_are_in_the_plans_order(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    saved: list[tuple[str, int, Status]] = [
        ("one", 1, "complete"),
        ("three", 3, "interrupted"),
        ("three", 3, "failed"),
        ("two", 2, "interrupted"),
        ("two", 2, "complete"),
        ("two", 2, "failed"),
    ]
    for number, (cell, place, status) in enumerate(saved, 1):
        save(of_experiment(number, "aa11", cell, status=status, place=place))
    found = [(run.cell, run.status) for run in runs_named("aa")]
    assert found == [("one", "complete"), ("two", "complete"), ("three", "failed")]


def test_a_store_from_before_experiments_is_read_and_takes_their_runs(tmp_path: Path) -> None:
    path, old = tmp_path / "runs.sqlite", a_run(FIRST)
    with sqlite3.connect(path) as connection:
        connection.execute(
            "CREATE TABLE runs (saved INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, "
            "created TEXT NOT NULL, host TEXT, kernel TEXT, probe TEXT NOT NULL, "
            "load TEXT NOT NULL, status TEXT NOT NULL, count INTEGER NOT NULL, max_ns INTEGER, "
            "source TEXT NOT NULL, record BLOB NOT NULL)"
        )
        connection.execute("PRAGMA application_id = 1920234339")
        connection.execute("PRAGMA user_version = 1")
        connection.execute(
            "INSERT INTO runs VALUES (1, ?, ?, 'board', '6.12.1', 'cyclic', 'idle', 'complete', "
            "1, 1000, 'rtscope', ?)",
            (old.id, old.created, msgspec.json.encode(old)),
        )
    connection.close()
    before = path.read_bytes()
    assert [run.experiment for run in list_runs(store=path)] == [""]
    assert list_runs(store=path, experiment="aa") == []
    assert load("last", path) == old
    assert path.read_bytes() == before
    save(of_experiment(2, "aa11", "one"), path)
    assert [run.experiment for run in list_runs(store=path)] == ["aa11", ""]
    assert load(FIRST, path) == old
