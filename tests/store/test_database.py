# SPDX-License-Identifier: GPL-2.0-only
"""The store keeps runs, finds them by a few letters, and never loses one silently."""

import resource
import sqlite3
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import msgspec
import pytest
from hypothesis import given

from rtscope.model.errors import RtscopeError
from rtscope.model.histogram import Histogram
from rtscope.model.machine import Machine
from rtscope.model.run import Run, Thread
from rtscope.store import database
from rtscope.store.database import StoreError, list_runs, load, remove, rescue, save
from rtscope.store.runfile import read_run
from tests.strategies import runs


def a_run(run_id: str, samples: int = 3) -> Run:
    histogram = Histogram.of(list(range(2000, 2000 + samples)))
    return Run(
        id=run_id,
        created="2026-11-21T19:02:42Z",
        probe="cyclic",
        status="complete",
        load="mixed:2",
        machine=Machine(hostname="bo\x00ard", kernel_release="6.12.43-rt"),
        threads=[
            Thread(cpu, cpu, "fifo", 80, samples, histogram, 2000, 5000 + cpu) for cpu in range(2)
        ],
    )


FIRST, SECOND, THIRD = "ab" + "0" * 14, "ab" + "1" * 14, "c" * 16


@pytest.fixture
def store(tmp_path: Path) -> Path:
    """A store with three runs, saved in order."""
    path = tmp_path / "rtscope" / "runs.sqlite"
    for run_id in (FIRST, SECOND, THIRD):
        assert save(a_run(run_id), path)
    return path


def test_a_saved_run_comes_back(store: Path) -> None:
    assert load(FIRST, store) == a_run(FIRST)
    assert load("C", store) == a_run(THIRD)


def test_the_list_shows_what_was_measured_the_last_first(store: Path) -> None:
    assert [run.id for run in list_runs(store=store)] == [THIRD, SECOND, FIRST]
    (newest,) = list_runs(1, store)
    assert newest == database.Summary(
        id=THIRD,
        created="2026-11-21T19:02:42Z",
        host="bo\x00ard",
        kernel="6.12.43-rt",
        probe="cyclic",
        load="mixed:2",
        status="complete",
        count=6,
        max_ns=5001,
        source="rtscope",
    )


def test_last_and_the_ones_before_it(store: Path) -> None:
    assert [load(name, store).id for name in ("last", "last~0", "last~2")] == [THIRD, THIRD, FIRST]
    with pytest.raises(RtscopeError, match="has no run 'last~3'"):
        load("last~3", store)


def test_an_ambiguous_beginning_lists_the_candidates(store: Path) -> None:
    with pytest.raises(RtscopeError) as caught:
        load("ab", store)
    assert FIRST in str(caught.value)
    assert SECOND in str(caught.value)
    assert THIRD not in str(caught.value)
    assert load("ab1", store).id == SECOND


@pytest.mark.parametrize(
    "name", ["", "zz", "%", "a' OR 1", "0" * 17, "last~", "last~-1", "é", "dd"]
)
def test_what_names_no_run_is_refused(store: Path, name: str) -> None:
    with pytest.raises(RtscopeError, match=r"names no run|no run's id begins with 'dd'"):
        load(name, store)


def test_saving_twice_says_that_it_is_there(store: Path) -> None:
    assert not save(a_run(FIRST), store)
    assert [run.id for run in list_runs(store=store)] == [THIRD, SECOND, FIRST]
    assert save(a_run(FIRST, samples=4), store)
    assert load(FIRST, store).threads[0].count == 4
    assert [run.id for run in list_runs(store=store)] == [FIRST, THIRD, SECOND]


def test_removing_is_all_or_nothing(store: Path) -> None:
    with pytest.raises(RtscopeError, match="several runs"):
        remove([THIRD, "ab"], store)
    assert len(list_runs(store=store)) == 3
    assert remove(["last", "ab0", "c"], store) == [THIRD, FIRST]
    assert [run.id for run in list_runs(store=store)] == [SECOND]


def test_a_store_that_is_not_there_is_empty_and_stays_absent(tmp_path: Path) -> None:
    path = tmp_path / "none" / "runs.sqlite"
    assert list_runs(store=path) == []
    with pytest.raises(RtscopeError, match="has no run 'last'"):
        load("last", path)
    assert not path.parent.exists()
    with pytest.raises(StoreError, match="cannot be made: Not a directory"):
        save(a_run(FIRST), Path("/dev/null/rtscope/runs.sqlite"))


def test_an_empty_file_is_an_empty_store(tmp_path: Path) -> None:
    path = tmp_path / "runs.sqlite"
    path.touch()
    assert list_runs(store=path) == []
    assert save(a_run(FIRST), path)
    assert load("last", path).id == FIRST


