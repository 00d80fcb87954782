# SPDX-License-Identifier: GPL-2.0-only
"""Changes to a machine's settings, and what each step of a profile bought, as tables."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from rich.console import Console, ConsoleOptions, RenderResult
from rich.text import Text

from rtscope.model.run import RunWarning
from rtscope.model.tuning import Change, ChangeState
from rtscope.model.units import format_duration_ns, format_signed_ns
from rtscope.report.columns import Column, fitted
from rtscope.report.words import NOTHING, count_text, plain, time_text
from rtscope.statistics.comparison import Effect, Row
from rtscope.statistics.steps import StepOnCpus, StepResult, Steps

_WIDEST = 48
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
_EFFECTS: dict[Effect, str] = {
    "better": "better",
    "worse": "worse",
    "same": "no evidence",
    "untested": NOTHING,
}


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
            Column("step", 0, [_short(name) for name, _ in rows], left=True),
            Column("changes", 1, [count_text(states.total()) for _, states in rows]),
            Column("state", 2, [_states_text(states) for _, states in rows], left=True),
        ]
        yield fitted(columns, options.max_width)
        yield from _warning_lines(self.warnings)
        if self.changes:
            yield Text("each change: --all", style="dim")

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
    unmatched = [one for one in warnings if one.code == _UNMATCHED]
    for warning in warnings:
        if warning not in unmatched or len(unmatched) == 1:
            yield Text.assemble(("! ", "bold yellow"), plain(warning.text))
    if len(unmatched) > 1:
        yield Text(f"{len(unmatched)} rules match nothing on this machine", style="dim")


def counts_line(changes: Sequence[Change]) -> str:
    """41 changes (30 thread-cpus, 11 interrupt): 40 applied, 1 immovable."""
    kinds = Counter(plain(one.kind) for one in changes)
    states = Counter(one.state for one in changes)
    count = f"{len(changes):,} change{'' if len(changes) == 1 else 's'}"
    told = ", ".join(f"{number:,} {kind}" for kind, number in kinds.items())
    return f"{count} ({told}): " + ", ".join(f"{n:,} {state}" for state, n in states.items())


def _columns(changes: Sequence[Change]) -> list[Column]:
    several = len({one.profile for one in changes}) > 1
    planned = changes[0].state == "planned"
    columns = [
        Column("what", 0, [_short(one.what) for one in changes], left=True),
        Column("is" if planned else "before", 2, [_short(one.old) for one in changes]),
        Column("is to be" if planned else "changed to", 1, [_short(one.new) for one in changes]),
        Column("state", 3, [Text(c.state, _STYLE.get(c.state, "")) for c in changes], left=True),
        Column("where", 5, [_short(one.where) for one in changes], left=True),
    ]
    if several:
        columns.append(Column("profile", 4, [_short(one.profile) for one in changes], left=True))
    return columns


def _short(text: str) -> str:
    shown = plain(text)
    return shown if len(shown) <= _WIDEST else shown[: _WIDEST - 1] + "…"


@dataclass
class StepsView:
    """What each step bought; renders itself to the width it gets."""

    steps: Steps

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """Rich's protocol."""
        yield Text(steps_title(self.steps), style="bold")
        yield fitted(step_columns(self.steps), options.max_width)
        for doubt in self.steps.doubts:
            yield Text.assemble(("! ", "bold yellow"), plain(doubt))
        for line in step_lines(self.steps):
            yield Text(line)


def steps_title(steps: Steps) -> str:
    """The profile isolated-cores for CPUs 1-3, step by step: cyclic under load idle, every 1ms."""
    cpus = f" for CPU{_s(steps.cpus)} {plain(steps.cpus)}" if steps.cpus else ""
    every = f", every {format_duration_ns(steps.interval_ns)}" if steps.interval_ns else ""
    where = "" if steps.target == "local" else f", on {plain(steps.target)}"
    how = f"{plain(steps.probe)} under load {plain(steps.load)}{every}{where}"
    return f"The profile {plain(steps.profile)}{cpus}, step by step: {how}"


