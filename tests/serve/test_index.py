# SPDX-License-Identifier: GPL-2.0-only
"""The index has what the store has, and finds what the commands find."""

import shutil
import sqlite3
from pathlib import Path

import msgspec
import pytest
from prometheus_client.parser import text_string_to_metric_families

from rtscope.model.errors import StoreError
from rtscope.model.run import Asked
from rtscope.serve.app import make_app
from rtscope.serve.entry import Entry, Indexed, heat_of, pack_heat, unpack_heat
from rtscope.serve.exporter import exported
from rtscope.serve.index import Index, index_path
from rtscope.serve.indexer import update
from rtscope.serve.site import ROWS, Site
from rtscope.statistics.history import key_of, series_of
from rtscope.statistics.metrics import merge, metrics_of_run
from rtscope.store.sqlite import SqliteStore
from tests.measured import run_of, thread_of
from tests.serve.asking import ask
from tests.serve.stores import NIGHTS, nightly


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a store that has a series that got worse, and its index."""
    folder = tmp_path_factory.mktemp("index")
    store = SqliteStore(folder / "runs.sqlite")
    for night in range(NIGHTS):
        store.save(nightly("board1", night))
    update(store, Index(folder / "index.sqlite"))
    return folder


@pytest.fixture
def store(made: Path, tmp_path: Path) -> SqliteStore:
    """The store of `made`, for this test alone."""
    shutil.copytree(made, tmp_path, dirs_exist_ok=True)
    return SqliteStore(tmp_path / "runs.sqlite")


@pytest.fixture
def index(tmp_path: Path, store: SqliteStore) -> Index:
    """Its index."""
    return Index(tmp_path / "index.sqlite")


def test_change_points_are_those_of_history(store: SqliteStore, index: Index) -> None:
    """With the kernels on both sides, what differs, and the command."""
    runs = [(nightly("board1", night), "board1") for night in range(NIGHTS)]
    (series,) = series_of(runs, ["p99", "p99.99", "max"])
    wanted = {(one.metric, change) for one in series.metrics for change in one.changes}
    changes, count = index.changes()
    assert {(one.metric, one.change) for one in changes} == wanted
    assert count == len(wanted) > 0
    assert changes[0].kernels == ["6.12.43-rt", "6.18.2-rt"]
    assert changes[0].differing == ["kernel: 6.12.43-rt → 6.18.2-rt"]
    assert changes[0].command.startswith("rtscope measure")
    assert index.changes(better=True) == ([], 0)


def test_new_replaced_and_removed_runs_are_noticed(store: SqliteStore, index: Index) -> None:
    """A new one without listing the whole store."""
    late = msgspec.structs.replace(nightly("board1", 1), id="f" * 16)
    store.save(late)
    update(store, index, whole=False)
    assert index.entry(late.id)
    store.save(msgspec.structs.replace(late, status="interrupted"))
    update(store, index, whole=False)
    entry = index.entry(late.id)
    assert entry
    assert entry.status == "interrupted"
    assert [one.runs for one in index.all_series()] == [NIGHTS], "it is complete no longer"
    store.remove([late.id])
    update(store, index)
    assert index.entry(late.id) is None
    assert index.state().runs == NIGHTS


def test_a_damaged_run_hides_no_other(tmp_path: Path, store: SqliteStore, index: Index) -> None:
    """It is listed as damaged."""
    run = nightly("board2", 1)
    store.save(run)
    with sqlite3.connect(tmp_path / "runs.sqlite") as database:
        database.execute("UPDATE runs SET record = x'00' WHERE id = ?", (run.id,))
    update(store, index)
    entry = index.entry(run.id)
    assert entry
    assert (entry.machine, bool(entry.damage)) == ("board2", True)
    assert index.state() == msgspec.structs.replace(index.state(), runs=NIGHTS + 1, missing=0)


def test_a_damaged_index_is_made_again(tmp_path: Path) -> None:
    """It is only a cache."""
    path = tmp_path / "index.sqlite"
    path.write_bytes(b"no database" * 100)
    assert Index(path).state().runs == 0


def test_a_store_that_is_read_only_cannot_be_written(tmp_path: Path, store: SqliteStore) -> None:
    """Nor by a search that would index an older store."""
    path = tmp_path / "runs.sqlite"
    before = path.read_bytes()
    opened = SqliteStore(path, read_only=True)
    for write in (lambda: opened.save(nightly("board9", 1)), lambda: opened.remove(["last"]),
                  opened.migrate):  # fmt: skip
        with pytest.raises(StoreError):
            write()
    assert opened.load("last").id == nightly("board1", NIGHTS - 1).id
    assert path.read_bytes() == before


def test_the_heat_of_a_run_has_all_of_its_samples() -> None:
    """Also those beyond the histogram's end; it is packed without loss."""
    run = nightly("board1", 1)
    merged = msgspec.structs.replace(
        merge([one.histogram for one in run.threads]), beyond_count=5, beyond_ns=10**9
    )
    heat = heat_of(merged)
    assert sum(heat.values()) == merged.total
    assert heat[144] == 5, "1 s is 10^(144/16) ns"
    assert unpack_heat(pack_heat(heat)) == heat


