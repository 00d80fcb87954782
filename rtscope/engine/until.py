# SPDX-License-Identifier: GPL-2.0-only
"""End a measurement once its limits are proven, or one of them is hopeless; how much longer a
finished run would have taken."""

from collections.abc import Callable, Sequence
from typing import Final

import msgspec

from rtscope.engine.sofar import bucket_width_ns
from rtscope.model.budget import Limit, parse_limit
from rtscope.model.errors import RtscopeError
from rtscope.model.progress import Progress
from rtscope.model.run import Run, RunWarning
from rtscope.model.units import counted
from rtscope.statistics.metrics import as_arrays
from rtscope.statistics.sequential import Decision, decide, decide_rate, samples_needed
from rtscope.target.protocol import AnyLine


def until_limits(texts: Sequence[str]) -> list[Limit]:
    """Read the limits of --until. Raises RtscopeError."""
    limits = [parse_limit(text) for text in texts]
    for limit in limits:
        if not (limit.percent or limit.is_rate) or limit.is_response or limit.series:
            raise RtscopeError(
                f"--until '{limit.text}' is not a limit on a percentile or a rate of each thread, "
                "such as 'p99.999<50us' or 'rate(>50us)<1/h'"
            )
    return limits


_OUTLOOK_NS: Final = 10**9
_HOUR_NS: Final = 3600e9
_OUTLOOKS: Final[dict[Decision, str]] = {"proven": "proven", "hopeless": "hopeless"}


class _Counts(msgspec.Struct):
    count: int = 0
    over: int = 0
    """samples that may be beyond the limit: those of its own bucket, too"""
    surely: int = 0
    """samples that are beyond it"""


class Outlook(msgspec.Struct, frozen=True):
    """How far a limit is."""

    limit: str
    decision: Decision
    more_ns: int | None
    """time that would prove it at the rate so far; None where it is decided, or none would"""
    text: str
    """a sentence"""


def outlooks_of(run: Run, texts: Sequence[str]) -> list[Outlook]:
    """How far limits are after a whole run. Raises RtscopeError for limits that cannot be proven,
    and for a run whose time or samples are unknown.
    """
    until = Until(texts)
    if not run.elapsed_ns or not any(thread.count for thread in run.threads):
        raise RtscopeError(
            f"run {run.id} does not show how long --until takes: its time or its samples were not "
            "recorded"
        )
    until.take(run)
    return until.outlooks()