def step_columns(steps: Steps) -> list[Column]:
    """A row for each step and set of CPUs: figures over the rounds, and what the step changed."""
    rows = list(_rows(steps))
    sides = [on for _, on in rows]
    columns = [
        Column("step", 0, [plain(result.name) for result, _ in rows], left=True),
        Column("CPUs", 1, [on.cpus or "any" for on in sides], left=True),
    ]
    rank = 2
    for place, name in _figures_by_weight(sides[0]):
        title = "largest\nof a round" if name == "max" else "median" if name == "p50" else name
        found = [on.figures[place] for on in sides]
        columns += [
            Column(title, rank, [time_text(row.b.value_ns) for row in found]),
            Column(f"{name}: since\nthe step before", rank + 1, [_change(row) for row in found]),
            Column(f"{name}:\n95 % limits", rank + 2, [_limits(row) for row in found]),
            Column(f"{name}\nis", rank + 3, [_EFFECTS[row.effect] for row in found], left=True),
        ]
        rank += 4
    columns += [
        Column("device\ninterrupts/s", rank, [_rate(on.interrupts_per_s) for on in sides]),
        Column("switches/s", rank + 1, [_rate(on.switches_per_s) for on in sides]),
        Column("samples", rank + 2, [count_text(on.samples) for on in sides]),
        Column("missed", rank + 3, [count_text(on.missed) for on in sides]),
        Column("rounds", rank + 4, [count_text(result.rounds) for result, _ in rows]),
        Column("changes\nheld", rank + 5, [count_text(result.held) for result, _ in rows]),
    ]
    return [column for column in columns if any(str(cell) != NOTHING for cell in column.cells)]


def step_lines(steps: Steps) -> list[str]:
    """What all steps together bought, what did not hold, and what was not applied."""
    return [*_whole_lines(steps), *_exception_lines(steps), *_left_out_lines(steps)]


def _rows(steps: Steps) -> Iterator[tuple[StepResult, StepOnCpus]]:
    for place in range(len(steps.results[0].on)):
        for result in steps.results:
            yield result, result.on[place]


def _figures_by_weight(on: StepOnCpus) -> list[tuple[int, str]]:
    """Tail, largest, median: their places and names."""
    places = {row.figure: place for place, row in enumerate(on.figures)}
    tails = [name for name in places if name not in ("p50", "max")]
    return [(places[name], name) for name in [*tails, "max", "p50"]]


def _whole_lines(steps: Steps) -> Iterator[str]:
    first, last = steps.results[0], steps.results[-1]
    if len(steps.results) < 2:
        return
    for on in last.on:
        where = f"on CPU{_s(on.cpus)} {on.cpus}" if on.cpus else "over all"
        told = []
        for row in on.since_first:
            if row.effect in ("better", "worse"):
                told.append(
                    f"{row.figure} is {time_text(row.b.value_ns)} against "
                    f"{time_text(row.a.value_ns)}, {row.effect} by {_limits(row)} with 95 % "
                    "confidence"
                )
        found = "; ".join(told) or "no evidence of a difference"
        if all(row.effect == "untested" for row in on.since_first):
            found = "one round does not show how much rounds differ, so nothing is called a change"
        yield f"{plain(last.name)} against {plain(first.name)}, {where}: {found}."


def _exception_lines(steps: Steps) -> Iterator[str]:
    told: set[tuple[str, str]] = set()
    for result in steps.results:
        new = [one for one in result.exceptions if (one.kind, one.what) not in told]
        told |= {(one.kind, one.what) for one in new}
        for state, count in Counter(one.state for one in new).items():
            first = next(one for one in new if one.state == state)
            why = f" ({plain(first.why)})" if first.why else ""
            more = f" and {count - 1} more" if count > 1 else ""
            yield f"{plain(result.name)}: {state}: {_short(first.what)}{why}{more}."


def _left_out_lines(steps: Steps) -> Iterator[str]:
    told: set[str] = set()
    for result in steps.results:
        new = [plain(rule.partition("=")[2]) for rule in result.left_out if rule not in told]
        told |= set(result.left_out)
        if new:
            yield (
                f"{plain(result.name)}: not applied, because it takes a boot: {' '.join(new)}. "
                f"rtscope tune apply {plain(steps.profile)} writes it; measure after the next boot."
            )


def _change(row: Row) -> str:
    value = row.difference.value_ns
    return NOTHING if value is None else format_signed_ns(value)


def _limits(row: Row) -> str:
    interval = row.difference.interval
    if interval.low_ns is None or interval.high_ns is None:
        return NOTHING
    return f"{format_signed_ns(interval.low_ns)} … {format_signed_ns(interval.high_ns)}"


def _rate(per_second: float | None) -> str:
    return NOTHING if per_second is None else f"{per_second:,.1f}"


def _s(cpus: str) -> str:
    return "s" if "," in cpus or "-" in cpus else ""
