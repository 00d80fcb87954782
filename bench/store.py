# SPDX-License-Identifier: GPL-2.0-only
"""Cost of a run in a store on PostgreSQL, and of a search among 100,000 runs of 8 CPUs.

.venv/bin/python bench/store.py --runs 100000

Sixteen writers, threads of four processes, save runs of 40 boards. The server then copies
those rows, with other ids, times and metrics, until there are as many runs as asked: a search costs
the same where many runs have the same histograms. The server is a PostgreSQL of its own, without
fsync, on this computer; each search makes a connection of its own, as commands do.
"""

import argparse
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from functools import cache
from pathlib import Path

import msgspec
import numpy as np
import psycopg

sys.path.insert(0, str(Path(__file__).parents[1]))

from rtscope.model.histogram import Histogram
from rtscope.model.machine import Machine
from rtscope.model.run import Run, Thread, Windows
from rtscope.store.address import Server
from rtscope.store.database import found, load, save
from rtscope.store.search import Condition, Search
from rtscope.store.searchable import searchable_metrics
from tests.cluster import Cluster

CPUS = 8
BOARDS = 40
KERNELS = ("6.1.128-rt", "6.12.43-rt", "6.18.2-rt")
WRITERS = 16
DAYS = 1000
LIMIT_MS = 100.0
NOW = datetime(2026, 11, 21, tzinfo=UTC)

FILL = """
WITH copied AS (
    SELECT runs.*, row_number() OVER () AS number
    FROM rtscope.runs, generate_series(1, %(times)s) LIMIT %(missing)s
), added AS (
    INSERT INTO rtscope.runs (
        id, created, host, kernel, probe, load, status, count, max_ns, source, experiment, cell,
        machine, started, tags, record, histograms, digest
    )
    SELECT to_hex((1::bigint << 62) + number), created, host, kernel, probe, load, status, count,
        max_ns, source, experiment, cell, machine, started - random() * interval '1 day', tags,
        record, histograms, digest
    FROM copied
    RETURNING saved
)
INSERT INTO rtscope.metrics
SELECT added.saved, metrics.name, metrics.value * (0.8 + 0.4 * random())
FROM added
CROSS JOIN (SELECT name, value FROM rtscope.metrics WHERE run = 1) AS metrics
"""


