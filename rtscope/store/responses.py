# SPDX-License-Identifier: GPL-2.0-only
"""Runs that are found by percentiles of their response times.

Stores index the samples' percentiles only. Those of the response times are the same where no period
was missed; the other runs are read.
"""

from collections.abc import Sequence
from typing import Final

import msgspec

from rtscope.model.budget import RESPONSE
from rtscope.model.errors import RtscopeError
from rtscope.model.quantity import PERIODIC
from rtscope.model.run import Run
from rtscope.statistics.history import metric_of
from rtscope.store.database import Store
from rtscope.store.search import OPERATORS, Condition, Search
from rtscope.store.summary import Summary

MISSED: Final = Condition("missed", ">=", 1.0)
"""a run that missed periods"""
_NONE_MISSED: Final = Condition("missed", "<", 1.0)


def found(store: Store, search: Search) -> list[Summary]:
    """The runs of a search, the one saved last first. Raises RtscopeError."""
    wanted = [one for one in search.metrics if one.metric.endswith(RESPONSE)]
    if not wanted:
        return store.found(search)
    indexed = tuple(one for one in search.metrics if one not in wanted)
    of_samples = [_of_samples(one) for one in wanted]
    ids = {run.id for run in store.found(_with(search, (*indexed, _NONE_MISSED, *of_samples)))}
    late = [run.id for run in store.found(_with(search, (*indexed, MISSED)))]
    for run_id, run in store.read(late):
        if isinstance(run, Run) and _meets(run, wanted):
            ids.add(run_id)
    runs = store.found(_with(search, indexed))
    return [run for run in runs if run.id in ids and run.probe in PERIODIC][: search.limit]


def _with(search: Search, metrics: tuple[Condition, ...]) -> Search:
    return msgspec.structs.replace(search, metrics=metrics, limit=None)


def _of_samples(condition: Condition) -> Condition:
    return msgspec.structs.replace(condition, metric=condition.metric.removesuffix(RESPONSE))


def _meets(run: Run, conditions: Sequence[Condition]) -> bool:
    try:
        values = [metric_of(run, one.metric) for one in conditions]
    except RtscopeError:  # histograms of different tools, which cannot be merged
        return False
    return all(
        value is not None and OPERATORS[one.comparison](value, one.value)
        for value, one in zip(values, conditions, strict=True)
    )
