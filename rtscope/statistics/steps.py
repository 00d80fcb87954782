# SPDX-License-Identifier: GPL-2.0-only
"""The effect of each step of a tuning profile.

Steps are measured in rounds: each goes through all of them, in an order of its own. A metric of one
round is one observation, so what counts is how much rounds differ, which is what two runs by
themselves cannot show. The difference to another step is taken round by round: what changes slowly,
such as warmth or other users of the machine, is in both and falls out. Its limits are Student's t
over the rounds, as in the paired t test, and p-values are corrected over all steps, CPUs and
metrics of a table (comparison.holm).

The metrics are the median, the deepest tail that every run has the samples for, the same of the
response times where periods were missed, and the largest latency of a round. That last one is no
metric to compare two runs by, but the mean over rounds of equal length is: a maximum of many
samples is a random variable like any other.

A difference is never taken to be more exact than the histograms' buckets, 1/1024 of the value.
"""

import math
from collections.abc import Iterable, Sequence
from statistics import fmean, stdev
from typing import Final

import msgspec

from rtscope.model.budget import RESPONSE
from rtscope.model.cpulist import format_cpu_list, parse_cpu_list
from rtscope.model.histogram import Histogram
from rtscope.model.reason import Reason
from rtscope.model.run import FINAL, Run, Thread
from rtscope.model.tuning import Change, Tuning
from rtscope.statistics import confidence
from rtscope.statistics.comparison import Estimate, Row, holm
from rtscope.statistics.distributions import student_below
from rtscope.statistics.history import percent_of
from rtscope.statistics.metrics import (
    PERCENTS,
    Metrics,
    metrics_of_run,
    percent_name,
    quantile_ns,
)
from rtscope.statistics.response import Responses, responses_of_run

_RESOLUTION: Final = 1 / 1024
_INTERRUPTS: Final = "device_interrupts"
_SWITCHES: Final = "switches"
"""metrics of a measured CPU"""


class StepOnCpus(msgspec.Struct, frozen=True):
    """One step on the CPUs of the profile, or on the others."""

    cpus: str
    """empty if the threads are not pinned"""
    chosen: bool
    """whether these are the CPUs of the profile"""
    samples: int
    missed: int | None
    metrics: list[Row] = msgspec.field(name="figures")
    """b is this step, a the step before; empty differences for the first"""
    since_first: list[Row]
    """a is the first step, mostly as booted"""
    interrupts_per_s: float | None = None
    """device interrupts of these CPUs; None if unknown"""
    switches_per_s: float | None = None


class StepResult(msgspec.Struct, frozen=True):
    """One step."""

    step: int
    name: str
    rounds: int
    held: int
    """changes, of this step and those before"""
    exceptions: list[Change]
    """changes that failed or did not last, in any round"""
    left_out: list[str]
    """rules that need a reboot"""
    runs: list[str]
    """ids"""
    on: list[StepOnCpus]


class Steps(msgspec.Struct, frozen=True, tag_field="type", tag="steps"):
    """All steps of one profile, measured alike."""

    profile: str
    cpus: str
    target: str
    probe: str
    load: str
    interval_ns: int | None
    results: list[StepResult]
    warnings: list[str] = []
    """warnings of all runs"""


def steps_among(runs: Sequence[Run]) -> list[Steps]:
    """The steps of the tuned runs, one result for all runs measured alike."""
    alike: dict[tuple[object, ...], list[tuple[Run, Tuning]]] = {}
    for run in runs:
        if run.tuning and run.status in FINAL and any(thread.count for thread in run.threads):
            alike.setdefault(_key(run, run.tuning), []).append((run, run.tuning))
    return [_steps(held) for held in alike.values()]


def _key(run: Run, tuning: Tuning) -> tuple[object, ...]:
    asked = run.asked
    how = (asked.interval_ns, asked.policy, asked.priority, tuple(sorted(asked.options.items())))
    return tuning.profile, tuning.cpus, run.target, run.probe, run.load, how


