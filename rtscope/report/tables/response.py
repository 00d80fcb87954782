# SPDX-License-Identifier: GPL-2.0-only
"""Response times as a table: the percentiles with the missed periods filled in."""

from collections.abc import Sequence

from rtscope.model.quantity import PERIODIC
from rtscope.model.run import Run, Thread
from rtscope.report.tables.column import Column
from rtscope.statistics.metrics import Quantile, percent_name, quantile_ns, stalls_of
from rtscope.statistics.response import Responses, responses_of_run
from rtscope.wording.groups import groups_of
from rtscope.wording.values import count_text, quantiles_texts, thread_name

_TITLE = "Response times: the missed periods are filled in as late answers"
_PERCENTS = (50.0, 99.0, 99.9, 99.99, 99.999)


def response_table(run: Run) -> list[tuple[str, list[Column]]]:
    """The title and the columns; empty where the samples are the response times."""
    rows = [(thread_name(thread), [thread]) for thread in run.threads if thread.missed]
    rows += [(group.label, group.threads) for group in groups_of(run) if not group.lone]
    estimates = [(name, threads, responses_of_run(run, threads)) for name, threads in rows]
    known = [(n, threads, one) for n, threads, one in estimates if isinstance(one, Responses)]
    if not any(one.filled for _, _, one in known):
        return []
    return [(_TITLE, _columns("thread", known))]


def responses_side_by_side(runs: Sequence[tuple[str, Run]]) -> list[tuple[str, list[Column]]]:
    """The same of several runs with their names, a row each; empty where no run missed a period."""
    told = [(name, run.threads, responses_of_run(run, run.threads)) for name, run in runs]
    known = [(n, threads, one) for n, threads, one in told if isinstance(one, Responses)]
    if not any(one.filled for _, _, one in known):
        return []
    return [(_TITLE, _columns("run", known))]


def response_column(
    percent: float, rank: int, rows: Sequence[tuple[Run, Sequence[Thread]] | None]
) -> list[Column]:
    """One percentile of the response times of each row, for a table that has the samples'; empty
    where no row missed a period.
    """
    if not any(row and row[0].probe in PERIODIC and stalls_of(row[1]) for row in rows):
        return []
    found = [responses_of_run(*row) if row else None for row in rows]
    quantiles = [
        quantile_ns(one.histogram, percent, _most_ns(row[1]))
        if row and isinstance(one, Responses)
        else Quantile(percent, None)
        for row, one in zip(rows, found, strict=True)
    ]
    return [Column(f"{percent_name(percent)} response", rank, [*quantiles_texts(quantiles)])]


def _most_ns(threads: Sequence[Thread]) -> int:
    return max((thread.max_ns or 0 for thread in threads), default=0)


def _columns(title: str, known: Sequence[tuple[str, Sequence[Thread], Responses]]) -> list[Column]:
    columns = [
        Column(title, 0, [name for name, _, _ in known], left=True),
        Column("responses", 4, [count_text(one.histogram.total) for _, _, one in known]),
    ]
    maxima = [_most_ns(threads) for _, threads, _ in known]
    for rank, percent in zip((6, 5, 1, 2, 3), _PERCENTS, strict=True):
        quantiles = [
            quantile_ns(one.histogram, percent, most)
            for (_, _, one), most in zip(known, maxima, strict=True)
        ]
        columns.append(Column(f"p{percent:g}", rank, [*quantiles_texts(quantiles)]))
    return columns
