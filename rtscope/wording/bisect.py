# SPDX-License-Identifier: GPL-2.0-only
"""A bisection in words: its steps, its verdicts and its result."""

from rtscope.lab.bisect.repository import Commit, Left
from rtscope.lab.bisect.rule import Figure
from rtscope.lab.bisect.search import Result, Role, Verdict
from rtscope.model.units import counted, format_ns
from rtscope.wording.plain import plain

LAB_NOTE = "The figures count instructions, without caches and buses: confirm them on a board."


def step_text(commit: Commit, role: Role, left: Left) -> str:
    """The commit that is tested, and how many are left."""
    if role != "step":
        return f"testing the {role}, {_named(commit)}"
    return (
        f"testing {_named(commit)}: {counted(left.commits, 'candidate')}, about "
        f"{counted(left.steps, 'step')} left"
    )


def verdict_text(verdict: Verdict) -> str:
    """4b9914872cef bad   10 of 10 seeds fail, p99.9 8.12 us (8.02 to 8.31)."""
    role = f" ({verdict.role})" if verdict.role != "step" else ""
    return (
        f"{verdict.commit.short} {verdict.mark:4} {_evidence(verdict)}; "
        f"{plain(verdict.commit.subject)}{role}"
    )


def figure_text(figure: Figure) -> str:
    """The median of a metric, and its range over the seeds: 8.12 us (8.02 to 8.31 us)."""
    median, low, high = (_value(figure, one) for one in (figure.median, figure.low, figure.high))
    return f"{median} ({low} to {high})"


def result_text(result: Result) -> str:
    """The headline of the result."""
    if result.first_bad is None:
        return (
            f"the first bad commit is one of {len(result.candidates)}, because commits between "
            "good and bad could not be tested:"
        )
    return f"first bad commit: {_named(result.first_bad.commit)}"


def origin_text(commit: Commit) -> str:
    """Author and date."""
    return f"{plain(commit.author)}, {commit.date}"


def candidate_text(commit: Commit) -> str:
    """Its id and its subject."""
    return _named(commit)


def _evidence(verdict: Verdict) -> str:
    parts = []
    if verdict.failing is not None:
        parts.append(f"{verdict.failing} of {verdict.seeds} seeds fail")
    elif verdict.seeds:
        parts.append(counted(verdict.seeds, "seed"))
    parts += [f"{one.metric} {figure_text(one)}" for one in verdict.figures[:1]]
    if verdict.reason:
        parts.append(plain(verdict.reason))
    return ", ".join(parts)


def _named(commit: Commit) -> str:
    return f"{commit.short} {plain(commit.subject)}"


def _value(figure: Figure, value: float) -> str:
    return format_ns(value) if figure.in_ns else f"{value:g}"


def commands_of(result: Result) -> list[str]:
    """The commands that go on from a result."""
    if result.first_bad is None:
        return []
    commands = []
    if result.before.run and result.first_bad.run:
        commands.append(f"rtscope compare {result.before.run[:8]} {result.first_bad.run[:8]}")
    if result.first_bad.kernel:
        commands.append(f"rtscope measure --target vm:{result.first_bad.kernel} --explain 3")
    return commands
