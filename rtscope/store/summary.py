# SPDX-License-Identifier: GPL-2.0-only
"""The columns of a list of runs, which every kind of store holds apart from the record."""

import msgspec

from rtscope.model.run import Run
from rtscope.model.units import LONGEST_NS


class Summary(msgspec.Struct, frozen=True):
    """A run as a list shows it, without its histograms."""

    id: str
    created: str
    host: str | None
    kernel: str | None
    probe: str
    load: str
    status: str
    count: int
    """samples of all threads"""
    max_ns: int | None
    """of all threads"""
    source: str
    experiment: str = ""
    """id of the experiment it is of; "" for a run of its own"""
    cell: str = ""
    """of the experiment's plan, in words"""


class Damage(msgspec.Struct, frozen=True):
    """Something in a store that contradicts itself."""

    id: str
    """of the run; "" for the store as a whole"""
    text: str


def summary_of(run: Run) -> Summary:
    """What a list shows of a run. Undecodable bytes of names are written as \\udcXX."""
    maxima = [thread.max_ns for thread in run.threads if thread.max_ns is not None]
    return Summary(
        id=run.id,
        created=run.created,
        host=run.machine.hostname and _storable(run.machine.hostname),
        kernel=run.machine.kernel_release and _storable(run.machine.kernel_release),
        probe=_storable(run.probe),
        load=_storable(run.load),
        status=run.status,
        count=min(sum(thread.count for thread in run.threads), LONGEST_NS),
        max_ns=max(maxima, default=None),
        source=_storable(run.source),
        experiment=_storable(run.experiment),
        cell=_storable(run.cell),
    )


def _storable(value: str) -> str:
    return value.encode(errors="backslashreplace").decode()
