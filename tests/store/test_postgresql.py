# SPDX-License-Identifier: GPL-2.0-only
"""A store on a server: many writers, a server that goes and comes back, or has another format."""

import multiprocessing
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from pathlib import Path

import msgspec
import psycopg
import pytest

from rtscope.model.errors import NotSentError, RtscopeError, StoreError, UnreachableError
from rtscope.model.histogram import Histogram
from rtscope.model.machine import Machine
from rtscope.model.run import Run, Status
from rtscope.store.address import Place, Server, parse_place
from rtscope.store.database import list_reachable, list_runs, load, save
from rtscope.store.unsent import Unsent
from tests.cluster import Cluster
from tests.measured import run_of, thread_of

NOWHERE = Server("postgresql://fleet:secret@127.0.0.1:1/runs")


def a_run(number: int, status: Status = "complete", **fields: object) -> Run:
    threads = [thread_of(range(2000 + cpu, 2100 + cpu), cpu) for cpu in range(2)]
    return run_of(*threads, id=f"{number:016x}", status=status, **fields)


def write(numbers: Sequence[int], server: Server) -> int:
    """Save these runs from four threads; return how many were kept for later."""

    def save_one(number: int) -> bool:
        try:
            save(a_run(number), server)
        except NotSentError:
            return True
        return False

    with ThreadPoolExecutor(4) as pool:
        return sum(pool.map(save_one, numbers))


@pytest.fixture
def own_cluster() -> Iterator[Cluster]:
    """A server that the test may kill."""
    cluster = Cluster()
    try:
        cluster.start()
        yield cluster
    finally:
        cluster.close()


def test_sixteen_writers_lose_no_run_when_the_server_is_killed(
    own_cluster: Cluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    server = own_cluster.store()
    everything = range(480)
    with ProcessPoolExecutor(4, multiprocessing.get_context("spawn")) as pool:
        writers = [pool.submit(write, everything[first::4], server) for first in range(4)]
        while len(list_runs(store=server)) < 60:
            time.sleep(0.01)
        own_cluster.kill()
        time.sleep(0.3)
        own_cluster.start()
        kept = [writer.result() for writer in writers]
    assert sum(kept) > 0, "no writer met the dead server"
    stored = Counter(run.id for run in list_runs(store=server))
    assert stored == Counter(f"{number:016x}" for number in everything)
    assert load("last", server) == a_run(int(list_runs(1, server)[0].id, 16))
    assert Unsent(server).waiting() == 0


def test_a_run_is_kept_and_sent_once_in_its_last_form(
    own_cluster: Cluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    server = own_cluster.store()
    begun, ended, other = a_run(1, "interrupted", experiment="aa"), a_run(1, experiment="aa"), 2
    own_cluster.kill()
    for run in (begun, a_run(other), ended):
        with pytest.raises(
            NotSentError, match=rf"cannot be reached.* run {run.id} is kept in .*unse"
        ):
            save(run, server)
    assert [run.id for run in list_reachable("aa", server)] == [ended.id]
    assert load(ended.id, server) == ended
    with pytest.raises(UnreachableError, match="cannot be reached"):
        load("last", server)
    own_cluster.start()
    save(a_run(3), server)
    assert [run.id[-1] for run in list_runs(store=server)] == ["3", "1", "2"]
    assert load(ended.id, server) == ended
    assert Unsent(server).waiting() == 0
    assert not save(ended, server)


def executed(server: Server, statement: str) -> None:
    with psycopg.connect(server.url) as connection:
        connection.execute(statement)


@pytest.mark.parametrize(
    ("statement", "words"),
    [
        ("UPDATE rtscope.alembic_version SET version_num = '7'", r"newer rtscope \(format 7\)"),
        ("DROP SCHEMA rtscope CASCADE", "has no store yet: create it with 'rtscope store migrate'"),
        ("DROP TABLE rtscope.metrics", "cannot be used.*metrics.* does not exist"),
        ("ALTER DATABASE {} SET default_transaction_read_only = on", "read-only"),
    ],
    ids=["newer", "none", "damaged", "read-only"],
)
def test_a_store_that_cannot_be_used_loses_no_run(
    server: Server, statement: str, words: str
) -> None:
    executed(server, statement.format(server.url.partition("?")[0].rpartition("/")[2]))
    with pytest.raises(NotSentError, match=words) as caught:
        save(a_run(1), server)
    assert "secret" not in str(caught.value)
    assert Unsent(server).runs.load("1".zfill(16)) == a_run(1)


def test_one_refused_run_does_not_hold_up_the_others(server: Server) -> None:
    executed(server, "ALTER TABLE rtscope.runs ADD CHECK (host <> 'bad')")
    with pytest.raises(NotSentError, match="does not take this run"):
        save(a_run(1, machine=Machine(hostname="bad")), server)
    Unsent(server).runs.save(a_run(2))
    assert save(a_run(3), server)
    assert [run.id[-1] for run in list_runs(store=server)] == ["3", "2"]
    assert Unsent(server).waiting() == 1


def test_without_a_server_the_sentence_has_no_password(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    with pytest.raises(
        UnreachableError,
        match=r"the store postgresql://fleet@127\.0\.0\.1:1/runs cannot be reached.*refused",
    ) as caught:
        list_runs(store=NOWHERE)
    assert "secret" not in str(caught.value)


@pytest.mark.parametrize("column", ["record", "histograms"])
def test_a_damaged_record_is_named(server: Server, column: str) -> None:
    save(a_run(1), server)
    executed(server, f"UPDATE rtscope.runs SET {column} = substr({column}, 1, 40)")
    with pytest.raises(RtscopeError, match=f"run {a_run(1).id} in the store .*damaged"):
        load("last", server)
    assert save(a_run(1), server)
    assert load("last", server) == a_run(1)


def test_histograms_are_stored_in_a_tenth_of_a_run_file(server: Server) -> None:
    buckets = range(2000, 4000)
    shape = Histogram(list(buckets), [1] * 2000, [number % 97 + 1 for number in buckets])
    thread = msgspec.structs.replace(
        thread_of([2000, 3999]), histogram=shape, count=shape.total, mean_ns=None
    )
    run = a_run(1, threads=[thread] * 8)
    save(run, server)
    with psycopg.connect(server.url) as connection:
        found = connection.execute("SELECT length(record) + length(histograms) FROM rtscope.runs")
        (size,) = found.fetchone() or (0,)
    assert 0 < size < len(msgspec.json.encode(run)) / 10


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("runs.sqlite", Path("runs.sqlite")),
        ("/srv/a b.sqlite", Path("/srv/a b.sqlite")),
        ("postgresql://db/fleet", "postgresql://db/fleet"),
        ("postgres://me:pw@db:5433/fleet?sslmode=require", "postgresql://me@db:5433/fleet"),
        ("postgresql:///fleet?host=/run/pg&password=pw", "postgresql:///fleet?host=/run/pg"),
    ],
)
def test_a_place_is_a_path_or_a_url(text: str, found: Place | str) -> None:
    place = parse_place(text, "RTSCOPE_STORE")
    assert (str(place) if isinstance(found, str) else place) == found


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("mysql://db/fleet", "RTSCOPE_STORE begins with 'mysql://': give the path of"),
        ("postgresql://db", "RTSCOPE_STORE names no database"),
        ("postgresql://db:port/fleet", "RTSCOPE_STORE is not the URL of a store"),
    ],
)
def test_another_url_is_refused(text: str, words: str) -> None:
    with pytest.raises(RtscopeError, match=words) as caught:
        parse_place(text, "RTSCOPE_STORE")
    assert not isinstance(caught.value, StoreError)
