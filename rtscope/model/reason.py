# SPDX-License-Identifier: GPL-2.0-only
"""Reasons for which a value is unknown, was not tested, or does not decide a limit."""

from typing import Literal

import msgspec

Cause = Literal[
    "no-samples",
    "no-histogram",
    "histogram-incomplete",
    "histogram-ends",
    "buckets-too-wide",
    "too-few-samples",
    "too-few-independent",
    "too-short",
    "near-limit",
    "one-sample",
    "one-stall",
    "one-round",
    "no-step-before",
    "not-comparable",
    "not-recorded",
    "samples-above",
    "cut-short",
    "load-ended",
    "no-series",
    "no-metric",
    "no-deadlines",
    "missed-unexplained",
    "unreadable-limit",
]


class Reason(msgspec.Struct, frozen=True):
    """One reason, with its evidence."""

    cause: Cause
    has: float = 0
    needs: float = 0
    """as many as would be enough, where that is the cause"""
    side: Literal["", "A", "B"] = ""
    """the run of a comparison that it is of"""
    of: str = ""
    """a metric, the status of a run, or a probe"""
    known: list[str] = []
    """the series or metrics that there are"""
