# SPDX-License-Identifier: GPL-2.0-only
"""Sentences about the steps of a tuning profile."""

from collections import Counter
from collections.abc import Iterator

from rtscope.model.units import format_duration_ns, format_signed_ns
from rtscope.statistics.comparison import Row
from rtscope.statistics.steps import Steps
from rtscope.wording.plain import plain
from rtscope.wording.values import NOTHING, time_text

_WIDEST = 48


def short_text(text: str) -> str:
    shown = plain(text)
    return shown if len(shown) <= _WIDEST else shown[: _WIDEST - 1] + "…"


def steps_title(steps: Steps) -> str:
    """The profile isolated-cores for CPUs 1-3, step by step: cyclic under load idle, every 1ms."""
    cpus = f" for CPU{_s(steps.cpus)} {plain(steps.cpus)}" if steps.cpus else ""
    every = f", every {format_duration_ns(steps.interval_ns)}" if steps.interval_ns else ""
    where = "" if steps.target == "local" else f", on {plain(steps.target)}"
    how = f"{plain(steps.probe)} under load {plain(steps.load)}{every}{where}"
    return f"The profile {plain(steps.profile)}{cpus}, step by step: {how}"


def step_lines(steps: Steps) -> list[str]:
    """The total effect, the changes that failed, and the rules that were not applied."""
    return [*_whole_lines(steps), *_exception_lines(steps), *_left_out_lines(steps)]


def _whole_lines(steps: Steps) -> Iterator[str]:
    first, last = steps.results[0], steps.results[-1]
    if len(steps.results) < 2:
        return
    for on in last.on:
        where = f"on CPU{_s(on.cpus)} {on.cpus}" if on.cpus else "over all"
        reported = []
        for row in on.since_first:
            if row.effect in ("better", "worse"):
                reported.append(
                    f"{row.metric} is {time_text(row.b.value_ns)} against "
                    f"{time_text(row.a.value_ns)}, {row.effect} by {limits_text(row)} with 95 % "
                    "confidence"
                )
        found = "; ".join(reported) or "no evidence of a difference"
        if all(row.effect == "untested" for row in on.since_first):
            found = "one round does not show how much rounds differ, so nothing is called a change"
        yield f"{plain(last.name)} against {plain(first.name)}, {where}: {found}."


def _exception_lines(steps: Steps) -> Iterator[str]:
    reported: set[tuple[str, str]] = set()
    for result in steps.results:
        new = [one for one in result.exceptions if (one.kind, one.what) not in reported]
        reported |= {(one.kind, one.what) for one in new}
        for state, count in Counter(one.state for one in new).items():
            first = next(one for one in new if one.state == state)
            why = f" ({plain(first.why)})" if first.why else ""
            more = f" and {count - 1} more" if count > 1 else ""
            yield f"{plain(result.name)}: {state}: {short_text(first.what)}{why}{more}."


def _left_out_lines(steps: Steps) -> Iterator[str]:
    reported: set[str] = set()
    for result in steps.results:
        new = [plain(rule.partition("=")[2]) for rule in result.left_out if rule not in reported]
        reported |= set(result.left_out)
        if new:
            yield (
                f"{plain(result.name)}: not applied, because it takes a boot: {' '.join(new)}. "
                f"rtscope tune apply {plain(steps.profile)} writes it; measure after the next boot."
            )


def limits_text(row: Row) -> str:
    interval = row.difference.interval
    if interval.low_ns is None or interval.high_ns is None:
        return NOTHING
    return f"{format_signed_ns(interval.low_ns)} … {format_signed_ns(interval.high_ns)}"


def _s(cpus: str) -> str:
    return "s" if "," in cpus or "-" in cpus else ""
