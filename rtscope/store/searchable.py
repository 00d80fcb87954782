# SPDX-License-Identifier: GPL-2.0-only
"""The metrics of a run by which a store finds it."""

import math
from typing import Final

from rtscope.model.errors import RtscopeError
from rtscope.model.run import Run
from rtscope.statistics.metrics import PERCENTS, metrics_of_run, percent_name

EVERY_PROBES: Final = ("mean", "max", "missed", *map(percent_name, PERCENTS))
"""metrics of every run with enough samples; others are of the probes"""


def searchable_metrics(run: Run) -> dict[str, float]:
    """Metrics of all threads together; of a metric of the probe, the largest of all threads."""
    found: dict[str, float] = {}
    for thread in run.threads:
        for name, value in thread.metrics.items():
            found[name] = max(value, found.get(name, -math.inf))
    try:
        metrics = metrics_of_run(run)
    except RtscopeError:  # histograms of different tools, which cannot be merged
        return _finite(found)
    own = {"mean": metrics.mean_ns, "max": metrics.max_ns, "missed": metrics.missed}
    own |= {
        percent_name(one.percent): one.value_ns for one in metrics.quantiles if not one.at_least
    }
    return _finite(found | {name: value for name, value in own.items() if value is not None})


def same_metrics(one: dict[str, float], other: dict[str, float]) -> bool:
    """Whether these are the metrics of one run, computed on two machines perhaps."""
    return one.keys() == other.keys() and all(
        math.isclose(one[name], other[name], rel_tol=1e-9) for name in one
    )


def _finite(values: dict[str, float]) -> dict[str, float]:
    return {name: float(value) for name, value in values.items() if math.isfinite(value)}
