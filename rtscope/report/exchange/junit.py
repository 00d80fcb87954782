# SPDX-License-Identifier: GPL-2.0-only
"""JUnit XML, which CI systems show: a test case for each cell or for each rule of an audit."""

import io
from collections.abc import Sequence

import junitparser

from rtscope.model.audit import Audit, Finding, Severity, at_least
from rtscope.report.exchange.case import Case
from rtscope.report.exchange.states import WORDS
from rtscope.statistics.cells import CellResult
from rtscope.statistics.gate.verdict import Gate
from rtscope.statistics.verdict import Judgement
from rtscope.wording.budget import judgement_sentence
from rtscope.wording.gate import gate_sentence, metric_name, row_sentence
from rtscope.wording.plain import plain


def junit_report(title: str, results: Sequence[CellResult]) -> bytes:
    """The XML. A limit that fails or is inconclusive is a failure, a cell without a run an error.

    A cell that was not begun is skipped. A case's time is that of its measurement, in seconds.
    """
    return _document(title, [_case(result) for result in results])


def audit_junit_report(audit: Audit, fail_on: Severity) -> bytes:
    """The XML. A finding of `fail_on` or worse is a failure, a lesser one a word in a passed case.

    A rule that could not be checked is skipped.
    """
    cases = [_finding_case(found, fail_on) for found in audit.findings]
    for unseen in audit.unseen:
        case = junitparser.TestCase(unseen.rule, classname="rtscope.check")
        case.result = [junitparser.Skipped(plain(f"not checked: {unseen.reason}"))]
        cases.append(case)
    cases += [junitparser.TestCase(rule, classname="rtscope.check") for rule in audit.sound]
    return _document(f"rtscope check {audit.target}", cases)


def gate_junit_report(verdict: Gate) -> bytes:
    """The XML. Each row of the gate is a case; one that fails or is inconclusive is a failure."""
    cases = []
    for row in verdict.rows:
        case = junitparser.TestCase(metric_name(row), classname="rtscope.gate")
        sentence = row_sentence(row)
        if row.outcome == "pass":
            case.system_out = sentence
        else:
            case.result = [junitparser.Failure(sentence, row.outcome)]
        cases.append(case)
    return _document(f"rtscope gate: {gate_sentence(verdict)}", cases)


def cases_junit_report(title: str, cases: Sequence[Case]) -> bytes:
    """The XML of other commands: a test case for each case."""
    return _document(title, [_plain_case(case) for case in cases])


def _plain_case(case: Case) -> junitparser.TestCase:
    converted = junitparser.TestCase(case.name, classname=f"rtscope.{case.group}")
    kinds = {
        "failure": junitparser.Failure,
        "error": junitparser.Error,
        "skipped": junitparser.Skipped,
    }
    kind = kinds.get(WORDS[case.state]["junit"])
    if kind:
        converted.result = [kind(case.reason, case.state)]
    else:
        converted.system_out = case.reason
    return converted


def _document(title: str, cases: Sequence[junitparser.TestCase]) -> bytes:
    suite = junitparser.TestSuite(plain(title))
    for case in cases:
        suite.add_testcase(case)
    document = junitparser.JUnitXml(plain(title))
    document.add_testsuite(suite)
    for counted in (suite, document):
        counted.update_statistics()  # type: ignore[no-untyped-call]
    text = io.BytesIO()
    document.write(text, pretty=True)
    return text.getvalue()


def _case(result: CellResult) -> junitparser.TestCase:
    run = result.run
    case = junitparser.TestCase(plain(result.name), classname=run.probe if run else "rtscope")
    if run is None:
        case.result = [
            junitparser.Error(plain(result.failure), "not measured")
            if result.failure
            else junitparser.Skipped("not begun")
        ]
        return case
    case.time = (run.elapsed_ns or 0) / 1e9
    case.result = [_failure(one) for one in result.judgements if one.outcome != "pass"]
    if run.status != "complete":
        case.result += [junitparser.Error(f"the run's status is {run.status}", run.status)]
    kept = [plain(judgement_sentence(one)) for one in result.judgements if one.outcome == "pass"]
    case.system_out = "\n".join([f"run {run.id}", *kept])
    return case


def _failure(judgement: Judgement) -> junitparser.Failure:
    kind = judgement.outcome
    return junitparser.Failure(plain(judgement_sentence(judgement)), kind)


def _finding_case(found: Finding, fail_on: Severity) -> junitparser.TestCase:
    case = junitparser.TestCase(found.rule, classname="rtscope.check")
    text = plain(f"is: {found.found}; should be: {found.wanted}")
    if at_least(found.severity, fail_on):
        case.result = [junitparser.Failure(text, found.severity)]
        case.system_out = plain(f"{found.why} Remedy: {found.how} ({found.link})")
    else:
        case.system_out = f"{found.severity}: {text}"
    return case
