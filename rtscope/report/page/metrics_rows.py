# SPDX-License-Identifier: GPL-2.0-only
"""The rows of a table of count, mean, percentiles and maximum."""

from collections.abc import Sequence

import msgspec

from rtscope.statistics.metrics import PERCENTS, Metrics
from rtscope.wording.reason import reason_text
from rtscope.wording.values import quantiles_texts, times_texts


class MetricsRow(msgspec.Struct, frozen=True):
    """A row of a table of metrics."""

    name: str
    policy: str
    metrics: Metrics
    times: list[tuple[str, str]]
    """min, mean, standard deviation, the quantiles and max, each with why it is not known"""


def metrics_rows(known: Sequence[tuple[str, str, Metrics]]) -> list[MetricsRow]:
    """Rows of one table, whose columns have one unit each."""
    all_metrics = [one for _, _, one in known]
    columns = [
        [(text, "") for text in times_texts(values)]
        for values in (
            [one.min_ns for one in all_metrics],
            [one.mean_ns for one in all_metrics],
            [one.stddev_ns for one in all_metrics],
        )
    ]
    for index, _ in enumerate(PERCENTS):
        quantiles = [one.quantiles[index] for one in all_metrics]
        texts = quantiles_texts(quantiles)
        columns.append(
            [
                (t, reason_text(q.reason) if q.reason else "")
                for t, q in zip(texts, quantiles, strict=True)
            ]
        )
    columns.append([(text, "") for text in times_texts([one.max_ns for one in all_metrics])])
    return [
        MetricsRow(name, policy, one, list(times))
        for (name, policy, one), times in zip(known, zip(*columns, strict=True), strict=True)
    ]
