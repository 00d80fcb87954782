# SPDX-License-Identifier: GPL-2.0-only
"""Changes of a system's settings and the steps of a profile on the terminal."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from rich.console import Console, ConsoleOptions, RenderResult
from rich.text import Text

from rtscope.model.run import RunWarning
from rtscope.model.tuning import Change, ChangeState
from rtscope.report.tables.column import Column
from rtscope.report.tables.steps import step_columns
from rtscope.report.terminal.table import fitted
from rtscope.statistics.steps import Steps
from rtscope.wording.plain import plain
from rtscope.wording.steps import short_text, step_lines, steps_title
from rtscope.wording.values import count_text

_STYLE: dict[ChangeState, str] = {
    "applied": "green",
    "in-effect": "green",
    "restored": "green",
    "not-held": "bold red",
    "failed": "bold red",
    "set-back": "bold red",
    "immovable": "yellow",
    "left": "yellow",
    "stale": "yellow",
}
_UNMATCHED = "rule-unmatched"
"""the code of a warning that a profile for many machines has on each of them"""


@dataclass
class ChangesView:
    """Changes as a table; renders itself to the width it gets."""

    title: str
    changes: Sequence[Change]
    warnings: Sequence[RunWarning] = ()

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """Rich's protocol."""
        yield Text(plain(self.title), style="bold")
        if self.changes:
            yield fitted(_columns(self.changes), options.max_width)
            yield Text(counts_line(self.changes))
        for change in self.changes:
            if change.why:
                yield Text.assemble(("! ", "bold yellow"), plain(f"{change.what}: {change.why}"))
        yield from _warning_lines(self.warnings)
        for warning in self.warnings:
            if warning.code == _UNMATCHED:
                yield Text(plain(warning.text), style="dim")


@dataclass
class PlanView:
    """How many changes each step would make; renders itself to the width it gets."""

    title: str
    steps: Sequence[tuple[str, Sequence[str]]]
    """each step's name and its rules"""
    changes: Sequence[Change]
    warnings: Sequence[RunWarning] = ()

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """Rich's protocol."""
        yield Text(plain(self.title), style="bold")
        rows = list(self.rows())
        columns = [
            Column("step", 0, [short_text(name) for name, _ in rows], left=True),
            Column("changes", 1, [count_text(states.total()) for _, states in rows]),
            Column("state", 2, [_states_text(states) for _, states in rows], left=True),
        ]
        yield fitted(columns, options.max_width)
        yield from _warning_lines(self.warnings)
        if unmatched := sum(one.code == _UNMATCHED for one in self.warnings):
            yield Text(f"rules that match nothing on this system: {unmatched}", style="dim")
        if self.changes or unmatched:
            yield Text("each of them: --all", style="dim")

    def rows(self) -> Iterator[tuple[str, Counter[ChangeState]]]:
        """Each step's name and the states of its changes; then the changes of no step."""
        step_of = {rule: name for name, rules in self.steps for rule in rules}
        found = [(step_of.get(one.rule, ""), one.state) for one in self.changes]
        others = [""] if any(not name for name, _ in found) else []
        for name in [*(name for name, _ in self.steps), *others]:
            yield name or "other", Counter(state for step, state in found if step == name)


def _states_text(states: Counter[ChangeState]) -> str:
    return ", ".join(f"{number:,} {state}" for state, number in states.items()) or "as wanted"


def _warning_lines(warnings: Sequence[RunWarning]) -> Iterator[Text]:
    for warning in warnings:
        if warning.code != _UNMATCHED:
            yield Text.assemble(("! ", "bold yellow"), plain(warning.text))


def counts_line(changes: Sequence[Change]) -> str:
    """41 changes (30 thread-cpus, 11 interrupt): 40 applied, 1 immovable."""
    kinds = Counter(plain(one.kind) for one in changes)
    states = Counter(one.state for one in changes)
    count = f"{len(changes):,} change{'' if len(changes) == 1 else 's'}"
    totals = ", ".join(f"{number:,} {kind}" for kind, number in kinds.items())
    return f"{count} ({totals}): " + ", ".join(f"{n:,} {state}" for state, n in states.items())


def _columns(changes: Sequence[Change]) -> list[Column]:
    several = len({one.profile for one in changes}) > 1
    planned = changes[0].state == "planned"
    columns = [
        Column("what", 0, [short_text(one.what) for one in changes], left=True),
        Column("is" if planned else "before", 2, [short_text(one.old) for one in changes]),
        Column(
            "is to be" if planned else "changed to", 1, [short_text(one.new) for one in changes]
        ),
        Column("state", 3, [Text(c.state, _STYLE.get(c.state, "")) for c in changes], left=True),
        Column("where", 5, [short_text(one.where) for one in changes], left=True),
    ]
    if several:
        columns.append(
            Column("profile", 4, [short_text(one.profile) for one in changes], left=True)
        )
    return columns


@dataclass
class StepsView:
    """What each step bought; renders itself to the width it gets."""

    steps: Steps

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """Rich's protocol."""
        yield Text(steps_title(self.steps), style="bold")
        yield fitted(step_columns(self.steps), options.max_width)
        for warning in self.steps.warnings:
            yield Text.assemble(("! ", "bold yellow"), plain(warning))
        for line in step_lines(self.steps):
            yield Text(line)