def test_a_locked_store_says_so(store: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(database, "BUSY_SECONDS", 0.05)
    other = sqlite3.connect(store, isolation_level=None)
    other.execute("BEGIN EXCLUSIVE")
    try:
        with pytest.raises(StoreError, match=r"runs\.sqlite is locked by another rtscope"):
            save(a_run("d" * 16), store)
        assert load("last", store).id == THIRD  # readers go on
    finally:
        other.close()
    assert save(a_run("d" * 16), store)


def test_a_damaged_store_is_named(store: Path) -> None:
    data = bytearray(store.read_bytes())
    data[: len(data) // 2] = b"\xaa" * (len(data) // 2)
    store.write_bytes(data)
    for act in (
        lambda: load("last", store),
        lambda: list_runs(store=store),
        lambda: save(a_run(FIRST), store),
    ):
        with pytest.raises(StoreError, match=r"runs\.sqlite is damaged .*move it away"):
            act()
    assert store.read_bytes() == data


def test_a_damaged_record_is_named(store: Path) -> None:
    with sqlite3.connect(store) as connection:
        connection.execute("UPDATE runs SET record = substr(record, 1, 50) WHERE id = ?", (FIRST,))
        connection.execute("UPDATE runs SET record = 7 WHERE id = ?", (SECOND,))
    connection.close()
    with pytest.raises(RtscopeError, match=f"run {FIRST} in the store .*truncated"):
        load(FIRST, store)
    with pytest.raises(RtscopeError, match=f"run {SECOND} in the store"):
        load(SECOND, store)


@pytest.mark.parametrize(
    ("statement", "words"),
    [
        ("PRAGMA user_version = 7", "newer rtscope \\(format 7\\); this one reads up to 2"),
        ("PRAGMA application_id = 9", "not an rtscope store"),
    ],
)
def test_a_store_of_another_is_refused_and_left_alone(
    store: Path, statement: str, words: str
) -> None:
    connection = sqlite3.connect(store)
    connection.execute(statement)
    connection.close()
    before = store.read_bytes()
    with pytest.raises(StoreError, match=words):
        save(a_run("d" * 16), store)
    with pytest.raises(StoreError, match=words):
        list_runs(store=store)
    assert store.read_bytes() == before


def test_a_run_that_no_file_can_hold_is_reported_and_the_store_survives(store: Path) -> None:
    """The kernel refuses to let files grow: what a quota or a full disk does."""
    program = (
        "import sys; from pathlib import Path\n"
        "from tests.store.test_database import a_run\n"
        "from rtscope.store.database import StoreError, save\n"
        "try: save(a_run('d' * 16, samples=50_000), Path(sys.argv[1]))\n"
        "except StoreError as error: print(error)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program, str(store)],
        capture_output=True,
        text=True,
        check=True,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (60_000, 60_000)),
        cwd=Path(__file__).parents[2],
    )
    assert "could not be written" in done.stdout
    assert [run.id for run in list_runs(store=store)] == [THIRD, SECOND, FIRST]


def test_a_read_only_directory_is_read_without_side_files(
    store: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("os.access", lambda *_: False)
    assert load("last", store).id == THIRD
    with database._reading(store) as connection:
        assert connection.execute("SELECT count(*) FROM runs").fetchone() == (3,)
        assert [path.name for path in store.parent.iterdir()] == ["runs.sqlite"]


def test_a_read_only_directory_shows_what_is_still_in_the_side_files(
    store: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = sqlite3.connect(store)
    other.execute("SELECT count(*) FROM runs").fetchone()
    try:
        assert save(a_run("d" * 16), store)
        monkeypatch.setattr("os.access", lambda *_: False)
        assert load("last", store).id == "d" * 16
    finally:
        other.close()


def test_runs_saved_at_the_same_time_are_all_kept(tmp_path: Path) -> None:
    path = tmp_path / "runs.sqlite"
    ids = [f"{number:016x}" for number in range(40)]
    with ThreadPoolExecutor(4) as pool:
        assert all(pool.map(lambda run_id: save(a_run(run_id), path), ids))
    assert {run.id for run in list_runs(store=path)} == set(ids)


def test_a_run_that_the_store_refuses_is_written_here(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert rescue(a_run(FIRST)) == Path(f"rtscope-{FIRST}.json")
    assert read_run(tmp_path / f"rtscope-{FIRST}.json") == a_run(FIRST)
    second = rescue(a_run(FIRST, samples=4))
    assert read_run(second) == a_run(FIRST, samples=4)
    assert read_run(tmp_path / f"rtscope-{FIRST}.json") == a_run(FIRST)


def test_a_run_that_cannot_be_written_here_is_written_to_tmpdir(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    gone = tmp_path / "gone"
    gone.mkdir()
    monkeypatch.chdir(gone)
    gone.rmdir()
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    assert rescue(a_run(FIRST)) == tmp_path / f"rtscope-{FIRST}.json"
    monkeypatch.setenv("TMPDIR", str(gone))
    with pytest.raises(RtscopeError, match=f"run {FIRST} could not be kept anywhere"):
        rescue(a_run(FIRST))


def test_undecodable_names_do_not_lose_the_run(tmp_path: Path) -> None:
    run = msgspec.structs.replace(a_run(FIRST), load="cmd:\udcff", machine=Machine("h\udce9"))
    assert save(run, tmp_path / "runs.sqlite")
    assert load("last", tmp_path / "runs.sqlite").load == "cmd:\\udcff"


@given(runs())
def test_any_run_comes_back_from_the_store(tmp_path: Path, run: Run) -> None:
    path = tmp_path / "runs.sqlite"
    save(run, path)
    assert load(run.id, path) == run
    assert list_runs(1000, path)
