# SPDX-License-Identifier: GPL-2.0-only
"""A run on the terminal.

Everything that a target or a file sent goes through `plain` and into rich's Text, so that neither
terminal escapes nor rich's markup in it take effect.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from rich.console import Console, ConsoleOptions, RenderResult
from rich.text import Text

from rtscope.model.cause import Ranking
from rtscope.model.finding import Severity
from rtscope.model.quantity import LATENCY
from rtscope.model.run import Run
from rtscope.model.timeline import Explanation
from rtscope.model.units import counted, format_duration_ns
from rtscope.report.tables.causes import cause_columns
from rtscope.report.tables.column import Column
from rtscope.report.tables.ensemble import member_columns
from rtscope.report.tables.explanation import ledger_columns, tree_columns
from rtscope.report.tables.matrices import matrix_columns
from rtscope.report.tables.metrics import metrics_columns
from rtscope.report.tables.microseconds import by_microsecond
from rtscope.report.tables.placement_series import table_of
from rtscope.report.tables.programs import programs_columns
from rtscope.report.tables.response import response_table
from rtscope.report.tables.waiters import waiters_columns
from rtscope.report.terminal.table import fitted
from rtscope.statistics.metrics import Metrics, metrics
from rtscope.statistics.verdict import Judgement, Outcome
from rtscope.wording.budget import judgement_evidence
from rtscope.wording.causes import ranking_note, ranking_title, remedy_lines, shown_rankings
from rtscope.wording.ensemble import member_lines
from rtscope.wording.explanation import headline, off_line, totals_line, tree
from rtscope.wording.findings import sentences_of
from rtscope.wording.groups import groups_of, metrics_of_group
from rtscope.wording.matrices import matrix_title
from rtscope.wording.placement_series import laws_of, settings_text
from rtscope.wording.plain import plain
from rtscope.wording.run import (
    flaws,
    idle_states_text,
    instructions_line,
    load_lines,
    missing_lines,
    phases_line,
    preemption_text,
    quantity_text,
    tuning_text,
    warnings_of,
)
from rtscope.wording.values import (
    NOTHING,
    count_text,
    policies_text,
    policy_text,
    quantiles_texts,
    span_text,
    thread_name,
    times_texts,
)

if TYPE_CHECKING:
    pass

_MOST_EXPLANATIONS = 10
_MARKS: dict[Severity, str] = {"info": "→ ", "undecided": "note: ", "unexpected": "≠ "}
_VERDICT: dict[Outcome, tuple[str, str]] = {
    "pass": ("pass", "bold green"),
    "fail": ("fail", "bold red"),
    "inconclusive": ("inconclusive", "bold yellow"),
}


def summary(
    run: Run,
    judgements: Sequence[Judgement] = (),
    *,
    phases: bool = False,
    ledgers: bool = False,
    warned: set[str] | None = None,
) -> "Summary":
    """Show a run: its system, warnings, metrics and verdicts.

    `phases` adds when the load came up and ended, `ledgers` the parts of each explained sample's
    latency. Warnings in `warned` are only counted, the others
    are added to it.
    """
    warned = set() if warned is None else warned
    lines = list(dict.fromkeys(warnings_of(run)))
    new = [line for line in lines if line not in warned]
    if again := len(lines) - len(new):
        new.append(f"{again} warning{'s' if again > 1 else ''} as above")
    warned.update(lines)
    return Summary(run, judgements, flaws(run) + new, phases, ledgers)


@dataclass
class Summary:
    """Renders itself to the width it gets."""

    run: Run
    judgements: Sequence[Judgement]
    warnings: list[str]
    phases: bool
    ledgers: bool

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """Rich's protocol."""
        yield from _heading(self.run)
        yield from (marked_line("! ", warning, "bold yellow") for warning in self.warnings)
        for found in sentences_of(self.run):
            yield marked_line(_MARKS[found.severity], plain(found.text), "bold cyan")
        if self.run.threads:
            yield Text()
            if self.run.placement_series:
                yield from _cells(self.run, options.max_width)
            else:
                yield from _metrics(self.run, options.max_width)
            if instructions := instructions_line(self.run):
                yield Text(instructions)
            yield from _tables(self.run, options.max_width)
            if self.run.probe == "gtod":
                yield Text()
                yield from _microseconds(self.run, options.max_width)
        loads = load_lines(self.run)
        if loads:
            yield Text()
            yield from (marked_line("load ", line) for line in loads)
        if self.phases and (phases := phases_line(self.run)):
            yield marked_line("phases ", phases)
        yield from _explanations(self.run, options.max_width, ledgers=self.ledgers)
        if self.judgements:
            yield Text()
            yield from (judgement_line(judgement) for judgement in self.judgements)


