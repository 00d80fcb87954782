"""An experiment as JUnit XML, which CI systems show: a test case for each cell."""

import io
from collections.abc import Sequence

import junitparser

from rtscope.report.experiment import CellResult
from rtscope.report.words import plain
from rtscope.statistics.verdict import Judgement


def junit_report(title: str, results: Sequence[CellResult]) -> bytes:
    """The XML. A limit that is broken or not proven is a failure, a cell without a run an error.

    A cell that was not begun is skipped. A case's time is that of its measurement, in seconds.
    """
    suite = junitparser.TestSuite(plain(title))
    for result in results:
        suite.add_testcase(_case(result))
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
    case.result = [_failure(one) for one in result.judgements if one.outcome != "kept"]
    if run.status != "complete":
        case.result += [junitparser.Error(f"the run's status is {run.status}", run.status)]
    kept = [plain(one.sentence) for one in result.judgements if one.outcome == "kept"]
    case.system_out = "\n".join([f"run {run.id}", *kept])
    return case


def _failure(judgement: Judgement) -> junitparser.Failure:
    kind = "broken" if judgement.outcome == "broken" else "not proven"
    return junitparser.Failure(plain(judgement.sentence), kind)
