# SPDX-License-Identifier: GPL-2.0-only
"""Runs whose tails are known, and `python -m tests.statistics.tail.synthetic RUNS [PROCESSES]`: the
table of docs/explanation/tail.md."""

import math
import sys
from collections import Counter
from collections.abc import Callable, Sequence
from functools import partial
from multiprocessing import Pool
from typing import Final

import msgspec
import numpy as np
from numpy.typing import NDArray

from rtscope.model.run import Exceedances, Run
from rtscope.statistics.tail.bounds import PERIODS_S, ReturnLevel, ThreadTail, thread_tail
from tests.measured import run_of, thread_of

Floats = NDArray[np.float64]
Tail = tuple[Floats, Floats]
"""times in samples, and excesses in scales"""

SAMPLES: Final = 360_000
"""an hour at 10 ms"""
ABOVE: Final = 20_000
SCALE: Final = 5_000
"""ns, as the threshold"""
SHARE: Final = 0.01
"""of the samples, above the threshold"""


class Known(msgspec.Struct, frozen=True):
    """A kind of tail."""

    name: str
    above: Callable[[float], float]
    """expected number of clusters an hour above so many times the scale over the threshold; of
    no use where `refused` is set"""
    shape: float = 0.0
    clock_ns: int = 1
    alters: Callable[[np.random.Generator, Floats, Floats], Tail] | None = None
    """changes times (samples) and excesses (scales)"""
    refused: bool = False
    """the model does not hold"""


def _pareto(shape: float, probability: Floats | float) -> Floats:
    share = np.asarray(probability, dtype=float)
    return np.asarray(-np.log(share) if shape == 0 else (share**-shape - 1) / shape)


def _survival(shape: float, excess: float) -> float:
    if shape == 0:
        return math.exp(-excess)
    return math.pow(max(0.0, 1 + shape * excess), -1 / shape)


def _clustered(_random: np.random.Generator, times: Floats, excesses: Floats) -> Tail:
    every = np.concatenate((times, times + 1, times + 2))
    values = np.concatenate((excesses, excesses * 0.9, excesses * 0.7))
    order = np.lexsort((-values, every))
    first = np.concatenate(([True], np.diff(every[order]) > 0))
    return every[order][first], values[order][first]


def _rarely(
    share: float, values: Callable[[np.random.Generator, int], Floats]
) -> Callable[[np.random.Generator, Floats, Floats], Tail]:
    def alter(random: np.random.Generator, times: Floats, excesses: Floats) -> Tail:
        rare = random.random(len(times)) < share
        excesses[rare] = values(random, int(rare.sum()))
        return times, excesses

    return alter


def _growing(_random: np.random.Generator, times: Floats, excesses: Floats) -> Tail:
    return times, excesses * (1 + times / SAMPLES)


def _denser(random: np.random.Generator, times: Floats, excesses: Floats) -> Tail:
    stays = random.random(len(times)) < 0.5 + 0.5 * times / SAMPLES
    return times[stays], excesses[stays]


def _expected(shape: float, excess: float) -> float:
    return SAMPLES * SHARE * _survival(shape, excess)


_exponential: Final = partial(_expected, 0.0)


KNOWN: Final = [
    *(
        Known(f"Pareto, shape {shape:+.1f}", partial(_expected, shape), shape=shape)
        for shape in (-0.4, -0.2, 0.0, 0.3)
    ),
    Known("exponential, a clock of 1 us", _exponential, clock_ns=1000),
    Known("exponential, in clusters of three", _exponential, alters=_clustered),
    Known(
        "1 % of the tail at 20 to 22 scales",
        _exponential,
        alters=_rarely(0.01, lambda random, number: 20 + 2 * random.random(number)),
        refused=True,
    ),
    Known(
        "0.5 % of the tail with 6 times the scale",
        _exponential,
        alters=_rarely(0.005, lambda random, number: random.exponential(6.0, number)),
        refused=True,
    ),
    Known(
        "1 % of the tail anywhere up to 100 scales",
        _exponential,
        alters=_rarely(0.01, lambda random, number: 100 * random.random(number)),
        refused=True,
    ),
    Known("the size doubles during the run", _exponential, alters=_growing, refused=True),
    Known("the number doubles during the run", _exponential, alters=_denser, refused=True),
]


