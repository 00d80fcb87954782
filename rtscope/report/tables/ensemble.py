# SPDX-License-Identifier: GPL-2.0-only
"""The members of an ensemble as a table."""

from rtscope.model.run import Run
from rtscope.report.tables.column import Column
from rtscope.report.tables.response import response_column
from rtscope.wording.ensemble import metrics_of_member
from rtscope.wording.values import count_text, quantile_text, time_text


def member_columns(run: Run) -> list[Column]:
    """A row for each seed; empty where the run is no ensemble."""
    if not run.members:
        return []
    rows = [metrics_of_member(run, member) for member in run.members]
    return [
        Column("seed", 0, [str(member.seed) for member in run.members], left=True),
        Column("samples", 4, [count_text(row.count) for row in rows]),
        Column("missed", 5, [count_text(row.missed) for row in rows]),
        Column("min", 6, [time_text(row.min_ns) for row in rows]),
        Column("mean", 2, [time_text(row.mean_ns) for row in rows]),
        Column("p99", 3, [quantile_text(row.quantile(99.0)) for row in rows]),
        Column("p99.9", 7, [quantile_text(row.quantile(99.9)) for row in rows]),
        *response_column(99.9, 8, [(run, member.threads) for member in run.members]),
        Column("max", 1, [time_text(row.max_ns) for row in rows]),
    ]
