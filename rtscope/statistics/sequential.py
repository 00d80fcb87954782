# SPDX-License-Identifier: GPL-2.0-only
"""Whether a limit on a percentile is proven or hopeless, looked at any time while measuring.

A limit such as p99.999<50us holds if samples of 50 us or more are rarer than theta = 1e-5. An
interval that is computed once is too optimistic for a measurement that stops when it looks good. So
the count of such samples is compared with theta by a confidence sequence, which is valid at all
times together: the beta-binomial mixture of Robbins ("Statistical Methods Related to the Law of the
Iterated Logarithm", Annals of Mathematical Statistics 41(5), 1970, pages 1397 to 1409),

    M(k, n) = B(a + k, b + n - k) / B(a, b) / (theta^k (1 - theta)^(n - k)),

which under the rate theta exceeds 1/alpha with a probability of at most alpha, at any n (Ville's
inequality). The weight a, b expects the rate that is to be excluded. Samples are taken as
independent; outliers that come in bursts decide earlier than they should. As everywhere in rtscope
(metrics.py), ten samples have to be beyond a rank, or beyond the limit, for a decision.
"""

import math
from collections.abc import Callable
from typing import Final, Literal

ALPHA: Final = 0.05
LEAST: Final = 10 - 1e-6
_WEIGHT: Final = 0.5

Decision = Literal["proven", "hopeless", "open"]


def log_evidence(over: int, count: int, rate: float) -> float:
    """Return log M: the evidence against the rate after `over` of `count` samples."""
    a, b = _WEIGHT, _WEIGHT * (1 - rate) / rate
    return (
        _log_beta(a + over, b + count - over)
        - _log_beta(a, b)
        - over * math.log(rate)
        - (count - over) * math.log1p(-rate)
    )


def decide(over: int, count: int, rate: float) -> Decision:
    """Judge a limit on a percentile: `over` of `count` samples do not meet it, a share of `rate`
    may."""
    if max(over, rate * count) < LEAST or log_evidence(over, count, rate) < -math.log(ALPHA):
        return "open"
    return "proven" if over < rate * count else "hopeless"


def decide_rate(over: int, count: int, rate: float) -> Decision:
    """Judge a limit on the share of samples: that of an hour's number of them. It needs no ten
    samples: no percentile is estimated."""
    if not count or log_evidence(over, count, rate) < -math.log(ALPHA):
        return "open"
    return "proven" if over < rate * count else "hopeless"


def samples_needed(
    over: int, count: int, rate: float, judge: Callable[[int, int, float], Decision]
) -> int | None:
    """Return how many samples prove the limit if their rate stays as it is; None: it never does."""
    if not count or over >= rate * count * (1 - 1e-9):
        return None
    share = over / count
    low, high = count, count
    while judge(round(share * high), high, rate) != "proven":
        low, high = high, 2 * high
        if high > 1 << 62:
            return None
    while high - low > max(1, low // 1000):
        middle = (low + high) // 2
        if judge(round(share * middle), middle, rate) == "proven":
            high = middle
        else:
            low = middle
    return high


def _log_beta(a: float, b: float) -> float:
    return math.lgamma(a) + math.lgamma(b) - math.lgamma(a + b)