def _steps(held: list[tuple[Run, Tuning]]) -> Steps:
    first, tuning = held[0]
    by_step: dict[int, dict[int, tuple[Run, Tuning]]] = {}
    for run, one in held:
        by_step.setdefault(one.step, {})[one.round] = (run, one)
    numbers = sorted(by_step)
    seen = [
        (cpus, chosen, {number: _on(by_step[number], cpus) for number in numbers})
        for cpus, chosen in _cpu_sets([run for run, _ in held], tuning.cpus)
    ]
    names = _metric_names(
        one for _, _, rounds in seen for at in rounds.values() for one in at.values()
    )
    tables = [_Table(cpus, chosen, names, rounds) for cpus, chosen, rounds in seen]
    rows = iter(holm([row for table in tables for row in table.rows()]))
    on: dict[int, list[StepOnCpus]] = {number: [] for number in numbers}
    for table in tables:
        for number in numbers:
            on[number].append(table.result(number, rows))
    return Steps(
        profile=tuning.profile,
        cpus=tuning.cpus,
        target=first.target,
        probe=first.probe,
        load=first.load,
        interval_ns=first.asked.interval_ns,
        results=[_result(by_step[number], number, on[number]) for number in numbers],
        warnings=[
            one.text for one in first.warnings if all(one in run.warnings for run, _ in held)
        ],
    )


def _cpu_sets(runs: Sequence[Run], chosen: str) -> list[tuple[str, bool]]:
    """The measured CPUs of the profile, and the others; all if the profile has none."""
    measured = {thread.cpu for run in runs for thread in run.threads if thread.cpu is not None}
    measured_chosen = measured & set(parse_cpu_list(chosen))
    if not measured:
        return [("", True)]
    sets = [
        (format_cpu_list(measured_chosen), True),
        (format_cpu_list(measured - measured_chosen), not measured_chosen),
    ]
    return [(cpus, is_chosen) for cpus, is_chosen in sets if cpus]


class _Seen(msgspec.Struct, frozen=True):
    """One round of one step on some CPUs."""

    threads: list[Thread]
    metrics: Metrics
    responses: Histogram | None
    """the samples with the missed periods filled in; None where that is unknown"""
    seconds: float


def _on(rounds: dict[int, tuple[Run, Tuning]], cpus: str) -> dict[int, _Seen]:
    numbers = set(parse_cpu_list(cpus))
    seen = {}
    for number, (run, _) in rounds.items():
        threads = [one for one in run.threads if not cpus or one.cpu in numbers]
        alone = msgspec.structs.replace(run, threads=threads)
        answered = responses_of_run(alone, threads)
        answers = answered.histogram if isinstance(answered, Responses) else None
        seconds = (run.elapsed_ns or 0) / 1e9
        seen[number] = _Seen(threads, metrics_of_run(alone), answers, seconds)
    return seen


class _Table:
    """The metrics of all steps on some CPUs."""

    def __init__(
        self, cpus: str, chosen: bool, names: list[str], seen: dict[int, dict[int, _Seen]]
    ) -> None:
        """`seen` has, by step and round, what the CPUs saw; `names` are those of the metrics."""
        self._names = names
        self._cpus = cpus
        self._chosen = chosen
        self._seen = seen
        self._numbers = sorted(seen)

    def rows(self) -> list[Row]:
        """Every row, before the correction, in the order in which `result` takes them."""
        rows = []
        for place, number in enumerate(self._numbers):
            others = [self._numbers[max(0, place - 1)], self._numbers[0]]
            for other in dict.fromkeys(others):
                rows += [self._row(name, other, number) for name in self._names]
        return rows

    def result(self, number: int, rows: Iterable[Row]) -> StepOnCpus:
        """One step, with the next of the corrected rows."""
        taken = iter(rows)
        before = [next(taken) for _ in self._names]
        first = before
        if self._numbers.index(number) > 1:
            first = [next(taken) for _ in self._names]
        seen = self._seen[number].values()
        missed = [one.metrics.missed for one in seen]
        return StepOnCpus(
            cpus=self._cpus,
            chosen=self._chosen,
            samples=sum(one.metrics.count for one in seen),
            missed=sum(known) if (known := [m for m in missed if m is not None]) else None,
            metrics=before,
            since_first=first,
            interrupts_per_s=_per_second(seen, _INTERRUPTS),
            switches_per_s=_per_second(seen, _SWITCHES),
        )

    def _row(self, name: str, a: int, b: int) -> Row:
        left, right = self._values(name, a), self._values(name, b)
        here = Estimate(*_mean_and_limits(list(right.values())))
        there = Estimate(*_mean_and_limits(list(left.values())))
        rounds = sorted(left.keys() & right.keys())
        if a == b or not rounds:
            return Row(name, there, here, Estimate(None), reasons=[Reason("no-step-before")])
        differences = [right[number] - left[number] for number in rounds]
        mean = fmean(differences)
        if len(rounds) < 2:
            reasons = [Reason("one-round", len(rounds), 2)]
            return Row(name, there, here, Estimate(mean), reasons=reasons)
        level = fmean(left[number] for number in rounds)
        error = _error(differences, level)
        interval = _interval(mean, error, len(rounds))
        student = abs(mean) / error if error else math.inf
        p_value = 2 * student_below(len(rounds) - 1, -student)
        return Row(name, there, here, Estimate(mean, interval), "same", p_value)

    def _values(self, name: str, number: int) -> dict[int, float]:
        known = {place: _metric(one, name) for place, one in self._seen[number].items()}
        return {place: value for place, value in known.items() if value is not None}


