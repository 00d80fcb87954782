# SPDX-License-Identifier: GPL-2.0-only
"""The findings of an audit of a system, and the rules that could not be checked."""

import re
from typing import Final, Literal

import msgspec

Severity = Literal["fatal", "high", "medium", "info"]
"""The terms of the kernel's page on the configuration of real-time kernels."""

SEVERITIES: Final[tuple[Severity, ...]] = ("fatal", "high", "medium", "info")
"""Worst first."""

_MORE: Final = re.compile(r", or |; | \(")
"""ends the first remedy of a finding"""


class Finding(msgspec.Struct, frozen=True):
    """One setting that costs latency."""

    rule: str
    severity: Severity
    found: str
    """the present state"""
    wanted: str
    """the recommended state"""
    why: str
    """the reason why it costs latency, and about how much"""
    how: str
    """the first remedy, then others after ", or " and remarks after "; " or in parentheses"""
    link: str
    """the kernel's documentation"""
    profile: str = ""
    """the line of a profile of rtscope tune that changes it; empty if none can"""

    @property
    def first_remedy(self) -> str:
        """The first remedy without alternatives and remarks."""
        return _MORE.split(self.how, maxsplit=1)[0]


class Unseen(msgspec.Struct, frozen=True):
    """A rule that could not be checked."""

    rule: str
    severity: Severity
    reason: str
    """the missing files or permissions"""


class Audit(msgspec.Struct, frozen=True):
    """All findings of a system, worst first."""

    target: str
    machine: str
    """host and kernel"""
    findings: list[Finding]
    unseen: list[Unseen]
    sound: list[str]
    """rules without a finding"""
    warnings: list[str] = []
    """warnings of the agent about its readings"""


def at_least(severity: Severity, limit: Severity) -> bool:
    """Whether `severity` is `limit` or worse."""
    return SEVERITIES.index(severity) <= SEVERITIES.index(limit)
