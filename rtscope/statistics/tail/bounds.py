# SPDX-License-Identifier: GPL-2.0-only
"""What the tail of a thread's latency reaches in an hour, a day and a year of this load.

Peaks over a threshold: the largest sample of each cluster, over a threshold that the data choose,
is fitted with a generalised Pareto distribution (pareto.py). Before that its assumptions are tested
one after the other, and the first that fails ends it: a bound from a model that does not hold is
worse than none. The return level of a period is the latency that is reached once in it on average
(Coles 2001, section 4.3.3). It is no worst case: another load, another state of the machine, or a
cause that did not occur while measuring may take longer.
"""

import math
from collections.abc import Callable, Sequence
from typing import Final, Literal

import msgspec
import numpy as np

from rtscope.model.run import Run, Thread
from rtscope.statistics.confidence import LEVEL
from rtscope.statistics.tail import blocks, checks
from rtscope.statistics.tail.clusters import Clusters, clusters
from rtscope.statistics.tail.pareto import Floats, Limits, Pareto, fit, level_limits, shape_limits

Assumption = Literal[
    "recorded",
    "complete",
    "enough",
    "drift-in-number",
    "drift-in-size",
    "sizes-independent",
    "times-independent",
    "one-distribution",
    "threshold-stable",
    "light-enough",
    "resolution",
    "predicts",
]
"""in the order in which they are tested"""

LEAST_CLUSTERS: Final = 200
"""that a fit needs"""
_LEAST_ABOVE: Final = 100
"""clusters over a higher threshold, for a look at the fit's stability"""
_STEP: Final = math.sqrt(0.5)
"""of the number of large samples, from a threshold to the next"""
ERROR: Final = 0.005
"""probability of each test to refuse what holds"""
_SECOND_NS: Final = 10**9
PERIODS_S: Final = {"hour": 3600, "day": 86_400, "year": 31_557_600}
_SEED: Final = 1


class Test(msgspec.Struct, frozen=True):
    """An assumption and whether the data keep it."""

    assumption: Assumption
    passed: bool
    probability: float | None = None
    """that data which keep it look at least as bad"""
    has: int | None = None
    needs: int | None = None


class ReturnLevel(msgspec.Struct, frozen=True):
    """The latency that is reached once in a period on average."""

    period: str
    ns: float
    low_ns: float
    high_ns: float | None
    """None: the data set no upper limit"""


class Stability(msgspec.Struct, frozen=True):
    """The shape over one of several thresholds."""

    threshold_ns: float
    clusters: int
    shape: float
    error: float
    """standard error"""


class BlockFit(msgspec.Struct, frozen=True):
    """The same tail by the largest sample of each block: a check of the fit, with wider limits."""

    blocks: int
    seconds: float
    """of each"""
    shape: float
    levels: list[ReturnLevel]
    agrees: bool
    """the limits of each level overlap those of the peaks"""


class Fit(msgspec.Struct, frozen=True):
    """The fitted tail of a thread."""

    threshold_ns: float
    clusters: int
    extremal_index: float
    clusters_per_hour: float
    scale_ns: float
    shape: float
    shape_low: float
    shape_high: float | None
    end_ns: float | None
    """the largest latency that the fitted tail can have; None unless the shape's upper limit is
    below 0"""
    levels: list[ReturnLevel]
    excesses_ns: list[float]
    """the clusters' largest samples over the threshold, ascending"""
    by_blocks: BlockFit | None = None
    """None with too few clusters for blocks"""


class ThreadTail(msgspec.Struct, frozen=True):
    """The tail of one thread."""

    thread: int
    name: str
    cpu: int | None
    seconds: float
    """of measuring"""
    samples: int
    kept: int
    """samples above the agent's threshold"""
    max_ns: int | None
    tests: list[Test] = []
    """up to the first that failed"""
    stability: list[Stability] = []
    fitted: Fit | None = None
    """None: an assumption does not hold"""
    level: float = LEVEL
    """confidence of all limits"""


