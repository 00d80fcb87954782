# SPDX-License-Identifier: GPL-2.0-only
"""Budgets: limits that a run must meet, written as `max<50us`, `p99.99<30us` or `failed<1`.

A time without a unit is in us, as for `--interval`. Counts and ratios are plain numbers.
"""

import re
from typing import Final

import msgspec

from rtscope.model.errors import RtscopeError
from rtscope.model.units import parse_time_ns

METRICS: Final = ("max", "mean", "missed")
"""what every probe has, besides quantiles"""

RESPONSE: Final = ".response"
"""behind a quantile: that of the response times, in which missed periods are filled in"""

_QUANTILE: Final = re.compile(r"p[0-9]{1,2}(?:\.[0-9]{1,9})?(?:\.response)?", re.ASCII)
_LIMIT: Final = re.compile(
    rf"\s*({_QUANTILE.pattern}|[a-z][a-z0-9_]{{0,63}})\s*(?:\[([^\[\]]{{1,80}})\])?\s*(<=|<)\s*(\S.*)"
)
_RATE: Final = re.compile(
    r"\s*rate\(\s*>\s*([0-9][^()<>]{0,40}?)\s*\)\s*(?:\[([^\[\]]{1,80})\])?\s*(<=|<)"
    r"\s*([0-9]{1,9}(?:\.[0-9]{1,9})?)\s*/\s*h",
    re.ASCII,
)
_PLAIN: Final = re.compile(r"[0-9]{1,18}(?:\.[0-9]{1,9})?", re.ASCII)


class Limit(msgspec.Struct, frozen=True):
    """One limit: `metric` is to be below (or, `inclusive`, at most) `value` in every thread."""

    metric: str = msgspec.field(name="figure")
    """max, mean, missed, p99.9, p99.9.response, or the name of a metric of the probe: failed,
    longest_ns"""
    value: int | float
    """nanoseconds where `in_ns`, else a plain number"""
    inclusive: bool
    text: str
    series: str = ""
    """the name of the threads that it is for: inherit, CLOCK_MONOTONIC; "" for all"""
    beyond_ns: int | None = None
    """of a limit on the rate of samples that are larger; its value is their number an hour"""

    @property
    def percent(self) -> float | None:
        """99.9 for the metrics p99.9 and p99.9.response, None for the others."""
        if not _QUANTILE.fullmatch(self.metric):
            return None
        return float(self.metric[1:].removesuffix(RESPONSE))

    @property
    def is_response(self) -> bool:
        """True for a quantile of the response times."""
        return self.percent is not None and self.metric.endswith(RESPONSE)

    @property
    def is_metric(self) -> bool:
        """True for a metric of one probe's own."""
        return self.percent is None and not self.is_rate and self.metric not in METRICS

    @property
    def is_rate(self) -> bool:
        """True for the number of larger samples an hour."""
        return self.beyond_ns is not None

    @property
    def in_ns(self) -> bool:
        """True for a time, False for a count or a ratio."""
        if self.is_rate:
            return False
        return self.metric.endswith("_ns") if self.is_metric else self.metric != "missed"


def parse_limit(text: str) -> Limit:
    """Read one limit. Raises RtscopeError."""
    if rate := _RATE.fullmatch(text):
        return _rate_limit(rate)
    match = _LIMIT.fullmatch(text)
    if match is None:
        raise RtscopeError(
            f"'{text}' is not a budget: write METRIC<TIME (default unit: us) with max, mean, "
            "pNN.N, pNN.N.response or a metric of the probe that ends in _ns, or METRIC<NUMBER "
            "with missed or another metric of the probe, such as 'max<50us', 'p99.99<=30us', "
            "'p99.99.response<50us', 'missed<1', 'failed<1' or 'longest_ns<12ms', or "
            "'rate(>50us)<1/h', larger samples an hour; METRIC[NAME] is that of the threads of "
            "this name, such as 'inversions[inherit]<1'"
        )
    if re.fullmatch(r"p[0-9]+(?:\.[0-9]*)?(?:\.response)?", match[1]) and not _QUANTILE.fullmatch(
        match[1]
    ):
        raise RtscopeError(
            f"'{text}' is not a budget: a quantile is below p100, such as p99.99; the largest "
            "sample is max"
        )
    metric = "mean" if match[1] == "avg" else match[1]
    series = (match[2] or "").strip()
    shown = f"{match[1]}{f'[{series}]' if series else ''}{match[3]}{match[4].replace(' ', '')}"
    limit = Limit(metric, 0, match[3] == "<=", shown, series)
    number = match[4].strip()
    if limit.in_ns:
        unit = "us" if _PLAIN.fullmatch(number) else ""
        value = parse_time_ns(number, "us")
        return msgspec.structs.replace(limit, value=value, text=shown + unit)
    if metric == "missed" and not re.fullmatch(r"[0-9]{1,18}", number, re.ASCII):
        raise RtscopeError(f"'{text}' is not a budget: missed periods are a plain count")
    if not _PLAIN.fullmatch(number):
        raise RtscopeError(
            f"'{text}' is not a budget: {metric} is not one of max, mean, missed and pNN.N, so it "
            "is a metric of the probe; it takes a plain number unless its name ends in _ns"
        )
    return msgspec.structs.replace(limit, value=float(number) if "." in number else int(number))


def _rate_limit(match: re.Match[str]) -> Limit:
    beyond, series = match[1], (match[2] or "").strip()
    beyond_ns = parse_time_ns(beyond, "us")
    unit = "us" if _PLAIN.fullmatch(beyond) else ""
    metric = f"rate(>{beyond.replace(' ', '')}{unit})"
    value = float(match[4])
    if not value:
        raise RtscopeError(f"'{match[0]}' can never be proven: give a rate above 0/h")
    shown = f"{metric}{f'[{series}]' if series else ''}{match[3]}{match[4]}/h"
    return Limit(metric, value, match[3] == "<=", shown, series, beyond_ns)