class Until:
    """The limits and the samples so far, by thread. Each limit holds for every thread."""

    def __init__(self, texts: Sequence[str]) -> None:
        """Read the limits. Raises RtscopeError."""
        self._limits = until_limits(texts)
        self._counts: dict[tuple[int, int], _Counts] = {}
        self._time_ns = self._next_ns = 0

    def receive(self, line: AnyLine) -> None:
        """Take a line of the agent: the samples of a progress line are counted."""
        if not isinstance(line, Progress):
            return
        self._time_ns = line.time_ns
        for thread in line.threads:
            for number, limit in enumerate(self._limits):
                counts = self._counts.setdefault((number, thread.thread), _Counts())
                for lower_ns, count in thread.gained:
                    last_ns = lower_ns + bucket_width_ns(lower_ns) - 1
                    counts.count += count
                    counts.over += count * _beyond(last_ns, limit)
                    counts.surely += count * _beyond(lower_ns, limit)

    def take(self, run: Run) -> None:
        """Count the samples of a whole run. Those that no bucket has may be beyond the limit."""
        self._time_ns = run.elapsed_ns or 0
        for thread in run.threads:
            lower, last, count = as_arrays(thread.histogram)
            unknown = max(thread.count - int(count.sum()), 0)
            for number, limit in enumerate(self._limits):
                counts = self._counts.setdefault((number, thread.thread), _Counts())
                counts.count += thread.count
                counts.over += unknown
                for lower_ns, last_ns, samples in zip(lower, last, count, strict=True):
                    counts.over += int(samples) * _beyond(int(last_ns), limit)
                    counts.surely += int(samples) * _beyond(int(lower_ns), limit)

    def decision(self) -> Decision:
        """Whether all limits are proven, or one is hopeless."""
        found = {self._together(number) for number in range(len(self._limits))}
        if "hopeless" in found:
            return "hopeless"
        return "proven" if found == {"proven"} else "open"

    def outlook(self) -> list[str] | None:
        """How long each limit takes at the rates so far; None within a second of the last time."""
        if self._time_ns < self._next_ns or not self._counts:
            return None
        self._next_ns = self._time_ns + _OUTLOOK_NS
        return [
            f"{one.limit}: {_OUTLOOKS.get(one.decision) or _needed_text(one.more_ns)}"
            for one in self.outlooks()
        ]

    def outlooks(self) -> list[Outlook]:
        """How far each limit is."""
        return [self._outlook(number) for number in range(len(self._limits))]

    def ended(self, run: Run, *, by_us: bool) -> Run:
        """Return the run with what was decided, complete if that is why it ended."""
        status = "complete" if by_us and run.status == "interrupted" else run.status
        found = [RunWarning(f"until-{one.decision}", one.text) for one in self.outlooks()]
        warnings = [*run.warnings, *found]
        return msgspec.structs.replace(run, status=status, warnings=warnings)

    def _of(self, key: tuple[int, int]) -> Decision:
        counts, limit = self._counts[key], self._limits[key[0]]
        judge, rate = self._judge(limit, counts)
        if judge(counts.over, counts.count, rate) == "proven":
            return "proven"
        hopeless = judge(counts.surely, counts.count, rate) == "hopeless"
        return "hopeless" if hopeless else "open"

    def _judge(
        self, limit: Limit, counts: _Counts
    ) -> tuple[Callable[[int, int, float], Decision], float]:
        """How a limit is judged, and the share of the samples that may be beyond it."""
        if limit.percent is not None:
            return decide, 1 - limit.percent / 100
        hours = self._time_ns / _HOUR_NS
        return decide_rate, min(float(limit.value) * hours / max(counts.count, 1), 1 - 1e-9)

    def _together(self, number: int) -> Decision:
        decisions = {self._of(key) for key in self._counts if key[0] == number}
        if "hopeless" in decisions:
            return "hopeless"
        return "proven" if decisions == {"proven"} else "open"

    def _outlook(self, number: int) -> Outlook:
        limit = self._limits[number]
        found = {key: self._of(key) for key in self._counts if key[0] == number}
        decision = self._together(number)
        more_ns = self._more_ns(number) if decision == "open" else None
        after = f"after {_span(self._time_ns)}"
        if decision == "hopeless":
            bad = max(
                (self._counts[key] for key, one in found.items() if one == "hopeless"),
                key=lambda counts: counts.surely / counts.count,
            )
            text = f"{counted(bad.surely, 'sample')} of {bad.count:,} are beyond it"
        elif decision == "proven":
            text = f"{counted(sum(self._counts[key].count for key in found), 'sample')}"
        else:
            text = _needed_text(more_ns)
        return Outlook(limit.text, decision, more_ns, f"{limit.text} is {decision} {after}: {text}")

    def _more_ns(self, number: int) -> int | None:
        needed = []
        for key, counts in self._counts.items():
            if key[0] == number:
                judge, rate = self._judge(self._limits[number], counts)
                needed.append(
                    (samples_needed(counts.over, counts.count, rate, judge), counts.count)
                )
        if not needed or any(samples is None for samples, _ in needed):
            return None
        share = max((samples or 0) / max(count, 1) for samples, count in needed)
        return max(round((share - 1) * self._time_ns), 0)


def _needed_text(more_ns: int | None) -> str:
    if more_ns is None:
        return "at the rate so far it is never proven"
    return f"at the rate so far it takes {_span(more_ns)} more"


def _span(ns: int) -> str:
    """1.5 s, 20 min, 3.2 h: a time that is rounded."""
    for unit, length in (("h", 3600e9), ("min", 60e9)):
        if ns >= 2 * length:
            return f"{ns / length:,.3g} {unit}"
    return f"{ns / 1e9:.3g} s"


def _beyond(latency_ns: int, limit: Limit) -> bool:
    if limit.beyond_ns is not None:
        return latency_ns > limit.beyond_ns
    return latency_ns > limit.value or (latency_ns == limit.value and not limit.inclusive)
