# SPDX-License-Identifier: GPL-2.0-only
"""An audit for people, worst first."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Final

from rich.console import Console, ConsoleOptions, RenderResult
from rich.table import Table
from rich.text import Text

from rtscope.model.audit import SEVERITIES, Audit, Finding, Severity
from rtscope.wording.plain import plain

_STYLE: dict[Severity, str] = {
    "fatal": "bold red",
    "high": "red",
    "medium": "yellow",
    "info": "cyan",
}
_GAP: Final = 2
_NARROWEST: Final = 20
"""least width of a finding and its remedy, in columns"""


@dataclass
class AuditView:
    """One line per finding, or with `details` all that is known of it."""

    audit: Audit
    details: bool = False

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """Rich's protocol."""
        audit = self.audit
        yield Text.assemble((plain(audit.target), "bold"), f"  {plain(audit.machine)}")
        for warning in audit.warnings:
            yield Text.assemble(("! ", "bold yellow"), plain(warning))
        yield Text()
        if self.details:
            yield from _paragraphs(audit)
        else:
            yield from _lines(audit, options.max_width)
        yield Text(summary_line(audit), style="bold")
        if audit.findings and not self.details:
            yield Text("reasons, all remedies and links: rtscope check --details", style="dim")


def _lines(audit: Audit, width: int) -> RenderResult:
    """Severity, rule, finding and first remedy, truncated to the width."""
    if audit.findings:
        found = [plain(one.found) for one in audit.findings]
        fixed = [max(map(len, column)) for column in _named(audit.findings)]
        room = max(width - sum(fixed) - 3 * _GAP, 2 * _NARROWEST)
        remedies = [one.first_remedy for one in audit.findings]
        widest = max(map(len, remedies))
        left = min(max(map(len, found)), max(room - widest, room // 3))
        table = Table.grid(padding=(0, _GAP, 0, 0), pad_edge=False)
        for column_width in (*fixed, left, room - left):
            table.add_column(no_wrap=True, overflow="ellipsis", max_width=column_width)
        for one, what, remedy in zip(audit.findings, found, remedies, strict=True):
            severity, rule = Text(one.severity, _STYLE[one.severity]), Text(one.rule, "bold")
            table.add_row(severity, rule, Text(what), Text(remedy))
        yield table
    for reason, number in Counter(plain(one.reason) for one in audit.unseen).items():
        rules = "1 rule" if number == 1 else f"{number} rules"
        yield Text(f"? {rules} not checked: {reason}", no_wrap=True, overflow="ellipsis")
    yield Text()


def _named(findings: Sequence[Finding]) -> tuple[list[str], list[str]]:
    return [one.severity for one in findings], [one.rule for one in findings]


def _paragraphs(audit: Audit) -> RenderResult:
    for found in audit.findings:
        yield Text.assemble((found.severity, _STYLE[found.severity]), "  ", (found.rule, "bold"))
        yield _texts(found)
        yield Text()
    if audit.unseen:
        yield Text("not checked", style="bold")
        yield _unseen(audit)
        yield Text()


def _texts(found: Finding) -> Table:
    table = Table.grid(padding=(0, 2, 0, 0))
    table.add_column(no_wrap=True)
    table.add_column(overflow="fold")
    table.add_row("  is", Text(plain(found.found), "bold"))
    table.add_row("  should be", Text(plain(found.wanted)))
    table.add_row("  why", Text(found.why))
    table.add_row("  how", Text(found.how))
    if found.profile:
        table.add_row("  profile", Text(found.profile))
    table.add_row("  link", Text(found.link, "dim"))
    return table


def _unseen(audit: Audit) -> Table:
    """Rules that lack the same thing share a row."""
    table = Table.grid(padding=(0, 2, 0, 0))
    table.add_column(ratio=1, overflow="fold")
    table.add_column(ratio=1, overflow="fold")
    by_reason = sorted(audit.unseen, key=lambda one: one.reason)
    for reason, rules in groupby(by_reason, key=lambda one: one.reason):
        names = [f"{one.rule} ({one.severity})" for one in rules]
        table.add_row(Text(", ".join(names)), Text(plain(reason)))
    return table


def summary_line(audit: Audit) -> str:
    """62 rules: 1 fatal, 3 high, 40 found nothing, 5 not checked."""
    counts = {
        severity: sum(found.severity == severity for found in audit.findings)
        for severity in SEVERITIES
    }
    rules = len(audit.findings) + len(audit.sound) + len(audit.unseen)
    parts = [f"{count} {severity}" for severity, count in counts.items() if count]
    parts += [f"{len(audit.sound)} found nothing"]
    parts += [f"{len(audit.unseen)} not checked"] if audit.unseen else []
    return f"{rules} rules: {', '.join(parts)}"
