# SPDX-License-Identifier: GPL-2.0-only
"""Clusters of large samples, and the extremal index: the inverse of their mean size.

Large samples of a latency come in clusters, of one burst of load or one stall. Only the largest
sample of each cluster may be taken as independent of the others. The extremal index and the gap
that separates clusters are estimated by Ferro and Segers, "Inference for Clusters of Extreme
Values", Journal of the Royal Statistical Society B 65(2), 2003; no parameter is chosen.
"""

from itertools import pairwise

import msgspec
import numpy as np
from numpy.typing import NDArray

from rtscope.statistics.tail.pareto import Floats


class Clusters(msgspec.Struct, frozen=True):
    """The largest sample of each cluster, in order of time."""

    times: Floats
    """in sample periods since the start"""
    maxima: Floats
    index: float
    """the extremal index, from 0 to 1: clusters per large sample"""


def clusters(times: Floats, values: Floats) -> Clusters:
    """The clusters of samples that are above a threshold, with ascending times in sample
    periods."""
    if len(times) < 2:
        return Clusters(times, values, 1.0)
    gaps = np.diff(times)
    index = extremal_index(gaps)
    number = min(int(index * len(times)) + 1, len(times))
    return _separated(times, values, gaps, number, index)


def extremal_index(gaps: Floats) -> float:
    """The intervals estimator, of the gaps between large samples in sample periods."""
    if not len(gaps):
        return 1.0
    if gaps.max() > 2:
        square, products = (gaps - 1).sum() ** 2, ((gaps - 1) * (gaps - 2)).sum()
    else:
        square, products = gaps.sum() ** 2, (gaps * gaps).sum()
    if products <= 0:
        return 1.0
    return float(min(1.0, 2 * square / (len(gaps) * products)))


def _separated(times: Floats, values: Floats, gaps: Floats, number: int, index: float) -> Clusters:
    """The longest gaps separate the clusters; as many of equal length as there may be."""
    descending = np.sort(gaps)[::-1]
    ends: NDArray[np.intp] = np.array([], dtype=np.intp)
    if number > 1:
        least = descending[number - 2]
        if number - 1 < len(gaps) and descending[number - 1] == least:
            longer = descending[descending > least]
            least = longer.min() if len(longer) else np.inf
        ends = np.flatnonzero(gaps >= least)
    edges = np.concatenate(([0], ends + 1, [len(times)]))
    places = [int(low + np.argmax(values[low:high])) for low, high in pairwise(edges)]
    return Clusters(times[places], values[places], index)