def run_with(known: Known, seed: int) -> Run:
    """An hour of one thread with this tail."""
    random = np.random.default_rng(seed)
    number = random.binomial(SAMPLES, SHARE)
    times = np.sort(random.choice(SAMPLES, number, replace=False)).astype(float)
    excesses = _pareto(known.shape, random.random(number))
    if known.alters:
        times, excesses = known.alters(random, times, excesses)
    latencies = ABOVE + SCALE * excesses
    latencies = np.maximum(latencies // known.clock_ns * known.clock_ns, ABOVE).astype(int)
    kept = Exceedances(
        ABOVE - 1, [int(time) * 10_000_000 for time in times], [int(one) for one in latencies]
    )
    thread = msgspec.structs.replace(
        thread_of([int(latencies.max())]), count=SAMPLES, exceedances=kept
    )
    return msgspec.structs.replace(run_of(thread), elapsed_ns=SAMPLES * 10_000_000)


def tail_with(known: Known, seed: int) -> ThreadTail:
    """The bounds of such a run."""
    run = run_with(known, seed)
    return thread_tail(run, run.threads[0])


def reached_ns(known: Known, seconds: float) -> float:
    """The latency that this tail reaches once in that time."""
    low, high = 0.0, 1e6
    for _ in range(100):
        middle = (low + high) / 2
        above = known.above(middle) * seconds / 3600
        low, high = (middle, high) if above > 1 else (low, middle)
    return ABOVE + SCALE * low


class Outcome(msgspec.Struct, frozen=True):
    """How the bounds of one run came out."""

    refused: str = ""
    """the assumption that failed"""
    peaks: dict[str, bool] = {}
    """whether the limits of each period's level enclose the level that the tail has"""
    blocks: dict[str, bool] = {}
    """the same by block maxima"""


def outcome(place: int, seed: int) -> Outcome:
    """The bounds of a run of KNOWN[place]."""
    known = KNOWN[place]
    told = tail_with(known, seed)
    if told.fitted is None:
        return Outcome(told.tests[-1].assumption)
    by_blocks = told.fitted.by_blocks
    return Outcome(
        peaks=_within(known, told.fitted.levels),
        blocks=_within(known, by_blocks.levels if by_blocks else []),
    )


def _within(known: Known, levels: Sequence[ReturnLevel]) -> dict[str, bool]:
    truth = {period: reached_ns(known, seconds) for period, seconds in PERIODS_S.items()}
    return {
        one.period: one.low_ns <= truth[one.period]
        and (one.high_ns is None or truth[one.period] <= one.high_ns)
        for one in levels
    }


def row(known: Known, outcomes: Sequence[Outcome]) -> str:
    """A row of the table."""
    bounded = [one for one in outcomes if not one.refused]
    reasons = Counter(one.refused for one in outcomes if one.refused)
    told = ", ".join(f"{reason} {number}" for reason, number in reasons.most_common())
    refused = f"{100 * (1 - len(bounded) / len(outcomes)):.1f} %" + (f": {told}" if told else "")
    shares = ["–"] * len(PERIODS_S)
    if bounded and not known.refused:
        shares = [
            f"{_share([one.peaks[period] for one in bounded])} "
            f"({_share([one.blocks[period] for one in bounded if one.blocks])})"
            for period in PERIODS_S
        ]
    return f"| {known.name} | {refused} | {' | '.join(shares)} |"


def _share(within: Sequence[bool]) -> str:
    return f"{100 * sum(within) / len(within):.1f} %" if within else "–"


def main(runs: int, processes: int = 2) -> None:
    """Print the table."""
    print("| tail | refused, of them | level of an hour | of a day | of a year |")
    print("| --- | --- | ---: | ---: | ---: |")
    with Pool(processes) as pool:
        for place, known in enumerate(KNOWN):
            outcomes = pool.starmap(outcome, [(place, seed) for seed in range(runs)], chunksize=2)
            print(row(known, outcomes), flush=True)


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
