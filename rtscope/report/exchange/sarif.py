# SPDX-License-Identifier: GPL-2.0-only
"""An audit as SARIF 2.1.0 (OASIS), which code hosts and editors show."""

from typing import Any, Final

import msgspec

from rtscope import __version__
from rtscope.model.audit import Audit, Finding, Severity
from rtscope.wording.plain import plain

_LEVEL: Final[dict[Severity, str]] = {
    "fatal": "error",
    "high": "error",
    "medium": "warning",
    "info": "note",
}
_SCHEMA: Final = "https://json.schemastore.org/sarif-2.1.0.json"


def sarif_report(audit: Audit) -> bytes:
    """The file. Rules that could not be checked are notifications of the invocation."""
    driver = {
        "name": "rtscope",
        "version": __version__,
        "rules": [_rule(found) for found in audit.findings],
    }
    notifications = [
        {
            "level": "warning",
            "message": {"text": plain(f"{one.rule} was not checked: {one.reason}")},
        }
        for one in audit.unseen
    ]
    notifications += [
        {"level": "warning", "message": {"text": plain(text)}} for text in audit.warnings
    ]
    run = {
        "tool": {"driver": driver},
        "invocations": [{"executionSuccessful": True, "toolExecutionNotifications": notifications}],
        "results": [_result(found, audit) for found in audit.findings],
    }
    document = {"$schema": _SCHEMA, "version": "2.1.0", "runs": [run]}
    return msgspec.json.format(msgspec.json.encode(document), indent=2) + b"\n"


def _rule(found: Finding) -> dict[str, Any]:
    return {
        "id": found.rule,
        "shortDescription": {"text": plain(f"Expected: {found.wanted}")},
        "fullDescription": {"text": found.why},
        "help": {"text": found.how},
        "helpUri": found.link,
        "defaultConfiguration": {"level": _LEVEL[found.severity]},
        "properties": {"severity": found.severity},
    }


def _result(found: Finding, audit: Audit) -> dict[str, Any]:
    sentence = f"Found: {found.found}. Expected: {found.wanted}. {found.why} Remedy: {found.how}"
    return {
        "ruleId": found.rule,
        "level": _LEVEL[found.severity],
        "message": {"text": plain(sentence)},
        "locations": [
            {
                "logicalLocations": [{"name": plain(audit.target), "kind": "machine"}],
            }
        ],
    }
