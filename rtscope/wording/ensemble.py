# SPDX-License-Identifier: GPL-2.0-only
"""The members of an ensemble in words."""

from collections.abc import Callable

import msgspec

from rtscope.model.run import Member, Run
from rtscope.statistics.ensemble import mean_of_members
from rtscope.statistics.metrics import Metrics, metrics_of_run
from rtscope.wording.values import time_text


def member_lines(run: Run) -> list[str]:
    """The mean of the members' means and maxima, with its 95 % limits, in words."""
    rows = [metrics_of_member(run, member) for member in run.members]
    wanted: dict[str, Callable[[Metrics], float | None]] = {
        "mean": lambda row: row.mean_ns,
        "max": lambda row: row.max_ns,
    }
    lines = []
    for name, metric in wanted.items():
        values = [value for row in rows if (value := metric(row)) is not None]
        if values:
            lines.append(f"{name} of a seed's run: {_mean_text(values)}")
    return lines


def _mean_text(values_ns: list[float]) -> str:
    estimate = mean_of_members(values_ns)
    low, high = estimate.interval.low_ns, estimate.interval.high_ns
    limits = "needs two seeds" if low is None else f"{time_text(max(0.0, low))} … {time_text(high)}"
    spread = f"{time_text(min(values_ns))} to {time_text(max(values_ns))}"
    mean = time_text(estimate.mean_ns)
    return f"{mean} on average (95 % limits {limits}), {spread} over {len(values_ns)} seeds"


def metrics_of_member(run: Run, member: Member) -> Metrics:
    return metrics_of_run(msgspec.structs.replace(run, threads=member.threads))
