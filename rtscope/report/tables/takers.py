# SPDX-License-Identifier: GPL-2.0-only
"""Which threads of the measured program took its events, as a table."""

from collections.abc import Sequence
from typing import Final

from rtscope.model.run import Taker, Thread
from rtscope.report.tables.column import Column
from rtscope.wording.plain import plain
from rtscope.wording.values import NOTHING, count_text

_MOST_SHOWN: Final = 10


def takers_columns(threads: Sequence[Thread]) -> list[Column]:
    """One row for each thread that took events, series after series; empty where nobody is known.

    Of a series the ten that took most are named, and the others put together.
    """
    rows = [row for thread in threads for row in _rows(thread)]
    if not rows:
        return []
    titles = ("", "taken by", "tid", "priority", "pinned to", "events", "share")
    ranks = (1, 0, 5, 3, 4, 0, 2)
    return [
        Column(title, rank, [*cells], left=number < 2)
        for number, (title, rank, cells) in enumerate(
            zip(titles, ranks, zip(*rows, strict=True), strict=True)
        )
    ]


def _rows(thread: Thread) -> list[tuple[str, ...]]:
    series = plain(thread.name) or f"thread {thread.thread}"
    shown, others = thread.takers[:_MOST_SHOWN], thread.takers[_MOST_SHOWN:]
    total = sum(taker.count for taker in thread.takers)
    rows: list[tuple[str, ...]] = [
        (series, *_named(taker), *_counted(taker.count, total)) for taker in shown
    ]
    if others:
        rest = sum(taker.count for taker in others)
        name = f"{len(others)} more thread{'s' if len(others) > 1 else ''}"
        rows.append((series, name, NOTHING, NOTHING, NOTHING, *_counted(rest, total)))
    return rows


def _named(taker: Taker) -> tuple[str, str, str, str]:
    pinned = NOTHING if taker.cpu is None else f"CPU {taker.cpu}"
    priority = str(taker.priority) if taker.priority else "ordinary"
    return plain(taker.name), str(taker.tid), priority, pinned


def _counted(count: int, total: int) -> tuple[str, str]:
    share = f"{100 * count / total:.1f} %" if total else NOTHING
    return count_text(count), share
