"""An audit for people, worst first."""

from itertools import groupby

from rich.console import Console, ConsoleOptions, RenderResult
from rich.table import Table
from rich.text import Text

from rtscope.model.audit import SEVERITIES, Audit, Finding, Severity
from rtscope.report.words import plain

_STYLE: dict[Severity, str] = {
    "fatal": "bold red",
    "high": "red",
    "medium": "yellow",
    "info": "cyan",
}


def audit_view(audit: Audit) -> "AuditView":
    """What was found, where the rules could not look, and how many found nothing."""
    return AuditView(audit)


class AuditView:
    """Renders itself to the width it gets."""

    def __init__(self, audit: Audit) -> None:
        """A view of this audit."""
        self._audit = audit

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """Rich's protocol."""
        audit = self._audit
        yield Text.assemble((plain(audit.target), "bold"), f"  {plain(audit.machine)}")
        for warning in audit.warnings:
            yield Text.assemble(("! ", "bold yellow"), plain(warning))
        yield Text()
        for found in audit.findings:
            yield Text.assemble(
                (found.severity, _STYLE[found.severity]), "  ", (found.rule, "bold")
            )
            yield _texts(found)
            yield Text()
        if audit.unseen:
            yield Text("could not look", style="bold")
            yield _unseen(audit)
            yield Text()
        yield Text(summary_line(audit), style="bold")


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
    """62 rules: 1 fatal, 3 high, 40 found nothing, 5 could not look."""
    counts = {
        severity: sum(found.severity == severity for found in audit.findings)
        for severity in SEVERITIES
    }
    rules = len(audit.findings) + len(audit.sound) + len(audit.unseen)
    told = [f"{count} {severity}" for severity, count in counts.items() if count]
    told += [f"{len(audit.sound)} found nothing"]
    told += [f"{len(audit.unseen)} could not look"] if audit.unseen else []
    return f"{rules} rules: {', '.join(told)}"
