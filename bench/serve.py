# SPDX-License-Identifier: GPL-2.0-only
"""Time to the first byte of each page of `rtscope serve` with 100,000 runs of 8 CPUs.

.venv/bin/python bench/serve.py --runs 100000

The store is an SQLite file with as many runs of 40 boards. They are copies of a few with other ids
and times, so that the file is written in minutes; each has a tenth of the usual buckets, and one
has all. The index is filled from the same entries; how fast the server's indexer reads runs is
measured apart. The client asks a server on this computer over HTTP, one page after the other.
"""

import argparse
import http.client
import json
import os
import signal
import sqlite3
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import msgspec
import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1]))

from store import KERNELS, a_run

from rtscope.model.histogram import Histogram
from rtscope.model.machine import Machine
from rtscope.model.run import Asked, Run, Thread
from rtscope.serve.entry import Indexed, indexed
from rtscope.serve.index import Index, index_path
from rtscope.serve.indexer import changes_of, stamp_of, update
from rtscope.store.sqlite import SqliteStore
from rtscope.store.summary import summary_of
from tests.serve.stores import WIDE, wide

CPUS = 8
BOARDS = 40
LOADS = ("idle", "mixed:2", "files:50")
LIMIT_MS = 50.0
LAST = datetime(2026, 11, 21, tzinfo=UTC)
FIRST_ID = 1 << 60
READ = 300
"""runs by which the indexer is timed"""
WHOLE = "f" * 16
"""the run with all of its buckets"""


def threads(seed: int, slower: float) -> list[Thread]:
    """Eight CPUs with some hundred buckets each."""
    rng = np.random.default_rng(seed)
    made = []
    for cpu in range(CPUS):
        values = (rng.lognormal(8, 0.15, 15_000) * slower).astype(np.int64) // 50 * 50
        lower, count = np.unique(values, return_counts=True)
        made.append(
            Thread(
                cpu, cpu, "fifo", 80, len(values),
                Histogram(lower.tolist(), [50] * len(lower), count.tolist()),
                int(values.min()), int(values.max()), float(values.mean()), float(values.std()),
            )
        )  # fmt: skip
    return made


