# SPDX-License-Identifier: GPL-2.0-only
"""Stores are copied, pruned and checked."""

import sqlite3
from datetime import UTC, datetime
from pathlib import Path

import msgspec
import psycopg
import pytest

from rtscope.model.run import Run
from rtscope.store import compact
from rtscope.store.address import Place, Server
from rtscope.store.copying import Copied, copy_runs
from rtscope.store.database import found, load, opened, save
from rtscope.store.search import Search
from tests.measured import run_of, thread_of


def a_run(number: int, *tags: str, latency_ns: int = 2000) -> Run:
    created = f"2026-11-{number:02}T12:00:00+00:00"
    thread = thread_of([latency_ns] * 30)
    return run_of(thread, id=f"{number:016x}", created=created, tags=list(tags))


def numbers(place: Place, search: Search = Search()) -> str:
    return "".join(run.id[-1] for run in found(search, place))


def executed(place: Place, statement: str) -> None:
    if isinstance(place, Server):
        with psycopg.connect(place.url) as connection:
            connection.execute(f"SET search_path = rtscope; {statement}")
        return
    with sqlite3.connect(place) as database:
        database.execute(statement)
    database.close()


@pytest.fixture
def filled(place: Place) -> Place:
    for number in (1, 2, 3):
        save(a_run(number, "nightly", *["release"] * (number == 1)), place)
    return place


def test_a_copy_has_every_run_and_replaces_none(filled: Place, tmp_path: Path) -> None:
    other = tmp_path / "other.sqlite"
    save(a_run(2, latency_ns=9000), other)
    executed(filled, f"UPDATE runs SET record = 'damaged' WHERE id = '{a_run(3).id}'")
    copied = list(copy_runs(opened(filled), opened(other), Search()))
    assert [one.outcome for one in copied] == ["copied", "other", "damaged"]
    assert a_run(3).id in copied[2].text
    assert numbers(other) == "12"
    assert load(a_run(1).id, other) == a_run(1, "nightly", "release")
    assert load(a_run(2).id, other) == a_run(2, latency_ns=9000)
    back = list(copy_runs(opened(other), opened(filled), Search(tags=["release"])))
    assert back == [Copied(a_run(1).id, "present")]


def test_pruning_removes_what_a_search_finds(filled: Place) -> None:
    old = Search(before=datetime(2026, 11, 3, tzinfo=UTC))
    kept = msgspec.structs.replace(old, without_tags=["release"])
    assert numbers(filled, kept) == "2"
    assert [run.id for run in opened(filled).prune(kept)] == [a_run(2).id]
    assert numbers(filled) == "31"
    assert numbers(filled, Search(tags=["nightly"])) == "31"
    assert list(opened(filled).check()) == []


@pytest.mark.parametrize(
    ("statement", "words"),
    [
        ("UPDATE runs SET record = '{'", "in the store"),
        ("UPDATE runs SET kernel = '6.99'", "the list shows other values"),
        ("UPDATE metrics SET value = value + 1 WHERE name = 'max'", "found by other values"),
        ("DELETE FROM metrics WHERE name = 'max'", "found by other values"),
    ],
)
def test_a_check_finds_every_damage(filled: Place, statement: str, words: str) -> None:
    assert list(opened(filled).check()) == []
    executed(filled, statement)
    damages = list(opened(filled).check())
    assert [damage.id[-1] for damage in damages] == ["1", "2", "3"]
    assert all(words in damage.text for damage in damages)


def test_a_check_finds_a_changed_histogram_and_tag(server: Server) -> None:
    save(a_run(1, "nightly"), server)
    other = compact.encode(a_run(1, latency_ns=2001))[1].hex()
    executed(server, rf"UPDATE runs SET histograms = '\x{other}'")
    (damage,) = opened(server).check()
    assert "have changed since it was saved" in damage.text
    assert save(a_run(1, "nightly"), server)
    executed(server, "UPDATE runs SET tags = ARRAY['weekly']")
    (damage,) = opened(server).check()
    assert "the list shows other values" in damage.text
