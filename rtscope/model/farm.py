# SPDX-License-Identifier: GPL-2.0-only
"""The state of a farm: what each board does now, and what it measured last.

A program that measures writes it (store/activity.py) and `rtscope serve` shows it. A single
`rtscope measure` is an activity of one board, this computer or its target.
"""

from typing import Annotated, Final, Literal

import msgspec

from rtscope.model.progress import Count, Ns, Progress

BoardState = Literal[
    "queued",
    "leasing",
    "booting",
    "checking",
    "measuring",
    "recovering",
    "releasing",
    "done",
    "failed",
]
"""checking: whether the board is quiet; recovering: by a power cycle"""
FINAL_STATES: Final[frozenset[BoardState]] = frozenset({"done", "failed"})
"""what a board is in once a farm run needs nothing more of it"""

Kind = Literal["farm", "measure"]
Name = Annotated[str, msgspec.Meta(max_length=400)]
Text = Annotated[str, msgspec.Meta(max_length=2000)]
Moment = Annotated[str, msgspec.Meta(max_length=40)]
"""ISO 8601 in UTC"""


class RunProgress(msgspec.Struct, frozen=True):
    """The run in progress on a board."""

    cell: Text
    """name of the cell in its plan, such as "cyclic under mixed:2" """
    time_ns: Ns = 0
    """since the run's start"""
    duration_ns: Ns | None = None
    """None where the run ends otherwise, or it is not known when"""
    samples: Count = 0
    """of all threads"""
    missed: Count = 0
    max_ns: Ns | None = None


class Board(msgspec.Struct, frozen=True):
    """One board."""

    name: Name
    address: Name
    """as in the farm file: labgrid:PLACE, ssh:HOST, vm:KERNEL, local"""
    state: BoardState
    time: Moment
    """when this state began"""
    progress: RunProgress | None = None
    """while it measures"""
    done: Count = 0
    """cells of its plans that are measured"""
    cells: Count = 0
    """all of them"""
    verdict: Literal["", "pass", "fail", "inconclusive"] = ""
    """of the last run that has a budget"""
    run: Annotated[str, msgspec.Meta(max_length=64)] = ""
    """id of the last run in the store"""
    text: Text = ""
    """why it failed, or what it waits for"""


class Activity(msgspec.Struct, frozen=True):
    """One program that measures, or has measured."""

    kind: Kind
    title: Text
    """the farm file and the plans, or the command's words"""
    started: Moment
    written: Moment
    """when this was written; at least every five seconds until it has ended"""
    ended: bool = False
    pid: Count = 0
    command: Text = ""
    """repeats it"""


def progress_of(line: Progress, cell: str, duration_ns: int | None) -> RunProgress:
    """The progress of a run from a line of its agent."""
    maxima = [thread.max_ns for thread in line.threads if thread.max_ns is not None]
    return RunProgress(
        cell,
        line.time_ns,
        duration_ns,
        sum(thread.count for thread in line.threads),
        sum(thread.missed for thread in line.threads),
        max(maxima, default=None),
    )
