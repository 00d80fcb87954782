# SPDX-License-Identifier: GPL-2.0-only
"""Reasons in words: why a value is unknown, was not tested or does not decide."""

from collections.abc import Sequence
from typing import Final

from rtscope.model.reason import Cause, Reason
from rtscope.model.units import counted
from rtscope.statistics.metrics import Stalls

_TEXTS: Final[dict[Cause, str]] = {
    "no-samples": "no samples",
    "no-histogram": "the tool that measured recorded no histogram",
    "histogram-incomplete": "the histogram holds {has:,.0f} of {samples}",
    "histogram-ends": "the histogram ends below the limit",
    "buckets-too-wide": "the histogram's buckets are too wide to decide",
    "too-few-samples": "needs {samples}, has {has:,.0f}",
    "too-few-independent": (
        "its samples beyond this percentile are worth {has:.1f} independent ones, {needs:,.0f} are "
        "needed"
    ),
    "too-short": "needs {needs:,.2f} h at this rate, has {has:,.2f} h",
    "near-limit": "too near to the limit for any length of run, or beyond it",
    "one-stall": "the missed periods of one stall depend on each other",
    "one-sample": "one sample decides it",
    "one-round": "one round does not show how much rounds differ",
    "no-step-before": "no step comes before it",
    "not-comparable": "the runs are not comparable",
    "not-recorded": "{of} was not recorded",
    "samples-above": "{above} above the limit",
    "cut-short": "the run ended early ({of})",
    "load-ended": "the load ended before the run did",
    "no-series": "no thread of this run has this name, only {known}",
    "no-metric": "this run of {of} has no such metric; it has {known}",
    "no-deadlines": "response times need periodic deadlines, which {of} does not have",
    "missed-unexplained": (
        "late samples explain {has:,.0f} of {needs:,.0f} missed periods, so their response times "
        "are unknown"
    ),
    "unreadable-limit": "rtscope cannot read this limit",
}
_NONE_KNOWN: Final[dict[Cause, str]] = {
    "no-series": "threads without a name",
    "no-metric": "none of its own",
}


def reason_text(reason: Reason) -> str:
    """One reason, with the run that it is of: "A: needs 20 samples, has 5"."""
    side = f"{reason.side}: " if reason.side else ""
    return f"{side}{_text(reason)}"


def reasons_text(reasons: Sequence[Reason]) -> str:
    """All reasons of a row."""
    return "; ".join(map(reason_text, reasons))


def stalls_text(stalls: Stalls) -> str:
    """The effect of missed periods on plain percentiles."""
    return (
        f"{counted(stalls.missed, 'missed period')} without a sample: plain percentiles leave them "
        f"out (up to {100 * stalls.share:.2g} % of a thread's periods)"
    )


def _text(reason: Reason) -> str:
    return _TEXTS[reason.cause].format(
        has=reason.has,
        needs=reason.needs,
        of=reason.of,
        samples=counted(round(reason.needs), "sample"),
        above=counted(round(reason.has), "sample"),
        known=", ".join(reason.known) or _NONE_KNOWN.get(reason.cause, ""),
    )
