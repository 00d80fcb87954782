# SPDX-License-Identifier: GPL-2.0-only
"""The probes' own metrics as tables."""

from collections.abc import Sequence

from rtscope.model.run import Thread
from rtscope.report.tables.column import Column
from rtscope.wording.metrics import metric_text, metric_title
from rtscope.wording.values import thread_name


def metrics_columns(threads: Sequence[Thread]) -> list[Column]:
    """One row a thread, or a metric where there are more of those; empty where there are none."""
    keys = list(dict.fromkeys(key for thread in threads for key in thread.metrics))
    if not keys:
        return []
    having = [thread for thread in threads if thread.metrics]
    if len(having) >= len(keys):
        names = [thread_name(thread) for thread in having]
        rows = [[metric_text(key, thread.metrics.get(key)) for thread in having] for key in keys]
        return [_named(names), *_ranked([metric_title(key) for key in keys], rows)]
    rows = [[metric_text(key, thread.metrics.get(key)) for key in keys] for thread in having]
    titles = [thread_name(thread).replace(" on ", "\non ") for thread in having]
    return [_named([metric_title(key) for key in keys]), *_ranked(titles, rows)]


def _named(names: list[str]) -> Column:
    return Column("", 0, [*names], left=True)


def _ranked(titles: list[str], cells: list[list[str]]) -> list[Column]:
    return [
        Column(title, rank, [*column])
        for rank, (title, column) in enumerate(zip(titles, cells, strict=True), 1)
    ]