class _Over(msgspec.Struct, frozen=True):
    """A threshold with what is over it."""

    threshold: float
    found: Clusters
    fitted: Pareto


def tails(run: Run) -> list[ThreadTail]:
    """The tails of a run's threads."""
    return [thread_tail(run, thread) for thread in run.threads]


def thread_tail(run: Run, thread: Thread) -> ThreadTail:
    """The tail of one thread."""
    seconds = (run.elapsed_ns or 0) / _SECOND_NS
    kept = thread.exceedances
    tail = ThreadTail(
        thread=thread.thread,
        name=thread.name,
        cpu=thread.cpu,
        seconds=seconds,
        samples=thread.count,
        kept=len(kept.time_ns) if kept else 0,
        max_ns=thread.max_ns,
    )
    tests = [Test("recorded", kept is not None and thread.count > 0 and seconds > 0)]
    if not kept or not tests[0].passed:
        return msgspec.structs.replace(tail, tests=tests)
    tests.append(Test("complete", not kept.dropped, has=kept.dropped, needs=0))
    if kept.dropped:
        return msgspec.structs.replace(tail, tests=tests)
    period_ns = seconds * _SECOND_NS / thread.count
    times = np.asarray(kept.time_ns, dtype=float) / period_ns
    values, least, resolution = _continuous(kept.latency_ns, kept.above_ns)
    return _tail(tail, tests, _Data(times, values, least, resolution))


def return_level_ns(fitted: Fit, hours: float) -> float:
    """The latency that is reached once in so many hours; at least the threshold."""
    number = max(fitted.clusters_per_hour * hours, 1.0)
    return fitted.threshold_ns + Pareto(fitted.shape, fitted.scale_ns, 0.0, 0).level(number)


class _Data(msgspec.Struct, frozen=True):
    times: Floats
    """in sample periods"""
    values: Floats
    least: float
    """every sample above this is among them"""
    resolution: int


