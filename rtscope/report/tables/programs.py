# SPDX-License-Identifier: GPL-2.0-only
"""Which programs took time from the measured CPUs, as a table."""

from typing import Final

from rtscope.model.run import Run
from rtscope.report.tables.column import Column
from rtscope.wording.plain import plain
from rtscope.wording.values import count_text, time_text

_MOST_SHOWN: Final = 20


def programs_columns(run: Run) -> list[Column]:
    """One row for each program, the one with most time first; empty if they were not counted."""
    shown = run.programs[:_MOST_SHOWN]
    if not shown:
        return []
    return [
        Column("program", 0, [plain(one.name) for one in shown], left=True),
        Column("took in all", 0, [time_text(one.total_ns) for one in shown]),
        Column("longest", 1, [time_text(one.longest_ns) for one in shown]),
        Column("times", 2, [count_text(one.runs) for one in shown]),
    ]
