# SPDX-License-Identifier: GPL-2.0-only
"""A ranking of causes as a table."""

from typing import Final

from rtscope.model.cause import Cause, Ranking
from rtscope.model.cpulist import format_cpu_list
from rtscope.report.tables.column import Column
from rtscope.wording.causes import cause_text
from rtscope.wording.values import NOTHING, time_text, times_texts

_MOST: Final = 8
_LONGEST: Final = 64
"""characters of a cause, so that its figures have room next to it"""


def cause_columns(ranking: Ranking) -> list[Column]:
    """The largest causes, most time first."""
    causes = ranking.causes[:_MOST]
    return [
        Column("#", 0, [str(number) for number in range(1, len(causes) + 1)]),
        Column("share", 1, [f"{cause.share:.0%}" for cause in causes]),
        Column("95 % limits", 5, [_limits(cause) for cause in causes]),
        Column("time", 2, [time_text(cause.total_ns) for cause in causes]),
        Column("samples", 6, [str(cause.samples) for cause in causes]),
        Column("largest\nof", 8, [str(cause.first) for cause in causes]),
        Column("CPUs", 7, [format_cpu_list(cause.cpus) or NOTHING for cause in causes]),
        Column("max\nwithout", 3, [*times_texts([one.max_without_ns for one in causes])]),
        *_deep(causes),
        Column("cause", 0, [_short(cause_text(cause)) for cause in causes], left=True),
    ]


def _deep(causes: list[Cause]) -> list[Column]:
    """The column of p99.99, if the run has enough samples."""
    values = [one.p9999_without_ns for one in causes]
    if all(value is None for value in values):
        return []
    return [Column("p99.99\nwithout", 4, [*times_texts(values)])]


def _short(text: str) -> str:
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"


def _limits(cause: Cause) -> str:
    if cause.share_low is None or cause.share_high is None:
        return NOTHING
    return f"{cause.share_low:.0%} to {cause.share_high:.0%}"