def _continuous(latencies: list[int], above_ns: int) -> tuple[Floats, float, int]:
    """The samples spread over the steps of their clock, the threshold, and that step, in ns."""
    values = np.asarray(latencies, dtype=np.int64)
    resolution = int(np.gcd.reduce(values)) if len(values) else 1
    spread = np.random.default_rng(_SEED).random(len(values)) * resolution
    return values + spread, float((above_ns // resolution + 1) * resolution), resolution


def _tail(tail: ThreadTail, tests: list[Test], data: _Data) -> ThreadTail:
    """Test the assumptions in order; fit if all hold."""
    found = clusters(data.times, data.values)
    varied = len(np.unique(data.values // data.resolution))
    enough = len(found.times) >= LEAST_CLUSTERS and varied > 2
    tests.append(Test("enough", enough, has=len(found.times), needs=LEAST_CLUSTERS))
    if not enough:
        return msgspec.structs.replace(tail, tests=tests)
    over = _thresholds(data)
    stable = _chosen(over)
    chosen = over[0] if stable is None else over[stable]
    periods = float(tail.samples)
    excesses = chosen.found.maxima - chosen.threshold
    half = chosen.found.times < periods / 2

    probabilities: dict[Assumption, Callable[[], float]] = {
        "drift-in-number": lambda: checks.drift_in_number(chosen.found, periods),
        "drift-in-size": lambda: checks.drift_in_size(chosen.found, periods),
        "sizes-independent": lambda: checks.dependence(chosen.found.maxima),
        "times-independent": lambda: checks.dependence(np.diff(chosen.found.times)),
        "one-distribution": lambda: checks.mixture(excesses),
        "threshold-stable": lambda: 0.0 if stable is None else 1.0,
        "light-enough": lambda: checks.heaviness(chosen.fitted),
        "resolution": lambda: float(data.resolution <= chosen.fitted.scale),
        "predicts": lambda: checks.prediction(excesses[half], excesses[~half]),
    }
    for assumption, probability in probabilities.items():
        value = probability()
        tests.append(Test(assumption, value >= ERROR, value))
        if not tests[-1].passed:
            break
    tail = msgspec.structs.replace(tail, tests=tests, stability=[_stability(one) for one in over])
    if not tests[-1].passed:
        return tail
    return msgspec.structs.replace(tail, fitted=_fit(tail, chosen))


def _thresholds(data: _Data) -> list[_Over]:
    """Ascending, each over about 0.7 of the samples of the one before."""
    descending = np.sort(data.values)[::-1]
    number = len(descending)
    found: list[_Over] = []
    threshold = data.least
    while True:
        above = data.values > threshold
        kept = clusters(data.times[above], data.values[above])
        if len(kept.times) < _LEAST_ABOVE:
            return found
        found.append(_Over(threshold, kept, fit(kept.maxima - threshold)))
        number = int(number * _STEP)
        if number < _LEAST_ABOVE:
            return found
        threshold = float(descending[number])


def _chosen(over: list[_Over]) -> int | None:
    """The lowest threshold with enough clusters over which the shape stays the same; None: there is
    none."""
    for index, one in enumerate(over):
        if one.fitted.number < LEAST_CLUSTERS:
            return None
        higher = over[index + 1 :]
        if all(
            checks.instability(one.fitted, other.fitted) >= ERROR / len(higher) for other in higher
        ):
            return index
    return None


def _stability(one: _Over) -> Stability:
    return Stability(one.threshold, one.fitted.number, one.fitted.shape, one.fitted.shape_error)


def _fit(tail: ThreadTail, chosen: _Over) -> Fit:
    excesses = np.sort(chosen.found.maxima - chosen.threshold)
    fitted = chosen.fitted
    per_second = fitted.number / tail.seconds
    shape = shape_limits(excesses, fitted, LEVEL)
    bounded = shape.high is not None and shape.high < 0
    levels = []
    for name, seconds in PERIODS_S.items():
        number = per_second * seconds
        if number <= 1:
            continue
        limits = level_limits(excesses, fitted, number, LEVEL)
        levels.append(_level(name, chosen.threshold, fitted.level(number), limits))
    return Fit(
        threshold_ns=chosen.threshold,
        clusters=fitted.number,
        extremal_index=chosen.found.index,
        clusters_per_hour=per_second * PERIODS_S["hour"],
        scale_ns=fitted.scale,
        shape=fitted.shape,
        shape_low=shape.low,
        shape_high=shape.high,
        end_ns=chosen.threshold - fitted.scale / fitted.shape if bounded else None,
        levels=levels,
        excesses_ns=[float(excess) for excess in excesses],
        by_blocks=_by_blocks(tail, chosen, levels),
    )


def _by_blocks(tail: ThreadTail, chosen: _Over, peaks: Sequence[ReturnLevel]) -> BlockFit | None:
    """The levels of the same periods by block maxima."""
    excesses = blocks.block_maxima(chosen.found, chosen.threshold, float(tail.samples))
    if excesses is None:
        return None
    fitted = blocks.fit(excesses)
    seconds = tail.seconds / len(excesses)
    levels = []
    for peak in peaks:
        number = PERIODS_S[peak.period] / seconds
        limits = blocks.level_limits(fitted, number, LEVEL)
        levels.append(_level(peak.period, chosen.threshold, fitted.level(number), limits))
    agrees = all(
        one.low_ns <= (other.high_ns or math.inf) and other.low_ns <= (one.high_ns or math.inf)
        for one, other in zip(levels, peaks, strict=True)
    )
    return BlockFit(len(excesses), seconds, fitted.shape, levels, agrees)


def _level(name: str, threshold: float, middle: float, limits: Limits) -> ReturnLevel:
    return ReturnLevel(
        name,
        threshold + middle,
        threshold + limits.low,
        None if limits.high is None else threshold + limits.high,
    )
