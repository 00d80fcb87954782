# SPDX-License-Identifier: GPL-2.0-only
"""Fills the index from the store, in a process of its own at a low priority.

It reads each run once, the newest first, and looks for change points in each series that has got
runs. A look at the store for new runs is one short query.
"""

import multiprocessing
import os
import shlex
import signal
import time
from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from multiprocessing.context import SpawnProcess
from typing import Final

from rtscope.model.errors import RtscopeError
from rtscope.model.run import Run
from rtscope.serve.entry import METRICS, ChangeEntry, Entry, indexed
from rtscope.serve.index import Index, index_path
from rtscope.statistics.history import Change, Key, Measured, metric_history
from rtscope.store.address import Place
from rtscope.store.database import Store, opened
from rtscope.store.search import Search
from rtscope.store.summary import Summary
from rtscope.wording.history import differing_rows

MOST_RUNS: Final = 200_000
"""that are indexed, the newest of the store"""
NEWEST: Final = 500
"""runs of a series in which change points are looked for"""
_FIRST_LOOK: Final = 64
_AT_ONCE: Final = 64
_EVERY_SECONDS: Final = 3.0
_WHOLE_EVERY_SECONDS: Final = 600.0
"""how often the whole store is listed, which finds runs that were removed"""
_NICE: Final = 15


def start(place: Place) -> SpawnProcess:
    """Start to keep the index of a store up to date; the process ends with its parent's."""
    process = multiprocessing.get_context("spawn").Process(
        target=_keep, args=(place, os.getpid()), daemon=True, name="rtscope-serve-indexer"
    )
    process.start()
    return process


def _keep(place: Place, parent: int) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    os.nice(_NICE)
    store, index = opened(place, read_only=True), Index(index_path(place))
    whole_at = 0.0
    while os.getppid() == parent:
        whole = time.monotonic() >= whole_at
        try:
            update(store, index, whole=whole, ends=lambda: os.getppid() != parent)
        except RtscopeError as error:
            index.set_state(index.state().missing, str(error))
        else:
            if whole:
                whole_at = time.monotonic() + _WHOLE_EVERY_SECONDS
        time.sleep(_EVERY_SECONDS)


def update(
    store: Store, index: Index, *, whole: bool = True, ends: Callable[[], bool] = lambda: False
) -> None:
    """Bring the index up to date with the store. Raises RtscopeError where that cannot be read.

    Not `whole`, only new and replaced runs are looked for.
    """
    stamps = index.stamps()
    listed = _listed(store, stamps, whole=whole)
    found = {one.id for one in listed}
    if whole:
        index.remove([run for run in stamps if run not in found])
    missing = [one for one in listed if stamps.get(one.id) != stamp_of(one)]
    left = len(missing)
    if left or whole:
        index.set_state(left)
    for part in _parts(missing):
        if ends():
            return
        summaries = {one.id: one for one in part}
        read = store.read(list(summaries))
        index.add([(stamp_of(summaries[run]), indexed(summaries[run], one)) for run, one in read])
        left -= len(part)
        index.set_state(left)
    for series in index.stale_series():
        if ends():
            return
        index.set_changes(series, changes_of(store, index, series))
    if missing:
        index.set_state(0)


def _listed(store: Store, stamps: dict[str, str], *, whole: bool) -> list[Summary]:
    """All runs; or the newest, down to one that the index has."""
    limit = _FIRST_LOOK
    while not whole:
        listed = store.found(Search(limit=limit))
        if len(listed) < limit or stamps.get(listed[-1].id) == stamp_of(listed[-1]):
            return listed
        limit *= 8
        whole = limit > MOST_RUNS
    return store.found(Search(limit=MOST_RUNS))


def stamp_of(summary: Summary) -> str:
    """Differs where a run was replaced by a later record of it."""
    return f"{summary.created} {summary.status} {summary.count} {summary.max_ns}"


def _parts(missing: Sequence[Summary]) -> Iterator[list[Summary]]:
    remaining = iter(missing)
    while part := list(islice(remaining, _AT_ONCE)):
        yield part


def changes_of(store: Store, index: Index, series: int) -> list[ChangeEntry]:
    """The change points of a series' newest runs."""
    key = index.key(series)
    entries = [entry for entry, _ in index.heats(series, NEWEST)]
    if key is None:
        return []
    points = [
        (metric, change)
        for metric in METRICS
        for change in metric_history(
            [Measured(one.id, one.created, _value(one, metric)) for one in entries], metric
        ).changes
    ]
    ids = {run for _, change in points for run in (change.before, change.after)}
    runs = {run: one for run, one in store.read(ids) if isinstance(one, Run)}
    return [
        _change(series, key, metric, change, runs[change.before], runs[change.after])
        for metric, change in points
        if change.before in runs and change.after in runs
    ]


def _value(entry: Entry, metric: str) -> float | None:
    return {"p99": entry.p99_ns, "p99.99": entry.p9999_ns, "max": entry.max_ns}[metric]


def _change(
    series: int, key: Key, metric: str, change: Change, before: Run, after: Run
) -> ChangeEntry:
    return ChangeEntry(
        series=series,
        key=key,
        metric=metric,
        change=change,
        kernels=[one.machine.kernel_release or "" for one in (before, after)],
        differing=differing_rows(before, after),
        command=shlex.join(after.asked.command),
        count=sum(thread.count for thread in after.threads),
    )
