# SPDX-License-Identifier: GPL-2.0-only
"""Samples by whole microseconds."""

from typing import Final

import numpy as np

from rtscope.model.run import Run
from rtscope.report.tables.column import Column
from rtscope.statistics.metrics import as_arrays
from rtscope.wording.values import thread_name

_ROWS: Final = 200


def by_microsecond(run: Run) -> tuple[list[Column], int]:
    """Samples by whole microseconds, and the number of rows left out.

    One column a thread; rows without a sample are not there.
    """
    counts: list[dict[int, int]] = []
    for thread in run.threads:
        lower, _, count = as_arrays(thread.histogram)
        rows, place = np.unique(lower // 1000, return_inverse=True)
        sums = np.bincount(place, count, len(rows)).astype(np.int64)
        counts.append(dict(zip(rows.tolist(), sums.tolist(), strict=True)))
    filled = sorted({row for held in counts for row in held})
    shown = filled[:_ROWS]
    columns = [
        Column("us", 0, [f"{row:,}" for row in shown]),
        *(
            Column(thread_name(thread), place, [f"{held.get(row, 0):,}" for row in shown])
            for place, (thread, held) in enumerate(zip(run.threads, counts, strict=True), 1)
        ),
    ]
    return columns, len(filled) - len(shown)
