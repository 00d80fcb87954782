# SPDX-License-Identifier: GPL-2.0-only
"""Sentences about two runs: the verdict, and differences between the measurements."""

from collections.abc import Sequence
from typing import Final

import msgspec

from rtscope.model.errors import RtscopeError
from rtscope.model.run import Run
from rtscope.model.units import counted, format_ns, format_signed_ns
from rtscope.statistics import confidence
from rtscope.statistics.alike import Difference
from rtscope.statistics.comparison import (
    SMALLEST_EFFECT,
    Comparison,
    Outcome,
    Row,
    compare_series,
)
from rtscope.statistics.placement_comparison import PlacementComparison
from rtscope.statistics.placing import SMALLEST_GAIN
from rtscope.wording.plain import plain
from rtscope.wording.reason import reasons_text
from rtscope.wording.run import REPEAT_BOTH

_GRAVEST_FIRST: Final[tuple[Outcome, ...]] = (
    "worse", "better", "no evidence", "too few", "not comparable",
)  # fmt: skip
_HEADLINES: Final[dict[Outcome, str]] = {
    "worse": "{} is worse than {}",
    "better": "{} is better than {}",
    "no evidence": "no evidence that {} differs from {}",
    "too few": "too few samples to compare {} with {}",
    "not comparable": "{} cannot be compared with {}",
}
_MOST_NAMED: Final = 4
"""of the cells or series that only one run has"""


class Verdict(msgspec.Struct, frozen=True):
    """The first run against each of the others."""

    headline: str
    sentences: list[str]


def verdict_of(labels: Sequence[str], runs: Sequence[Run]) -> Verdict:
    """The verdict on each run but the first, which it is compared with."""
    headlines, sentences = [], []
    repeat = False
    for label, run in list(zip(labels, runs, strict=True))[1:]:
        try:
            compared = compare_series(runs[0], run)
        except RtscopeError as error:
            headlines.append(_HEADLINES["not comparable"].format(label, labels[0]))
            sentences.append(plain(str(error)))
            continue
        outcomes = {one.outcome for one in compared}
        gravest = next(outcome for outcome in _GRAVEST_FIRST if outcome in outcomes)
        repeat = repeat or gravest in ("better", "worse")
        headlines.append(_HEADLINES[gravest].format(label, labels[0]))
        sentences += [_with_series(one, labels[0], label) for one in compared]
    text = "; ".join(headlines)
    return Verdict(text[:1].upper() + text[1:], sentences + [REPEAT_BOTH] * repeat)


def comparison_sentence(comparison: Comparison, a: str = "A", b: str = "B") -> str:
    """B is worse than A: the metric that decides, and the metrics that differ the other way."""
    rows = [row for row in comparison.rows if row.metric not in ("mean", "max")]
    tested = [row for row in rows if row.effect != "untested"]
    match comparison.outcome:
        case "not comparable":
            left, right = map(plain, comparison.probes)
            return f"{a} measured {left} and {b} {right}: these are different quantities."
        case "too few":
            first = next((row for row in rows if row.reasons), None)
            why = f"for {first.metric}, {reasons_text(first.reasons)}" if first else "no samples"
            return f"Too few samples to compare: {why}."
        case "no evidence":
            sure = any((row.p_value or 1.0) <= 1 - confidence.LEVEL for row in tested)
            least = f" (differences below {SMALLEST_EFFECT * 100:g} % do not count)" if sure else ""
            names = ", ".join(row.metric for row in tested)
            return f"No evidence that {b} is better or worse than {a}, judged by {names}{least}."
        case outcome:
            return f"{b} is {outcome} than {a}: {_evidence(comparison, tested)}."


_DIFFERENCES: Final = {
    "partial": "{side} is partial: it ended with status {of}",
    "low-resolution": (
        "{side} ran without high-resolution timers: its latencies include the tick's period"
    ),
    "warning": "{has} a warning: {of}",
    "setting": "{of} differs: A {a}, B {b}",
    "load-work": "load {of} worked at different rates: A {a:,.0f}, B {b:,.0f} {unit} per second",
    "only": "only {side} measured {names}",
    "assumed-independent": (
        "{runs}: no latency over time was recorded, so the samples are assumed to be independent; "
        "bursts make such confidence limits too narrow"
    ),
}


def difference_sentence(one: Difference) -> str:
    """One way in which two runs were not measured alike."""
    more = len(one.names) - _MOST_NAMED
    return _DIFFERENCES[one.kind].format(
        side=one.side,
        has=f"{one.side} has" if one.side else "A and B have",
        of=one.of,
        a="unknown" if one.a is None else one.a,
        b="unknown" if one.b is None else one.b,
        unit=one.unit.replace("_", " "),
        names="; ".join([*one.names[:_MOST_NAMED], *[f"and {more:,} more"] * (more > 0)]),
        runs=" and ".join(one.names),
    )


def placement_comparison_sentence(comparison: PlacementComparison) -> str:
    """B is slower than A in 1 of 8 cases, by 5 % or more."""
    effects = [one.effect for one in comparison.changes]
    counts = {word: effects.count(word) for word in ("slower", "faster") if word in effects}
    least = f"by {(SMALLEST_GAIN - 1) * 100:.0f} % or more"
    cases = counted(len(effects), "case")
    if not counts:
        where = f", in any of {cases}" if len(effects) > 1 else ""
        return f"No evidence that B is faster or slower than A {least}{where}."
    (first, count), *more = counts.items()
    also = "".join(f" and {word} in {number}" for word, number in more)
    return f"B is {first} than A in {count}{also} of {cases}, {least}."


def _with_series(comparison: Comparison, a: str, b: str) -> str:
    text = comparison_sentence(comparison, a, b)
    return f"{plain(comparison.series)}: {text}" if comparison.series else text


def _evidence(comparison: Comparison, tested: Sequence[Row]) -> str:
    found = [row for row in tested if row.effect in ("better", "worse")]
    decider = next(row for row in found if row.metric == comparison.decider)
    text = _values(decider)
    others = [row for row in found if row.effect != comparison.outcome]
    if others:
        names = " and ".join(_metric(row) for row in others)
        verb = "is" if len(others) == 1 else "are"
        return f"{text}; {names} {verb} {others[0].effect}, but the deeper tail decides"
    if decider.metric == "p50":
        return f"{text}; no evidence that a tail differs"
    return f"{text}; the median is {comparison.outcome} too" if found[0].metric == "p50" else text


def _values(row: Row) -> str:
    a, b = (format_ns(side.value_ns or 0) for side in (row.a, row.b))
    low, high = row.difference.interval.low_ns, row.difference.interval.high_ns
    if low is None or high is None:
        return f"{row.metric} is {b} against {a}"
    limits = f"{format_signed_ns(low)} to {format_signed_ns(high)}"
    return f"{row.metric} is {b} against {a}, a difference of {limits} with 95 % confidence"


def _metric(row: Row) -> str:
    return "the median" if row.metric == "p50" else row.metric
