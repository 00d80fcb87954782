# SPDX-License-Identifier: GPL-2.0-only
"""What an audit of a machine found, and where it could not look."""

import re
from typing import Final, Literal

import msgspec

Severity = Literal["fatal", "high", "medium", "info"]
"""As the kernel's page on the configuration of real-time kernels uses the words."""

SEVERITIES: Final[tuple[Severity, ...]] = ("fatal", "high", "medium", "info")
"""Worst first."""

_MORE: Final = re.compile(r", or |; | \(")
"""ends the first remedy of a finding"""


class Finding(msgspec.Struct, frozen=True):
    """One thing that costs latency."""

    rule: str
    severity: Severity
    found: str
    """what is"""
    wanted: str
    """what should be"""
    why: str
    """why it costs latency, and about how much"""
    how: str
    """the first remedy, then others after ", or " and remarks after "; " or in parentheses"""
    link: str
    """the kernel's own page"""
    profile: str = ""
    """what changes it, in a step of a profile of rtscope tune; empty where that cannot"""

    @property
    def first_remedy(self) -> str:
        """The one thing to do, without alternatives and remarks."""
        return _MORE.split(self.how, maxsplit=1)[0]


class Unseen(msgspec.Struct, frozen=True):
    """A rule that could not look."""

    rule: str
    severity: Severity
    reason: str
    """what could not be read"""


class Audit(msgspec.Struct, frozen=True):
    """All of a machine's findings, worst first."""

    target: str
    machine: str
    """host and kernel, in a few words"""
    findings: list[Finding]
    unseen: list[Unseen]
    sound: list[str]
    """the rules that found nothing to change"""
    warnings: list[str] = []
    """what the agent said of its own reading"""


def at_least(severity: Severity, limit: Severity) -> bool:
    """Whether `severity` is `limit` or worse."""
    return SEVERITIES.index(severity) <= SEVERITIES.index(limit)