def _cells(run: Run, width: int) -> RenderResult:
    """The cells of a placement series and the laws fitted to them."""
    yield fitted(table_of(run), width)
    laws = list(laws_of(run))
    if laws:
        yield Text()
    yield from (Text(law) for law in laws)


def _metrics(run: Run, width: int) -> RenderResult:
    totals = [(g.label, metrics_of_group(run, g)) for g in groups_of(run)]
    yield fitted(_columns(run, totals), width)
    for line in missing_lines(totals):
        yield Text(f"{NOTHING} {line}", style="dim")


def _tables(run: Run, width: int) -> RenderResult:
    """Tables besides the metrics of the samples."""
    if members := member_columns(run):
        yield Text()
        yield fitted(members, width)
        yield from (Text(line) for line in member_lines(run))
    for title, columns in response_table(run):
        yield Text()
        yield Text(title, style="bold")
        yield fitted(columns, width)
    for columns in (metrics_columns(run.threads), waiters_columns(run.threads)):
        if columns:
            yield Text()
            yield fitted(columns, width)
    for matrix in run.matrices:
        yield Text()
        yield Text(matrix_title(matrix), style="bold")
        yield fitted(matrix_columns(matrix), width)


def _microseconds(run: Run, width: int) -> RenderResult:
    columns, left_out = by_microsecond(run)
    for column in columns:
        column.title = re.sub(r"(_|:| (?=on ))", r"\1\n", column.title)
    yield fitted(columns, width)
    more = f"{left_out} more with samples are not shown, " if left_out else ""
    yield Text(f"({more}rows without a sample are left out)", style="dim")


def _ranking(ranking: Ranking, width: int) -> RenderResult:
    yield Text()
    yield Text(ranking_title(ranking), style="bold")
    yield fitted(cause_columns(ranking), width)
    yield Text(ranking_note(ranking), style="dim")
    yield from (marked_line("→ ", line, "bold cyan") for line in remedy_lines(ranking))


def _explanations(run: Run, width: int, *, ledgers: bool) -> RenderResult:
    """Causes, the worst late samples, and the programs that took time from the measured CPUs."""
    for ranking in shown_rankings(run):
        yield from _ranking(ranking, width)
    for place, explanation in enumerate(run.explanations[:_MOST_EXPLANATIONS]):
        if ledgers or not explanation.ledger or not place:
            yield Text()
        yield from _explanation(run, explanation, width, ledger=ledgers)
    if more := run.explanations[_MOST_EXPLANATIONS:]:
        yield Text(f"{counted(len(more), 'more explanation')}: rtscope report", style="dim")
    if programs := programs_columns(run):
        yield Text()
        yield Text("Programs that took time from the measured CPUs", style="bold")
        yield fitted(programs, width)


