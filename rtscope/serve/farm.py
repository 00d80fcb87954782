# SPDX-License-Identifier: GPL-2.0-only
"""What boards do now: the page, and its changes as server-sent events."""

import asyncio
from collections.abc import AsyncIterator, Callable
from typing import Any, Final

import msgspec
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request

from rtscope.model.farm import Activity, Board
from rtscope.serve.pages import Pages
from rtscope.serve.site import Page, Site
from rtscope.store.activity import activities, activity_stamp, is_silent

_LOOK_SECONDS: Final = 0.5
_ANYWAY_LOOKS: Final = 20
"""looks after which the page is made again: a program may have gone silent"""
_MOST_BOARDS: Final = 1000


class Row(msgspec.Struct, frozen=True):
    """A board, and whether the program that measures it is gone."""

    board: Board
    silent: bool
    share: float | None
    """of the run's duration that is over; None where that is not known"""


class Group(msgspec.Struct, frozen=True):
    """A program that measures, and its boards."""

    activity: Activity
    silent: bool
    rows: list[Row]


def farm(site: Site, request: Request) -> Page:
    """All boards."""
    groups = groups_now()
    return Page("farm.html.jinja", "Farm", "farm", {"groups": groups}, {"farms": groups})


def groups_now() -> list[Group]:
    """What all programs do now, the one that wrote last first."""
    found, room = [], _MOST_BOARDS
    for activity, boards in activities():
        silent = is_silent(activity)
        shown = boards[:room]
        room -= len(shown)
        found.append(Group(activity, silent, [_row(board, silent) for board in shown]))
    return found


def _row(board: Board, silent: bool) -> Row:
    progress = board.progress
    share = None
    if progress and progress.duration_ns:
        share = min(1.0, progress.time_ns / progress.duration_ns)
    return Row(board, silent, share)


async def events(pages: Pages, stopping: Callable[[], bool]) -> AsyncIterator[str]:
    """The table of boards as an event whenever it changes, until the server stops."""
    stamp: Any = None
    last, looks = "", 0
    yield "retry: 2000\n\n"
    while not stopping():
        now = await run_in_threadpool(activity_stamp)
        if now != stamp or looks >= _ANYWAY_LOOKS:
            stamp, looks = now, 0
            text = await run_in_threadpool(_table, pages)
            data = msgspec.json.encode(text).decode()
            yield f"event: farm\ndata: {data}\n\n" if text != last else ": nothing new\n\n"
            last = text
        looks += 1
        await asyncio.sleep(_LOOK_SECONDS)


def _table(pages: Pages) -> str:
    return pages.render("boards.html.jinja", groups=groups_now())