@cache
def threads() -> list[Thread]:
    """Eight CPUs, a minute at 1 ms, in the agent's own buckets."""
    rng = np.random.default_rng(1)
    made = []
    for cpu in range(CPUS):
        latencies = (rng.lognormal(8, 0.15, 60_000) * (1 + rng.pareto(8, 60_000))).astype(np.int64)
        width = 1 << np.maximum(np.floor(np.log2(latencies)).astype(np.int64) - 10, 0)
        lower, count = np.unique(latencies // width * width, return_counts=True)
        widths = 1 << np.maximum(np.floor(np.log2(lower)).astype(np.int64) - 10, 0)
        windows = Windows(
            [(index + 1) * 10**9 for index in range(60)],
            [1000] * 60,
            [float(part.mean()) for part in np.split(latencies, 60)],
            [int(part.max()) for part in np.split(latencies, 60)],
        )
        made.append(
            Thread(
                cpu, cpu, "fifo", 80, 60_000,
                Histogram(lower.tolist(), widths.tolist(), count.tolist()),
                int(latencies.min()), int(latencies.max()),
                float(latencies.mean()), float(latencies.std()), windows=windows,
            )
        )  # fmt: skip
    return made


def a_run(number: int) -> Run:
    """One of many runs, of a board, a kernel and a day."""
    return Run(
        f"{number:016x}",
        (NOW - timedelta(days=number // BOARDS * 37 % DAYS)).isoformat(),
        "cyclic",
        "complete",
        "mixed",
        Machine(hostname=f"board{number % BOARDS}", kernel_release=KERNELS[number % len(KERNELS)]),
        threads(),
        tags=["nightly"] if number // BOARDS % 10 else ["nightly", "release"],
    )


def write(numbers: range, server: Server) -> None:
    """Save runs from four threads."""
    with ThreadPoolExecutor(WRITERS // 4) as pool:
        list(pool.map(lambda number: save(a_run(number), server), numbers))


def timed_ms(times: int, act: Callable[[], object]) -> tuple[float, float]:
    """Median and largest milliseconds."""
    taken = []
    for _ in range(times):
        start = time.perf_counter()
        act()
        taken.append(1000 * (time.perf_counter() - start))
    return statistics.median(taken), max(taken)


def written_per_s(server: Server, count: int) -> float:
    """Save runs from sixteen writers; return runs per second."""
    with ProcessPoolExecutor(4) as pool:
        list(pool.map(threads_ready, range(4)))
        start = time.perf_counter()
        writers = [pool.submit(write, range(first, count, 4), server) for first in range(4)]
        for writer in writers:
            writer.result()
        return count / (time.perf_counter() - start)


def threads_ready(_: int) -> int:
    """Make the threads of the runs in a writer's process."""
    return len(threads())


def main() -> int:
    """Write, fill up, search; return 1 where a search of a board takes longer than the limit."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--runs", type=int, default=100_000)
    parser.add_argument("--written", type=int, default=4000, help="runs that the writers save")
    parser.add_argument("--times", type=int, default=20)
    given = parser.parse_args()
    cluster = Cluster()
    try:
        with tempfile.TemporaryDirectory() as data:
            os.environ["XDG_DATA_HOME"] = data
            cluster.start()
            return measured(cluster.store(), given.runs, given.written, given.times)
    finally:
        cluster.close()


def measured(server: Server, runs: int, written: int, times: int) -> int:
    """Print all costs."""
    size = len(msgspec.json.encode(a_run(0)))
    buckets = sum(len(one.histogram.count) for one in threads())
    print(f"a run: {CPUS} CPUs, {buckets:,} buckets, {size:,} bytes as a run file")
    print(f"{WRITERS} writers: {written_per_s(server, written):.0f} runs/s")
    with psycopg.connect(server.url, autocommit=True) as connection:
        missing = {"times": -(-runs // written), "missing": max(0, runs - written)}
        connection.execute(FILL, missing)
        connection.execute("VACUUM ANALYZE")
        row = connection.execute(
            "SELECT count(*), sum(pg_total_relation_size('rtscope.runs') "
            "+ pg_total_relation_size('rtscope.metrics')) / count(*) / count(*) FROM rtscope.runs"
        ).fetchone()
    assert row is not None
    print(f"{row[0]:,} runs, {row[1]:,.0f} bytes each with all indexes")
    usual = searchable_metrics(a_run(0))
    quarter = NOW - timedelta(days=90)
    searches = {
        "runs of a board in 90 days": Search(machine="board7", since=quarter),
        "the same with a kernel and a tag": Search(
            machine="board7", since=quarter, kernel="6.12", tags=["release"]
        ),
        "the newest 30": Search(limit=30),
        "the newest 30 of a board": Search(machine="board7", limit=30),
        "the newest 30 of a kernel and a tag": Search(kernel="6.18", tags=["release"], limit=30),
        "the newest 30 with max above 1.18 of the usual": Search(
            metrics=[Condition("max", ">", 1.18 * usual["max"])], limit=30
        ),
        "a board's with p99 above 1.1 of the usual, 90 days": Search(
            machine="board7", since=quarter, metrics=[Condition("p99", ">", 1.1 * usual["p99"])]
        ),
    }
    slowest = 0.0
    for name, search in searches.items():
        count = len(found(search, server))
        median, largest = timed_ms(times, lambda search=search: found(search, server))  # type: ignore[misc]
        slowest = max(slowest, median)
        print(f"{name}: {count} runs, median {median:.0f} ms, largest {largest:.0f} ms")
    median, largest = timed_ms(times, lambda: load("last", server))
    print(f"load one run: median {median:.0f} ms, largest {largest:.0f} ms")
    return int(slowest > LIMIT_MS)


if __name__ == "__main__":
    sys.exit(main())
