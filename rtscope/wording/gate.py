# SPDX-License-Identifier: GPL-2.0-only
"""Sentences about a gate: whether a candidate passes, and why."""

import math
from typing import Final

from rtscope.model.units import counted, format_ns
from rtscope.statistics.gate.calibration import Calibration, CalibrationRow
from rtscope.statistics.gate.exact import FEW_SEEDS
from rtscope.statistics.gate.power import ERROR
from rtscope.statistics.gate.verdict import Gate, Outcome, Row

_VERDICTS: Final[dict[Outcome, str]] = {
    "pass": "pass: no percentile of the candidate is larger by more than {margin}",
    "fail": "fail: the candidate is worse by more than {margin}",
    "inconclusive": "inconclusive: these runs do not show whether the candidate is worse by more "
    "than {margin}",
}


def gate_sentence(verdict: Gate) -> str:
    """The verdict with its deciding rows or, if it is inconclusive, the number of runs needed."""
    text = _VERDICTS[verdict.outcome].format(margin=f"{100 * verdict.margin:g} %")
    if verdict.seeds:
        text += f", in the mean of {counted(len(verdict.seeds), 'seed')}"
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


def exact_sentence(verdict: Gate) -> str:
    """What an exact gate's verdict is about; "" for a test."""
    if not verdict.seeds:
        return ""
    text = (
        "exact runs with the same seeds on both sides: each difference is a fact, not an estimate"
    )
    if all(row.low == row.high == 1 for row in verdict.rows):
        return f"{text}; there is none"
    if len(verdict.seeds) < FEW_SEEDS:
        text += (
            f"; {counted(len(verdict.seeds), 'seed')} may differ from others by chance: measure "
            f"{FEW_SEEDS} or more (--seeds)"
        )
    return text


def drift_sentence(calibration: Calibration) -> str:
    """Which metrics of one system differ between the halves of its runs; "" where none does."""
    if not calibration.drifted:
        return ""
    names = dict.fromkeys(metric_name(row) for row in calibration.drifted)
    return (
        f"the later half of these runs differs from the earlier one in {', '.join(names)}: gates "
        "of this system will give false alarms until its runs are alike; rtscope check shows what "
        "disturbs it"
    )


def advice_sentence(calibration: Calibration) -> str:
    """How many runs a side find the change, and in which metrics none does."""
    change = f"+{100 * calibration.change:g} %"
    known = [row.runs_to_find for row in calibration.rows if row.runs_to_find is not None]
    hard = [row for row in calibration.rows if row.runs_to_find is None]
    names = ", ".join(metric_name(row) for row in hard)
    if not known:
        return f"no number of runs finds {change} beyond the margin"
    text = f"{max(known)} runs a side find {change} in every metric"
    if hard:
        text = f"{max(known)} runs a side find {change} in every metric but {names}"
    return text


def metric_name(row: Row | CalibrationRow) -> str:
    """The metric, after its cell if there are several."""
    kind = ", spread" if isinstance(row, Row) and row.kind == "spread" else ""
    return f"{row.cell}: {row.metric}{kind}" if row.cell else f"{row.metric}{kind}"


def row_sentence(row: Row) -> str:
    """p99.9 is 31.2 us, 1.21 times the baseline's 25.8 us (1.12 to 1.31)."""
    cell = f"{row.cell}: " if row.cell else ""
    return cell + _row_sentence(row)


def _row_sentence(row: Row) -> str:
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
    """The confidence limits of the ratio; of exact runs the smallest and the largest of a seed."""
    if row.kind == "exact":
        return f"{row.low:.3f} to {row.high:.3f}, larger with {row.slower_seeds} of {row.seeds}"
    if row.low <= 0 or not math.isfinite(row.high):
        return "too few runs for limits"
    return f"{row.low:.3f} to {row.high:.3f}"


def confidence_text() -> str:
    """How sure each limit is."""
    return f"limits of the ratio: each of {100 * (1 - ERROR):g} % confidence"


def _percent(factor: float) -> str:
    return f"{100 * (factor - 1):.2g} %"