def test_a_list_of_ten_thousand_runs_is_paged(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each run is on one page, and no page is longer than the others."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    place = tmp_path / "absent.sqlite"
    index = Index(index_path(place))
    run = nightly("board1", 0)
    entries = [
        Entry(
            id=f"{number:016x}", created=f"2026-01-01T{number // 3600:02}:{number % 3600 // 60:02}:"
            f"{number % 60:02}+00:00", status="complete", source="rtscope", count=1,
            machine="board1", kernel="", probe="cyclic", load="idle",
        )
        for number in range(10_000)
    ]  # fmt: skip
    index.add([("", Indexed(one, key_of(run, "board1"))) for one in entries])
    app = make_app(Site(place))
    last = msgspec.json.decode(ask(app, "/runs.json?page=200").body)
    assert (last["count"], len(last["runs"])) == (10_000, ROWS)
    assert last["runs"][-1]["id"] == "0" * 16
    page = ask(app, "/runs?page=2").body
    assert b'href="/runs?page=3" rel="next"' in page
    assert b'href="/runs" rel="prev"' in page
    assert b'rel="next"' not in ask(app, "/runs?page=200").body
    assert ask(app, "/runs?page=201").status == 200
    for bad in ("0", "-1", "x", "9" * 30, "%C2%B2"):
        assert ask(app, f"/runs?page={bad}").status == 404
    assert len(page) < 100_000


def test_the_page_of_a_run_has_its_response_times(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    late = thread_of([5_000] * 1950 + [50_000_000])
    asked = Asked(interval_ns=1_000_000)
    for number, missed in ((1, 0), (2, 49)):
        thread = msgspec.structs.replace(late, missed=missed)
        run = run_of(thread, id=f"{number:016x}", asked=asked)
        SqliteStore(tmp_path / "runs.sqlite").save(run)
    site = Site(tmp_path / "runs.sqlite")
    update(site.store, site.index)
    punctual, stalled = (ask(make_app(site), f"/run/{number:016x}").body for number in (1, 2))
    assert (b"2,000" in punctual, b"2,000" in stalled) == (False, True)


def test_prometheus_reads_the_newest_run_of_each_machine_probe_and_load(index: Index) -> None:
    """A new run is a new value, not a new series."""
    newest = nightly("board1", NIGHTS - 1)
    families = {one.name: one for one in text_string_to_metric_families(exported(index).decode())}
    (largest,) = families["rtscope_latency_max_seconds"].samples
    assert largest.labels == {"machine": "board1", "probe": "cyclic", "load": "mixed:2"}
    metrics = metrics_of_run(newest)
    assert largest.value == pytest.approx((metrics.max_ns or 0) / 1e9)
    (p99,) = families["rtscope_latency_quantile_seconds"].samples
    assert p99.labels["quantile"] == "0.99", "there are too few samples for the other"
    assert p99.value == pytest.approx((metrics.quantile(99.0).value_ns or 0) / 1e9)
    assert families["rtscope_missed_periods"].samples[0].value == 0
