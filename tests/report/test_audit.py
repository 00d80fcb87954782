# SPDX-License-Identifier: GPL-2.0-only
"""An audit without details on the terminal, as SARIF and as JUnit."""

from xml.etree import ElementTree as ET

import msgspec
import pytest

from rtscope.model.audit import SEVERITIES
from rtscope.report.exchange.junit import audit_junit_report
from rtscope.report.terminal.audit import AuditView
from rtscope.report.terminal.console import output_console
from tests.report.views import audit

AUDIT = audit("\x1b[31m")


@pytest.mark.parametrize("columns", [60, 120])
def test_without_details_a_finding_is_one_line_with_the_first_remedy(
    monkeypatch: pytest.MonkeyPatch, columns: int
) -> None:
    monkeypatch.setenv("COLUMNS", str(columns))
    findings = [
        msgspec.structs.replace(one, how=f"do {number}, or that; but (this)", found="text " * 99)
        for number, one in enumerate(AUDIT.findings)
    ]
    console = output_console()
    with console.capture() as capture:
        console.print(AuditView(msgspec.structs.replace(AUDIT, findings=findings), False))
    rows = [line.split() for line in capture.get().splitlines()]
    shown = [(*row[:3], *row[-2:]) for row in rows if row and row[0] in SEVERITIES]
    assert shown == [
        (one.severity, one.rule, "text", "do", str(number)) for number, one in enumerate(findings)
    ]


def test_junit_fails_from_the_severity_on_that_was_asked_for() -> None:
    (suite,) = ET.fromstring(audit_junit_report(AUDIT, "medium")).iter("testsuite")
    failed = {case.get("name") for case in suite if case.find("failure") is not None}
    skipped = {case.get("name") for case in suite if case.find("skipped") is not None}
    assert failed == {"bad", "so-so"}
    assert skipped == {"blind", "other", "blinder"}
    assert (suite.get("tests"), suite.get("failures"), suite.get("skipped")) == ("8", "2", "3")
