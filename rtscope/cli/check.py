# SPDX-License-Identifier: GPL-2.0-only
"""rtscope check: settings of a system that cost latency."""

from pathlib import Path
from typing import Annotated

import typer

from rtscope.audit.audit import audit, rules_page
from rtscope.audit.reading import read_state
from rtscope.cli.emitting import EmitOption, checked_emits
from rtscope.cli.options import Force, Json, OneTarget
from rtscope.cli.targets import reached
from rtscope.cli.waiting import status
from rtscope.engine.interrupt import ended_by_signals
from rtscope.model.audit import SEVERITIES, Severity, at_least
from rtscope.model.errors import RtscopeError
from rtscope.report.exchange.case import cases_of_audit
from rtscope.report.exchange.jsonlines import print_json
from rtscope.report.exchange.junit import audit_junit_report
from rtscope.report.exchange.sarif import sarif_report
from rtscope.report.observers.emitted import emitted
from rtscope.report.terminal.audit import AuditView
from rtscope.report.terminal.console import output_console
from rtscope.report.terminal.streams import output_written
from rtscope.store.files import check_files, write_file


def check(
    target: OneTarget = "local",
    fail_on: Annotated[
        str | None,
        typer.Option(
            metavar="SEVERITY",
            help="Exit with status 1 at a finding of this severity or worse: fatal, high, "
            "medium or info.",
        ),
    ] = None,
    sarif: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write SARIF 2.1.0, one result per finding.")
    ] = None,
    junit: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Write JUnit XML, one test case per rule."),
    ] = None,
    emit: EmitOption = None,
    rules: Annotated[
        bool, typer.Option("--rules", help="Print all rules as Markdown and exit.")
    ] = False,
    details: Annotated[
        bool,
        typer.Option(
            "--details",
            "-v",
            help="Print each finding in full: wanted state, reason, remedies, profile and link.",
        ),
    ] = False,
    force: Force = False,
    json: Json = False,
) -> None:
    """
    Prints one line per finding, worst first: severity, rule, what was found, and the first thing to
    do about it. Rules that could not be checked, for example without root, are listed with the
    reason.

    \b
    sudo rtscope check
    sudo rtscope check --details
    rtscope check --fail-on high --junit check.xml
    rtscope check --target ssh:pi@board
    rtscope check --target vm:6.12-rt-amd64 --json | jq -r '.findings[].found'
    """
    if rules:
        typer.echo(rules_page(), nl=False)
        return
    limit = _severity(fail_on) if fail_on is not None else None
    check_files([sarif, junit], force=force)
    emits = checked_emits(emit, json=json, force=force)
    place = reached(target)
    with ended_by_signals(), status(f"reading {place.name}"):
        state, warnings = read_state(place)
    found = audit(state, place.name, warnings)
    if sarif:
        write_file(sarif_report(found), sarif, "the SARIF file", overwrite=force)
    if junit:
        page = audit_junit_report(found, limit or "info")
        write_file(page, junit, "the JUnit report", overwrite=force)
    written = True
    if json:
        written = output_written(lambda: print_json(found))
    elif not any(one.replaces_output for one in emits):
        written = output_written(lambda: output_console().print(AuditView(found, details)))
    worst = limit or "info"
    written &= emitted(
        emits, cases_of_audit(found, worst), lambda: audit_junit_report(found, worst), force=force
    )
    broken = limit and any(at_least(one.severity, limit) for one in found.findings)
    raise typer.Exit(1 if broken else 0 if written else 2)


def _severity(text: str) -> Severity:

    for severity in SEVERITIES:
        if text == severity:
            return severity
    raise RtscopeError(f"--fail-on is one of {', '.join(SEVERITIES)}, not '{text[:40]}'")