def _metric_names(seen: Iterable[_Seen]) -> list[str]:
    """The median, the deepest tail that all of them have, with the missed periods filled in too if
    there are any, and the largest.
    """
    tails, missed = {percent_name(percent) for percent in PERCENTS[1:]}, False
    for one in seen:
        known = [q.percent for q in one.metrics.quantiles if q.value_ns is not None]
        tails &= {percent_name(percent) for percent in known}
        missed |= bool(one.metrics.missed and one.responses)
    deepest = [name for name in map(percent_name, PERCENTS) if name in tails][-1:]
    return ["p50", *deepest, *(f"{name}{RESPONSE}" for name in deepest if missed), "max"]


def _metric(seen: _Seen, name: str) -> float | None:
    if name == "max":
        return seen.metrics.max_ns
    if name.endswith(RESPONSE):
        if seen.responses is None:
            return None
        return quantile_ns(seen.responses, percent_of(name), seen.metrics.max_ns).value_ns
    return next(one.value_ns for one in seen.metrics.quantiles if percent_name(one.percent) == name)


def _mean_and_limits(values: Sequence[float]) -> tuple[float | None, confidence.Interval]:
    """Of a metric over its rounds."""
    if len(values) < 2:
        return (values[0] if values else None), confidence.Interval(None, None)
    mean = fmean(values)
    return mean, _interval(mean, _error(values, mean), len(values))


def _interval(mean: float, error: float, rounds: int) -> confidence.Interval:
    """By Student's t: a round is what confidence.py calls a batch."""
    batches = confidence.Batches(rounds, error)
    return confidence.mean_interval(mean, error * math.sqrt(rounds), rounds, batches)


def _error(values: Sequence[float], level: float) -> float:
    """The standard error of their mean."""
    return max(stdev(values), _RESOLUTION * abs(level)) / math.sqrt(len(values))


def _per_second(seen: Iterable[_Seen], metric: str) -> float | None:
    counts = [thread.metrics.get(metric) for one in seen for thread in one.threads]
    seconds = sum(one.seconds for one in seen)
    known = [count for count in counts if count is not None]
    if not known or len(known) < len(counts) or not seconds:
        return None
    return sum(known) / seconds


def _result(rounds: dict[int, tuple[Run, Tuning]], number: int, on: list[StepOnCpus]) -> StepResult:
    tunings = [tuning for _, tuning in rounds.values()]
    exceptions = {(one.kind, one.what): one for tuning in tunings for one in tuning.exceptions}
    return StepResult(
        step=number,
        name=tunings[0].name,
        rounds=len(rounds),
        held=min(tuning.held for tuning in tunings),
        exceptions=list(exceptions.values()),
        left_out=tunings[0].left_out,
        runs=[run.id for run, _ in rounds.values()],
        on=on,
    )
