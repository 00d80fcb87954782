# SPDX-License-Identifier: GPL-2.0-only
"""What the benches say of paired ratios."""

import math


def median_interval(ordered: list[float]) -> tuple[float, float]:
    """The median's interval by the sign test: the closest ranks that hold it 95 times of 100.

    The whole range where there are fewer than six values.
    """
    count = len(ordered)
    outside = 0
    tail = 0.0
    while (tail := tail + math.comb(count, outside) / 2**count) <= 0.025:
        outside += 1
    rank = max(outside - 1, 0)
    return ordered[rank], ordered[count - 1 - rank]
