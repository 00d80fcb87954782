# SPDX-License-Identifier: GPL-2.0-only
"""Sentences about a gate: whether a candidate passes, and why."""

import math
from typing import Final

from rtscope.model.units import counted, format_ns
from rtscope.statistics.gate import ERROR, Gate, Outcome, Row

_VERDICTS: Final[dict[Outcome, str]] = {
    "pass": "pass: no percentile of the candidate is larger by more than {margin}",
    "fail": "fail: the candidate is worse by more than {margin}",
    "inconclusive": "inconclusive: these runs do not show whether the candidate is worse by more "
    "than {margin}",
}


def gate_sentence(verdict: Gate) -> str:
    """The verdict with its deciding rows or, if it is inconclusive, the number of runs needed."""
    text = _VERDICTS[verdict.outcome].format(margin=f"{100 * verdict.margin:g} %")
    if verdict.outcome == "fail":
        failed = [row for row in verdict.rows if row.outcome == "fail"]
        text += f": {'; '.join(map(row_sentence, failed))}"
    if verdict.outcome == "inconclusive":
        more = verdict.more_runs
        text += (
            f"; {counted(more, 'more run')} a side would probably decide"
            if more is not None
            else "; the difference is too near to the margin for any number of runs"
        )
    return text


def row_sentence(row: Row) -> str:
    """p99.9 is 31.2 us, 1.21 times the baseline's 25.8 us (1.12 to 1.31)."""
    if row.kind == "spread":
        return (
            f"the runs' {row.metric} scatters by {_percent(row.candidate)} about its median, that "
            f"of the baseline by {_percent(row.baseline)}"
        )
    return (
        f"{row.metric} is {format_ns(row.candidate)}, {row.ratio:.3f} times the baseline's "
        f"{format_ns(row.baseline)} ({limits_text(row)})"
    )


def limits_text(row: Row) -> str:
    """The confidence limits of the ratio."""
    if row.low <= 0 or not math.isfinite(row.high):
        return "too few runs for limits"
    return f"{row.low:.3f} to {row.high:.3f}"


def confidence_text() -> str:
    """How sure each limit is."""
    return f"limits of the ratio: each of {100 * (1 - ERROR):g} % confidence"


def _percent(factor: float) -> str:
    return f"{100 * (factor - 1):.2g} %"
