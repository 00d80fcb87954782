# SPDX-License-Identifier: GPL-2.0-only
"""Threads of the measured program that received its events, as a table."""

from collections.abc import Sequence
from typing import Final

from rtscope.model.run import Thread, Waiter
from rtscope.report.tables.column import Column
from rtscope.wording.plain import plain
from rtscope.wording.values import NOTHING, count_text

_MOST_SHOWN: Final = 10


def waiters_columns(threads: Sequence[Thread]) -> list[Column]:
    """One row per thread that received events, by series; empty if none is known.

    The ten threads of a series with the most events are named; the others share a row.
    """
    rows = [row for thread in threads for row in _rows(thread)]
    if not rows:
        return []
    titles = ("", "received by", "tid", "priority", "pinned to", "events", "share")
    ranks = (1, 0, 5, 3, 4, 0, 2)
    return [
        Column(title, rank, [*cells], left=number < 2)
        for number, (title, rank, cells) in enumerate(
            zip(titles, ranks, zip(*rows, strict=True), strict=True)
        )
    ]


def _rows(thread: Thread) -> list[tuple[str, ...]]:
    series = plain(thread.name) or f"thread {thread.thread}"
    shown, others = thread.waiters[:_MOST_SHOWN], thread.waiters[_MOST_SHOWN:]
    total = sum(waiter.count for waiter in thread.waiters)
    rows: list[tuple[str, ...]] = [
        (series, *_named(waiter), *_counted(waiter.count, total)) for waiter in shown
    ]
    if others:
        rest = sum(waiter.count for waiter in others)
        name = f"{len(others)} more thread{'s' if len(others) > 1 else ''}"
        rows.append((series, name, NOTHING, NOTHING, NOTHING, *_counted(rest, total)))
    return rows


def _named(waiter: Waiter) -> tuple[str, str, str, str]:
    pinned = NOTHING if waiter.cpu is None else f"CPU {waiter.cpu}"
    priority = str(waiter.priority) if waiter.priority else "ordinary"
    return plain(waiter.name), str(waiter.tid), priority, pinned


def _counted(count: int, total: int) -> tuple[str, str]:
    share = f"{100 * count / total:.1f} %" if total else NOTHING
    return count_text(count), share
