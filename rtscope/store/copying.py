# SPDX-License-Identifier: GPL-2.0-only
"""Runs of one store into another."""

from collections.abc import Iterator
from typing import Literal

import msgspec

from rtscope.model.errors import RtscopeError
from rtscope.store.database import Store
from rtscope.store.search import Search

Outcome = Literal["copied", "present", "other", "damaged"]


class Copied(msgspec.Struct, frozen=True):
    """What became of one run."""

    id: str
    outcome: Outcome
    """present: the other store had it; other: it has another run with this id, and keeps it"""
    text: str = ""
    """the damage"""


def copy_runs(source: Store, destination: Store, search: Search) -> Iterator[Copied]:
    """Copy the runs of a search in the order they were saved. Raises StoreError.

    Interrupted, it has copied some runs; the same copy again goes on with the others.
    """
    ids = [one.id for one in reversed(source.found(search))]
    for name, run in source.read(ids):
        if isinstance(run, RtscopeError):
            yield Copied(name, "damaged", str(run))
            continue
        held = destination.held(run)
        if held is None:
            destination.save(run)
            yield Copied(name, "copied")
        else:
            yield Copied(name, "present" if held else "other")
