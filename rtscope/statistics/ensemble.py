# SPDX-License-Identifier: GPL-2.0-only
"""What the members of an ensemble say together: the mean of their figures, and how sure it is."""

import math
import statistics
from collections.abc import Sequence

import msgspec

from rtscope.statistics.confidence import LEVEL, Interval
from rtscope.statistics.distributions import student_quantile


class MeanOfMembers(msgspec.Struct, frozen=True):
    """The mean of one figure of each member, in ns."""

    mean_ns: float
    interval: Interval


def mean_of_members(values_ns: Sequence[float]) -> MeanOfMembers:
    """The mean of independent figures with its limits by Student's t; without, of fewer than two.

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
