# SPDX-License-Identifier: GPL-2.0-only
"""Runs are found by machine, kernel, tag, metric and time, in a store of each kind."""

import sqlite3
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import msgspec
import pytest

from rtscope.model.errors import RtscopeError
from rtscope.model.machine import Machine
from rtscope.model.run import Asked, Run
from rtscope.store import responses
from rtscope.store.address import Place
from rtscope.store.database import found, opened, remove, save
from rtscope.store.search import Condition, Search, parse_condition, parse_moment
from tests.measured import run_of, thread_of

DAY = datetime(2026, 11, 3, tzinfo=UTC)


def a_run(number: int, latency_ns: int, host: str, kernel: str, *tags: str) -> Run:
    """1000 samples of one latency, so that its percentiles up to p99 are that latency."""
    thread = msgspec.structs.replace(
        thread_of([latency_ns] * 1000), metrics={"failed": float(number)}
    )
    return run_of(
        thread,
        id=f"{number:016x}",
        created=f"2026-11-{number:02}T12:00:00+00:00",
        machine=Machine(hostname=host, kernel_release=kernel),
        tags=list(tags),
    )


RUNS = [
    a_run(1, 10_000, "board1", "6.12.43-rt", "nightly", "a'b\0c"),
    a_run(2, 20_000, "board1", "6.18.2-rt", "nightly"),
    a_run(3, 60_000, "board2", "6.12.43-rt"),
    a_run(4, 70_000, "board10", "6.12.50", "nightly", "release"),
]
SEARCHES: list[tuple[dict[str, Any], str]] = [
    ({}, "4321"),
    ({"limit": 2}, "43"),
    ({"machine": "board1"}, "421"),
    ({"machine": "board10"}, "4"),
    ({"machine": "board%"}, ""),
    ({"kernel": "6.12"}, "431"),
    ({"kernel": "6.12", "machine": "board1", "tags": ["nightly"]}, "41"),
    ({"tags": ["nightly", "release"]}, "4"),
    ({"tags": ["a'b\0c"]}, "1"),
    ({"since": DAY}, "43"),
    ({"before": DAY, "tags": ["nightly"]}, "21"),
    ({"metrics": ["p99>50us"]}, "43"),
    ({"metrics": ["p99>=20", "max<=60us"]}, "32"),
    ({"metrics": ["failed<2"]}, "1"),
    ({"metrics": ["p99.99>1us"]}, ""),
    ({"metrics": ["missed<1"], "limit": 1}, "4"),
]


def numbers(place: Place, **fields: Any) -> str:  # noqa: ANN401
    fields["metrics"] = [parse_condition(text) for text in fields.get("metrics", [])]
    return "".join(run.id[-1] for run in found(Search(**fields), place))


def test_runs_are_found(place: Place) -> None:
    for run in RUNS:
        save(run, place)
    assert {str(asked): numbers(place, **asked) for asked, _ in SEARCHES} == {
        str(asked): expected for asked, expected in SEARCHES
    }
    save(a_run(4, 5_000, "board3", "6.12.50"), place)
    remove([RUNS[0].id], place)
    assert numbers(place, tags=["nightly"]) == "2"
    assert numbers(place, metrics=["p99>50us"]) == "3"
    assert numbers(place, machine="board3") == "4"


def test_runs_are_found_by_their_response_times(place: Place) -> None:
    stalled = thread_of([5_000] * 1950 + [50_000_000])
    runs = {1: (stalled, 49), 2: (stalled, 500), 3: (thread_of([5_000] * 2000), 0)}
    for number, (thread, missed) in runs.items():
        threads = [msgspec.structs.replace(thread, missed=missed)]
        asked = Asked(interval_ns=1_000_000)
        save(run_of(*threads, id=f"{number:016x}", asked=asked), place)
    save(run_of(thread_of([5_000] * 2000), id=f"{4:016x}", probe="pi"), place)

    def ids(*conditions: str, limit: int | None = None) -> list[int]:
        search = Search(metrics=[parse_condition(text) for text in conditions], limit=limit)
        return [int(run.id, 16) for run in responses.found(opened(place), search)]

    assert ids("p99<1ms") == [4, 3, 2, 1]
    assert ids("p99.response<1ms") == [3]
    assert ids("p99.response>1ms") == [1]
    assert ids("p99.response>1us") == [3, 1]
    assert ids("p99.response>1us", limit=1) == [3]
    assert ids("p99.response>1us", "missed>=1") == [1]
    assert ids("p99.9.response>1us") == []


def test_runs_of_an_older_rtscope_are_found_too(tmp_path: Path) -> None:
    path = tmp_path / "runs.sqlite"
    for run in RUNS:
        save(run, path)
    connection = sqlite3.connect(path)
    for table in ("names", "metrics", "unindexed"):
        connection.execute(f"DROP TABLE {table}")
    connection.execute("DROP INDEX starts")
    connection.execute("PRAGMA user_version = 2")
    connection.execute(f"UPDATE runs SET record = 'damaged' WHERE id = '{RUNS[1].id}'")
    connection.commit()
    connection.close()
    before = path.read_bytes()
    assert numbers(path, kernel="6.12") == "431"
    assert path.read_bytes() == before
    assert numbers(path, metrics=["p99>50us"]) == "43"
    assert numbers(path, tags=["nightly"], machine="board1") == "41"
    assert opened(path).migrate() == (3, 3)


@pytest.mark.parametrize(
    ("text", "condition"),
    [
        ("p99.9 > 50us", Condition("p99.9", ">", 50_000)),
        ("avg<=1ms", Condition("mean", "<=", 1_000_000)),
        ("missed>=1", Condition("missed", ">=", 1)),
        ("longest_ns<2us", Condition("longest_ns", "<", 2000)),
        ("ratio>0.5", Condition("ratio", ">", 0.5)),
        ("p99.5>1us", "cannot be searched by p99.5"),
        ("p99.9.response>1us", Condition("p99.9.response", ">", 1000)),
        ("p99.5.response>1us", "cannot be searched by p99.5.response"),
        ("p99[a]>1us", "is not a condition: write METRIC>TIME"),
        ("max=1us", "is not a condition"),
        ("max>soon", "'soon' is not a time"),
        ("missed>1us", "missed periods are a plain count"),
    ],
)
def test_a_condition_is_read_or_refused(text: str, condition: Condition | str) -> None:
    if isinstance(condition, Condition):
        assert parse_condition(text) == condition
        return
    with pytest.raises(RtscopeError, match=condition):
        parse_condition(text)


def test_a_moment_is_a_date_or_an_age() -> None:
    assert parse_moment("2026-11-03", "--since") == DAY
    assert parse_moment("2026-11-03T02:00+02:00", "--since") == DAY
    week = datetime.now(UTC) - parse_moment("1w", "--since")
    assert round(week.total_seconds() / 3600) == 7 * 24
    with pytest.raises(RtscopeError, match="--since soon is not a date such as"):
        parse_moment("soon", "--since")
