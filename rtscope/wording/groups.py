# SPDX-License-Identifier: GPL-2.0-only
"""Which threads of a run are alike, so that their samples can be put together."""

import msgspec

from rtscope.model.run import Run, Thread
from rtscope.statistics.metrics import Metrics, metrics_of_run
from rtscope.wording.plain import plain
from rtscope.wording.values import thread_name


class Group(msgspec.Struct, frozen=True):
    """All threads of a run, or those of one name: a clock, a method."""

    label: str
    threads: list[Thread]
    lone: bool
    """one thread of a name that no other has: nothing is put together"""


def groups_of(run: Run) -> list[Group]:
    """The groups in the order of their first threads; a run without threads has one, empty."""
    by_name: dict[str, list[Thread]] = {}
    for thread in run.threads:
        by_name.setdefault(thread.name, []).append(thread)
    if len(by_name) <= 1:
        return [Group("all", run.threads, False)]
    return [
        Group(thread_name(threads[0]), threads, True)
        if len(threads) == 1
        else Group(f"{plain(name)}{', all' if name else 'all'}", threads, False)
        for name, threads in by_name.items()
    ]


def metrics_of_group(run: Run, group: Group) -> Metrics:
    """The metrics of a group's threads together. Raises RtscopeError as metrics_of_run does."""
    return metrics_of_run(msgspec.structs.replace(run, threads=group.threads))
