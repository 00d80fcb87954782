# SPDX-License-Identifier: GPL-2.0-only
"""Verdicts, comparisons and reasons in words; golden/comparison.txt holds them for a reader.

After a change of words, write the file again: python -m tests.wording.test_comparison
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Final, get_args

import msgspec
import numpy as np

from rtscope.model.budget import parse_limit
from rtscope.model.reason import Cause, Reason
from rtscope.model.scaling import Placement
from rtscope.statistics.alike import Difference
from rtscope.statistics.comparison import compare
from rtscope.statistics.metrics import Stalls
from rtscope.statistics.placement_comparison import CellChange, Effect, PlacementComparison
from rtscope.statistics.placing import Ratio
from rtscope.statistics.verdict import judge
from rtscope.wording.budget import judgement_sentence
from rtscope.wording.comparison import (
    comparison_sentence,
    difference_sentence,
    placement_comparison_sentence,
)
from rtscope.wording.reason import reason_text, stalls_text
from tests.measured import latencies, run_of, thread_of

GOLDEN: Final = Path(__file__).parent / "golden" / "comparison.txt"
LIMITS: Final = ("max<50us", "max<=50us", "missed<1", "p99<5us", "p99.9<1s", "over<1", "max[x]<1us")
DIFFERENCES: Final = [
    Difference("partial", "interrupted", side="B"),
    Difference("low-resolution", side="A"),
    Difference("warning", "memory is not locked", side="B"),
    Difference("warning", "real-time throttling is on"),
    Difference("setting", "interval", None, "200us"),
    Difference("load-work", "files", 1000.0, 1112.0, "bytes_written"),
    Difference("only", side="A", names=["a", "b", "c", "d", "e"]),
    Difference("assumed-independent", names=["A", "B"]),
]


def judgements() -> Iterator[str]:
    slow = msgspec.structs.replace(thread_of([1000] * 1999 + [50_000], 3), missed=1)
    run = run_of(slow, thread_of([1000] * 2000, 0))
    yield from (judgement_sentence(one) for one in judge(run, [*map(parse_limit, LIMITS)]))


def comparisons() -> Iterator[str]:
    rng = np.random.default_rng(23)
    fast, slow = (run_of(thread_of(latencies(rng, "independent", spikes=s))) for s in (1.0, 2.0))
    later = run_of(thread_of(latencies(rng, "independent") + 500))
    few = run_of(thread_of([1000] * 5))
    other = msgspec.structs.replace(slow, probe="signal")
    for a, b in ((fast, slow), (slow, later), (fast, fast), (few, few), (fast, other)):
        yield comparison_sentence(compare(a, b))


def series() -> Iterator[str]:
    effects: list[list[Effect]] = [["same"], ["same", "unknown"], ["slower", "faster", "same"]]
    for each in effects:
        changes = [
            CellChange("x", Placement((0,), 1), "idle", 1, 2, Ratio(2.0), effect) for effect in each
        ]
        yield placement_comparison_sentence(PlacementComparison("1", "2", changes))


def reasons() -> Iterator[str]:
    for cause in get_args(Cause):
        yield reason_text(Reason(cause, 1, 1000, "A", "cyclic", ["over", "failed"]))
    yield reason_text(Reason("no-series"))
    yield reason_text(Reason("no-metric", of="cyclic"))
    yield stalls_text(Stalls(1, 0.001))
    yield stalls_text(Stalls(49, 0.0239))


def lines() -> str:
    differences = map(difference_sentence, DIFFERENCES)
    reported = [*judgements(), *comparisons(), *differences, *series(), *reasons()]
    return "".join(f"{one}\n" for one in reported)


def test_the_sentences_are_those_of_the_golden_file() -> None:
    assert lines() == GOLDEN.read_text()


if __name__ == "__main__":
    GOLDEN.write_text(lines())
