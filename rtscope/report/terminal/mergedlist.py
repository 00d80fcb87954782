# SPDX-License-Identifier: GPL-2.0-only
"""The samples of many runs together, a row for each host, kernel, probe and load."""

from collections.abc import Sequence

from rtscope.report.tables.column import Column
from rtscope.report.terminal.table import FittedTable
from rtscope.statistics.metrics import PERCENTS, percent_name
from rtscope.store.merging import Merged
from rtscope.wording.plain import plain
from rtscope.wording.values import count_text, quantiles_texts, times_texts


def merged_table(groups: Sequence[Merged]) -> FittedTable:
    """A renderable for these groups, in this order."""
    return FittedTable(
        [
            Column("host", 0, [plain(one.host or "")[:20] for one in groups], left=True),
            Column("kernel", 1, [plain(one.kernel or "")[:24] for one in groups], left=True),
            Column("probe", 2, [plain(one.probe)[:20] for one in groups], left=True),
            Column("load", 2, [plain(one.load)[:24] for one in groups], left=True),
            Column("runs", 5, [count_text(one.runs) for one in groups]),
            Column("samples", 6, [count_text(one.count) for one in groups]),
            *(_quantiles(groups, at) for at in range(len(PERCENTS))),
            *_responses(groups),
            Column("max", 3, [*times_texts([one.max_ns for one in groups])]),
        ]
    )


def _responses(groups: Sequence[Merged]) -> list[Column]:
    """The p99.9 with the missed periods filled in, if any were missed."""
    if not any(one.responses for one in groups):
        return []
    at = PERCENTS.index(99.9)
    texts = quantiles_texts([(one.responses or one.quantiles)[at] for one in groups])
    return [Column("p99.9 response", 4, [*texts])]


def _quantiles(groups: Sequence[Merged], at: int) -> Column:
    texts = quantiles_texts([one.quantiles[at] for one in groups])
    return Column(percent_name(PERCENTS[at]), 4, [*texts])
