# SPDX-License-Identifier: GPL-2.0-only
"""The members of an ensemble as a table, and what they say together."""

from collections.abc import Callable

import msgspec

from rtscope.model.run import Member, Run
from rtscope.report.columns import Column
from rtscope.report.words import count_text, quantile_text, time_text
from rtscope.statistics.ensemble import mean_of_members
from rtscope.statistics.figures import Figures, figures_of_run


def member_columns(run: Run) -> list[Column]:
    """A row for each seed; empty where the run is no ensemble."""
    if not run.members:
        return []
    rows = [_figures(run, member) for member in run.members]
    return [
        Column("seed", 0, [str(member.seed) for member in run.members], left=True),
        Column("samples", 4, [count_text(row.count) for row in rows]),
        Column("missed", 5, [count_text(row.missed) for row in rows]),
        Column("min", 6, [time_text(row.min_ns) for row in rows]),
        Column("mean", 2, [time_text(row.mean_ns) for row in rows]),
        Column("p99", 3, [quantile_text(row.quantile(99.0)) for row in rows]),
        Column("p99.9", 7, [quantile_text(row.quantile(99.9)) for row in rows]),
        Column("max", 1, [time_text(row.max_ns) for row in rows]),
    ]


def member_lines(run: Run) -> list[str]:
    """The mean of the members' means and maxima, with its 95 % limits, in words."""
    rows = [_figures(run, member) for member in run.members]
    wanted: dict[str, Callable[[Figures], float | None]] = {
        "mean": lambda row: row.mean_ns,
        "max": lambda row: row.max_ns,
    }
    lines = []
    for name, figure in wanted.items():
        values = [value for row in rows if (value := figure(row)) is not None]
        if values:
            lines.append(f"{name} of a seed's run: {_mean_text(values)}")
    return lines


def _mean_text(values_ns: list[float]) -> str:
    told = mean_of_members(values_ns)
    low, high = told.interval.low_ns, told.interval.high_ns
    limits = "needs two seeds" if low is None else f"{time_text(max(0.0, low))} … {time_text(high)}"
    spread = f"{time_text(min(values_ns))} to {time_text(max(values_ns))}"
    mean = time_text(told.mean_ns)
    return f"{mean} on average (95 % limits {limits}), {spread} over {len(values_ns)} seeds"


def _figures(run: Run, member: Member) -> Figures:
    return figures_of_run(msgspec.structs.replace(run, threads=member.threads))