def _explanation(run: Run, explanation: Explanation, width: int, *, ledger: bool) -> RenderResult:
    if explanation.ledger and not ledger:
        yield Text(headline(run, explanation))
        yield from (marked_line("  ! ", plain(note), "dim") for note in explanation.notes)
        return
    yield Text(headline(run, explanation), style="bold")
    if tree(explanation):
        yield fitted(tree_columns(explanation), width)
    if explanation.ledger:
        yield fitted(ledger_columns(explanation), width)
    for line in (off_line(explanation), totals_line(explanation)):
        if line:
            yield Text(line)
    for note in explanation.notes:
        yield Text(plain(note), style="dim")


def judgement_line(judgement: Judgement) -> Text:
    """max<50us: fail, ... with its outcome in colour; the outcome is in words too."""
    word, style = _VERDICT[judgement.outcome]
    evidence = plain(judgement_evidence(judgement))
    return Text.assemble((plain(judgement.limit.text), "bold"), ": ", (word, style), evidence)


def marked_line(mark: str, text: str, style: str = "") -> Text:
    return Text.assemble((mark, style or "bold"), text)


def _heading(run: Run) -> list[Text]:
    machine, asked = run.machine, run.asked
    each = run.placement_series is not None and run.load != "idle"
    how = [f"{'under each of' if each else 'load'} {plain(run.load)}"]
    if run.tuning:
        how.insert(0, tuning_text(run))
    if asked.interval_ns:
        how.append(f"every {format_duration_ns(asked.interval_ns)}")
    if run.elapsed_ns is not None:
        how.append(f"for {span_text(run.elapsed_ns)}")
    if run.placement_series:
        how.append(settings_text(run))
    if run.source != "rtscope":
        how.append(f"measured by {plain(run.source)}")
    where = [run.machine_name, machine.cpu_model, machine.kernel_release]
    facts = " · ".join(plain(text) for text in where if text)
    virtual = machine.virtualisation
    if virtual not in (None, "none"):
        facts += f" · virtualised by {plain(virtual)}" if virtual else ""
    quantity = quantity_text(run)
    what = "" if quantity == LATENCY else f" ({quantity})"
    lines = [
        Text.assemble((plain(run.probe), "bold"), f"{what}, {', '.join(how)}  [{plain(run.id)}]")
    ]
    if facts:
        lines.append(Text(f"{facts} · preemption {preemption_text(run)}"))
    if idle := idle_states_text(run):
        lines.append(Text(f"idle states {idle}"))
    return lines


def _columns(run: Run, totals: list[tuple[str, Metrics]]) -> list[Column]:
    kept = [total for total, group in zip(totals, groups_of(run), strict=True) if not group.lone]
    rows = [metrics(thread) for thread in run.threads] + [total for _, total in kept]
    named = any(thread.name for thread in run.threads)
    names: list[str | Text] = [
        thread_name(thread) if named else thread_name(thread).removeprefix("CPU ")
        for thread in run.threads
    ]
    names += [Text(name, style="bold") for name, _ in kept]
    policies: list[str | Text] = [policy_text(thread) for thread in run.threads]

    def quantiles(percent: float) -> list[str | Text]:
        return [*quantiles_texts([row.quantile(percent) for row in rows])]

    groups = [policies_text(group.threads) for group in groups_of(run) if not group.lone]
    maxima = times_texts([row.max_ns for row in rows])

    return [
        Column("thread" if named else "CPU", 0, names, left=True),
        Column("policy", 8, [*policies, *groups], left=True),
        Column("samples", 4, [count_text(row.count) for row in rows]),
        Column("missed", 5, [_missed(row.missed) for row in rows]),
        Column("min", 6, [*times_texts([row.min_ns for row in rows])]),
        Column("mean", 3, [*times_texts([row.mean_ns for row in rows])]),
        Column("p99", 9, quantiles(99.0)),
        Column("p99.9", 2, quantiles(99.9)),
        Column("p99.99", 7, quantiles(99.99)),
        Column("max", 1, [Text(text, style="bold") for text in maxima]),
    ]


def _missed(missed: int | None) -> Text:
    return Text(count_text(missed), style="yellow" if missed else "")