def templates() -> list[Run]:
    """A run of each board and load, before and after an update of its kernel."""
    found = []
    for number in range(BOARDS * len(LOADS) * 2):
        series, after = divmod(number, 2)
        board, load = series % BOARDS, LOADS[series // BOARDS]
        found.append(
            Run(
                f"{number:016x}",
                "2026-01-01T00:00:00+00:00",
                "cyclic",
                "complete",
                load,
                Machine(hostname=f"board{board}", kernel_release=KERNELS[after]),
                threads(number, 1.2 if after else 1.0),
                Asked(["rtscope", "measure", "--load", load], 1_000_000, budget=["p99<10us"]),
                tags=["nightly"],
            )
        )
    return found


def copies(runs: list[Run], count: int) -> Iterator[tuple[Run, str, str]]:
    """A template, an id and a time of each run; the newer ones have the newer kernel."""
    for number in range(count):
        late = number >= count * 0.7
        template = runs[(number // 2 * 2 + late) % len(runs)]
        created = LAST - timedelta(minutes=10 * (count - number))
        yield template, f"{FIRST_ID + number:016x}", created.isoformat()


def fill(path: Path, count: int) -> list[tuple[str, Indexed]]:
    """Write the store; return the entries of its index with their stamps."""
    made = templates()
    store = SqliteStore(path)
    for run in made:
        store.save(run)
    store.save(msgspec.structs.replace(a_run(0), id=WHOLE))
    store.save(wide())
    known = {run.id: (summary_of(run), indexed(summary_of(run), run)) for run in made}
    entries = []
    with sqlite3.connect(path) as database:
        database.execute("PRAGMA synchronous = OFF")
        for run, new, created in copies(made, count):
            database.execute(
                "INSERT INTO runs (id, created, host, kernel, probe, load, status, count, max_ns, "
                "source, experiment, cell, record) SELECT ?, ?, host, kernel, probe, load, status, "
                "count, max_ns, source, experiment, cell, CAST(replace(replace(CAST(record AS "
                "TEXT), id, ?), created, ?) AS BLOB) FROM runs WHERE id = ?",
                (new, created, new, created, run.id),
            )
            summary, one = known[run.id]
            entry = msgspec.structs.replace(one.entry, id=new, created=created)
            stamp = stamp_of(msgspec.structs.replace(summary, created=created))
            entries.append((stamp, msgspec.structs.replace(one, entry=entry)))
    return entries


def fill_index(store: SqliteStore, index: Index, entries: list[tuple[str, Indexed]]) -> None:
    """Add the entries, and the change points of their series."""
    for first in range(0, len(entries), 5000):
        index.add(entries[first : first + 5000])
    for series in index.stale_series():
        index.set_changes(series, changes_of(store, index, series))
    index.set_state(0)


def indexing_ms(path: Path, folder: Path) -> float:
    """Milliseconds of CPU time per run of the indexer."""

    class Few(SqliteStore):
        def found(self, search):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN202
            return super().found(msgspec.structs.replace(search, limit=READ))

    start = time.process_time()
    update(Few(path, read_only=True), Index(folder / "timed.sqlite"))
    return 1000 * (time.process_time() - start) / READ


def first_byte_ms(address: str, path: str) -> tuple[float, float, int]:
    """Milliseconds to the first and the last byte, and bytes."""
    connection = http.client.HTTPConnection(address, timeout=60)
    connection.connect()
    start = time.perf_counter()
    connection.request("GET", path, headers={"Accept": "text/html"})
    answer = connection.getresponse()
    first = time.perf_counter()
    size = len(answer.read())
    last = time.perf_counter()
    connection.close()
    assert answer.status == 200, (path, answer.status)
    return 1000 * (first - start), 1000 * (last - start), size


def main() -> int:
    """Print all times; return 1 where a page is slower than the limit."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--runs", type=int, default=100_000)
    parser.add_argument("--times", type=int, default=20)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        return measured(Path(folder), given.runs, given.times)


def measured(folder: Path, runs: int, times: int) -> int:
    """Fill, serve, ask."""
    os.environ |= {name: str(folder) for name in ("XDG_CACHE_HOME", "XDG_STATE_HOME")}
    path = folder / "runs.sqlite"
    start = time.perf_counter()
    entries = fill(path, runs)
    print(f"{runs:,} runs, {path.stat().st_size / runs:,.0f} bytes each, written in "
          f"{time.perf_counter() - start:.0f} s")  # fmt: skip
    print(f"the indexer takes {indexing_ms(path, folder):.1f} ms of CPU time a run")
    index = Index(index_path(path))
    start = time.perf_counter()
    fill_index(SqliteStore(path, read_only=True), index, entries)
    print(f"index: {index.path.stat().st_size / runs:,.0f} bytes a run, filled in "
          f"{time.perf_counter() - start:.0f} s")  # fmt: skip
    server = subprocess.Popen(
        [sys.executable, "-m", "rtscope", "serve", "--port", "0"],
        env=os.environ | {"RTSCOPE_STORE": str(path)},
        cwd=Path(__file__).parents[1], stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    assert server.stderr
    try:
        address = server.stderr.readline().partition("http://")[2].split("/")[0]
        return asked(address, times, server.pid)
    finally:
        server.send_signal(signal.SIGTERM)
        server.wait()


def cpu_ms(process: int) -> float:
    """CPU time of a process so far."""
    fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return 1000 * (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def asked(address: str, times: int, server: int) -> int:
    """Print the times of each page."""
    connection = http.client.HTTPConnection(address, timeout=60)
    connection.request("GET", "/worse.json")
    change = json.loads(connection.getresponse().read())["changes"][0]["change"]
    pages = {
        "what got worse": "/worse",
        "machines": "/machines",
        "a machine over time": "/machine?name=board7",
        "runs": "/runs",
        "runs, page 1,900": "/runs?page=1900",
        "a run": f"/run/{change['after']}",
        "a run with 20,000 buckets": f"/run/{WHOLE}",
        "a run of 64 CPUs with 300 windows": f"/run/{WIDE}",
        "compare": f"/compare?run={change['before']}&run={change['after']}",
        "farm": "/farm",
        "metrics": "/metrics",
    }
    slowest = 0.0
    for name, path in pages.items():
        first_byte_ms(address, path)
        before = cpu_ms(server)
        all_times = [first_byte_ms(address, path) for _ in range(times)]
        used = (cpu_ms(server) - before) / times
        first, last = (statistics.median(one[place] for one in all_times) for place in (0, 1))
        slowest = max(slowest, first)
        print(
            f"{name}: first byte {first:.0f} ms, last {last:.0f} ms, {used:.0f} ms of CPU time, "
            f"{all_times[0][2]:,} bytes",
            flush=True,
        )
    return int(slowest > LIMIT_MS)


if __name__ == "__main__":
    sys.exit(main())
