# SPDX-License-Identifier: GPL-2.0-only
"""The mean of an ensemble's metrics, with its confidence limits."""

import math
import statistics
from collections.abc import Sequence

import msgspec

from rtscope.statistics.confidence import LEVEL, Interval
from rtscope.statistics.distributions import student_quantile


class MeanOfMembers(msgspec.Struct, frozen=True):
    """The mean of one metric of all members, in ns."""

    mean_ns: float
    interval: Interval


def mean_of_members(values_ns: Sequence[float]) -> MeanOfMembers:
    """The mean of independent values with limits by Student's t; without limits for a single value.

    Members with different seeds are independent, unlike the samples of one run (Law, Simulation
    Modeling and Analysis, section 9.4.1: the replication method). Raises ValueError for none.
    """
    if not values_ns:
        raise ValueError("there is no mean of nothing")
    mean = statistics.fmean(values_ns)
    count = len(values_ns)
    if count < 2:
        return MeanOfMembers(mean, Interval(None, None))
    reach = student_quantile(count - 1, (1 + LEVEL) / 2)
    half = reach * statistics.stdev(values_ns) / math.sqrt(count)
    return MeanOfMembers(mean, Interval(mean - half, mean + half))
