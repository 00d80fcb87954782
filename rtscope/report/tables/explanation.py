# SPDX-License-Identifier: GPL-2.0-only
"""The calls of an explained sample as a table."""

from collections.abc import Sequence

from rtscope.model.timeline import Call, Explanation
from rtscope.report.tables.column import Column
from rtscope.wording.causes import term_text
from rtscope.wording.explanation import off_text, task_of, tree
from rtscope.wording.plain import plain
from rtscope.wording.values import time_text


def tree_columns(explanation: Explanation) -> list[Column]:
    """The tree as a table: instants are since the deadline."""
    rows = tree(explanation)
    outer = [row.calls[0] for row in rows]
    columns = [
        Column("at", 2, [time_text(call.start_ns) for call in outer]),
        Column("for", 1, [time_text(call.ns) for call in outer]),
    ]
    if explanation.tasks is not None:
        columns.append(Column("task", 3, [task_of(explanation, call) for call in outer], left=True))
    for title, stretches in (
        ("irqs", explanation.interrupts_off),
        ("preempt", explanation.preemption_off),
    ):
        if stretches is not None:
            words = [off_text(stretches, call) for call in outer]
            columns.append(Column(title, 4, list(words), left=True))
    names = [f"{'  ' * row.depth}{_names(row.calls)}" for row in rows]
    return [*columns, Column("function", 0, list(names), left=True)]


def _names(calls: Sequence[Call]) -> str:
    names = [plain(call.function) for call in calls]
    if len(names) > 2:
        names = [names[0], "…", names[-1]]
    return " › ".join(names)


def ledger_columns(explanation: Explanation) -> list[Column]:
    """The ledger as a table, longest term first, with the sum."""
    terms = explanation.ledger
    return [
        Column(
            "for", 0, [*(time_text(term.ns) for term in terms), time_text(explanation.latency_ns)]
        ),
        Column(
            "",
            0,
            [
                *(term_text(term.kind, term.name, term.function, term.remote) for term in terms),
                "in all",
            ],
            left=True,
        ),
    ]
