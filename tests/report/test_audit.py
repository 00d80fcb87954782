# SPDX-License-Identifier: GPL-2.0-only
"""An audit on the terminal, as SARIF and as JUnit."""

import json
from xml.etree import ElementTree as ET

import msgspec
import pytest

from rtscope.model.audit import SEVERITIES, Audit, Finding, Severity, Unseen
from rtscope.report.exchange.junit import audit_junit_report
from rtscope.report.exchange.sarif import sarif_report
from rtscope.report.terminal.audit import AuditView
from rtscope.report.terminal.console import output_console


def finding(rule: str, severity: Severity) -> Finding:
    link = f"https://docs.kernel.org/{rule}.html"
    return Finding(rule, severity, f"{rule} \x1b[31mis", "should", f"{rule} why.", "how", link)


AUDIT = Audit(
    target="local",
    machine="shaker · 6.12",
    findings=[finding("bad", "fatal"), finding("so-so", "medium"), finding("small", "info")],
    unseen=[
        Unseen("blind", "high", "no /a/file"),
        Unseen("other", "info", "no /b/file"),
        Unseen("blinder", "info", "no /a/file"),
    ],
    sound=["good", "better"],
    warnings=["the agent could not tell all"],
)


def shown(audit: Audit, details: bool = True) -> str:
    console = output_console()
    with console.capture() as capture:
        console.print(AuditView(audit, details))
    return capture.get()


@pytest.mark.parametrize("columns", [60, 120])
def test_without_details_a_finding_is_one_line_with_the_first_remedy(
    monkeypatch: pytest.MonkeyPatch, columns: int
) -> None:
    monkeypatch.setenv("COLUMNS", str(columns))
    more = ", or that; but (this)"
    findings = [
        msgspec.structs.replace(one, how=f"do {number}{more}", found=f"{number} " * 99)
        for number, one in enumerate(AUDIT.findings)
    ]
    text = shown(msgspec.structs.replace(AUDIT, findings=findings), details=False)
    lines = [line.rstrip() for line in text.splitlines()]
    assert max(map(len, lines)) <= columns
    rows = [line for line in lines if line.split()[:1] and line.split()[0] in SEVERITIES]
    assert len(rows) == len(findings)
    for number, (row, one) in enumerate(zip(rows, findings, strict=True)):
        assert row.split()[:3] == [one.severity, one.rule, str(number)]
        assert row.endswith(f"do {number}")
    assert sum("no /a/file" in line for line in lines) == 1


def test_sarif_has_a_result_for_each_finding_and_tells_what_was_not_seen() -> None:
    (run,) = json.loads(sarif_report(AUDIT))["runs"]
    rules = {rule["id"]: rule for rule in run["tool"]["driver"]["rules"]}
    results = [(one["ruleId"], one["level"]) for one in run["results"]]
    assert results == [("bad", "error"), ("so-so", "warning"), ("small", "note")]
    assert rules["bad"]["helpUri"] == "https://docs.kernel.org/bad.html"
    assert "\x1b" not in run["results"][0]["message"]["text"]
    told = [one["message"]["text"] for one in run["invocations"][0]["toolExecutionNotifications"]]
    assert told[0] == "blind could not look: no /a/file"
    assert told[3] == "the agent could not tell all"


def test_junit_fails_from_the_severity_on_that_was_asked_for() -> None:
    suite = ET.fromstring(audit_junit_report(AUDIT, "medium")).find("testsuite")
    assert suite is not None
    cases = {case.get("name"): case for case in suite}
    assert list(cases) == ["bad", "so-so", "small", "blind", "other", "blinder", "good", "better"]
    failed = {name for name, case in cases.items() if case.find("failure") is not None}
    skipped = {name for name, case in cases.items() if case.find("skipped") is not None}
    assert failed == {"bad", "so-so"}
    assert skipped == {"blind", "other", "blinder"}
    assert (suite.get("tests"), suite.get("failures"), suite.get("skipped")) == ("8", "2", "3")
    assert "small" in (cases["small"].findtext("system-out") or "")
