# SPDX-License-Identifier: GPL-2.0-only
"""A case: one question that a command answered, in the same form for all formats.

Each limit of a cell is a case, and so is a cell without limits, each row of a gate, and each
comparison of two runs.
"""

from collections.abc import Sequence
from typing import Final

import msgspec

from rtscope.model.audit import Audit, Finding, Severity, at_least
from rtscope.model.run import Run
from rtscope.report.exchange.states import State
from rtscope.statistics.cells import CellResult
from rtscope.statistics.comparison import Comparison
from rtscope.statistics.comparison import Outcome as ComparisonOutcome
from rtscope.statistics.gate.verdict import Gate
from rtscope.statistics.metrics import metrics_of_run
from rtscope.statistics.verdict import Judgement
from rtscope.wording.budget import judgement_sentence
from rtscope.wording.comparison import comparison_sentence
from rtscope.wording.gate import metric_name, row_sentence
from rtscope.wording.plain import plain


class Case(msgspec.Struct, frozen=True):
    """One question and its answer. All text is safe to print."""

    group: str
    """the probe, or the command where there is none: cyclic, gate"""
    name: str
    """unique in a file: the cell, and the limit if it has one"""
    state: State
    sentence: str
    """why"""
    value: float | None = None
    """the measured value that decided, in ns where `in_ns`"""
    in_ns: bool = True
    run: Run | None = None
    """the run that was judged; None where there is none, or several"""

    @property
    def reason(self) -> str:
        """The sentence with the state, which that about a limit has already."""
        if f": {self.state}" in self.sentence:
            return self.sentence
        return f"{self.state}: {self.sentence}"


_OF_COMPARISON: Final[dict[ComparisonOutcome, State]] = {
    "better": "pass",
    "worse": "fail",
    "no evidence": "inconclusive",
    "too few": "inconclusive",
    "not comparable": "not applicable",
}


def cases_of_cells(results: Sequence[CellResult]) -> list[Case]:
    """The cases of a plan."""
    return _distinct([case for result in results for case in _cases_of_cell(result)])


def cases_of_gate(gated: Gate) -> list[Case]:
    """The rows of a gate, and the percentiles that could not be tested."""
    cases = [
        Case(
            "gate",
            plain(metric_name(row)),
            row.outcome,
            plain(row_sentence(row)),
            row.candidate - 1 if row.kind == "spread" else row.candidate,
            row.kind != "spread",
        )
        for row in gated.rows
    ]
    why = "some run has too few samples for this percentile"
    return cases + [Case("gate", plain(name), "not applicable", why) for name in gated.untested]


def cases_of_comparisons(compared: Sequence[Comparison]) -> list[Case]:
    """Each comparison of two runs. No evidence of a change is no proof that there is none."""
    return _distinct(
        [
            Case(
                "compare",
                plain(f"B against A{f', {one.series}' if one.series else ''}"),
                _OF_COMPARISON[one.outcome],
                plain(comparison_sentence(one)),
            )
            for one in compared
        ]
    )


def cases_of_audit(audit: Audit, fail_on: Severity) -> list[Case]:
    """The rules of an audit. A finding below `fail_on` does not fail its rule."""

    def of_finding(found: Finding) -> Case:
        bad = at_least(found.severity, fail_on)
        text = plain(f"{found.severity}: is: {found.found}; should be: {found.wanted}")
        return Case("check", found.rule, "fail" if bad else "pass", text)

    return [
        *map(of_finding, audit.findings),
        *(
            Case("check", one.rule, "not applicable", plain(f"not checked: {one.reason}"))
            for one in audit.unseen
        ),
        *(Case("check", rule, "pass", "as it should be") for rule in audit.sound),
    ]


def _cases_of_cell(result: CellResult) -> list[Case]:
    run, name = result.run, plain(result.name)
    if run is None:
        if not result.failure:
            return [Case("rtscope", name, "not begun", "the command ended before it")]
        state: State = "boot failed" if result.boot_failed else "agent failed"
        return [Case("rtscope", name, state, plain(result.failure))]
    if result.judgements:
        return [_case_of_limit(name, run, one) for one in result.judgements]
    max_ns = metrics_of_run(run).max_ns
    if run.status == "complete":
        return [Case(plain(run.probe), name, "measured", "no limit was given", max_ns, run=run)]
    state = "agent failed" if run.status == "failed" else "inconclusive"
    return [
        Case(plain(run.probe), name, state, f"the run's status is {run.status}", max_ns, run=run)
    ]


def _case_of_limit(cell: str, run: Run, one: Judgement) -> Case:
    state: State = one.outcome
    if run.status == "failed" and state != "fail":
        state = "agent failed"
    name = plain(f"{cell}: {one.limit.text}")
    sentence = plain(judgement_sentence(one))
    return Case(plain(run.probe), name, state, sentence, one.value, one.limit.in_ns, run)


def _distinct(cases: Sequence[Case]) -> list[Case]:
    """The cases with a number behind a name that occurs again."""
    seen: dict[str, int] = {}
    named = []
    for case in cases:
        number = seen[case.name] = seen.get(case.name, 0) + 1
        name = case.name if number == 1 else f"{case.name} ({number})"
        named.append(msgspec.structs.replace(case, name=name))
    return named
