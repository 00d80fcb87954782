# SPDX-License-Identifier: GPL-2.0-only
"""Causes are ranked by the time they took, and a run is computed again without each."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rtscope.model.cause import Ranking
from rtscope.model.run import Run
from rtscope.model.timeline import Explanation, LedgerTerm, Remote, TermKind
from rtscope.statistics.causes import rankings
from tests.measured import run_of, thread_of

Parts = dict[tuple[TermKind, str], int]


def explained(parts: Parts, remote: Remote | None = None) -> Explanation:
    terms = [LedgerTerm(kind, name, ns, [1], "", remote) for (kind, name), ns in parts.items()]
    ledger = sorted(terms, key=lambda term: -term.ns)
    return Explanation(0, 0, sum(parts.values()), "trace", ledger=ledger)


def run_with(explanations: list[Explanation], others_ns: list[int]) -> Run:
    late = [one.latency_ns for one in explanations]
    return run_of(thread_of([*others_ns, *late]), explanations=explanations)


def only(run: Run) -> Ranking:
    return rankings(run)[0]


def test_threads_of_one_program_are_one_cause_with_its_cpus_and_its_main_sender() -> None:
    me, other = Remote("eth/7", 3, "send"), Remote("eth/8", 2)
    found = only(
        run_with(
            [
                explained({("thread", "make/7"): 4000, ("own", ""): 1000}, me),
                explained({("thread", "make/9"): 3000, ("own", ""): 2000}, other),
            ],
            [10],
        )
    )
    assert [(one.kind, one.name, one.total_ns) for one in found.causes] == [
        ("thread", "make", 7000), ("own", "", 3000),
    ]  # fmt: skip
    make = found.causes[0]
    assert (make.first, make.samples, make.share, make.cpus) == (2, 2, 0.7, [1])
    assert make.remote == me
    assert (make.share_low, make.share_high) == (None, None)
    assert (make.max_without_ns, found.max_ns) == (2000, 5000)


def test_samples_that_are_not_explained_keep_their_latency() -> None:
    told = [explained({("nmi", ""): 9000, ("own", ""): 1000})]
    found = only(run_with(told, [100] * 50 + [4000]))
    assert found.causes[0].max_without_ns == 4000
    assert found.p9999_ns is None


def test_the_tail_is_ranked_apart_and_says_how_much_of_it_is_explained() -> None:
    told = [explained({("nmi", ""): 50_000 + n, ("own", ""): 1000}) for n in range(10)]
    shallow = explained({("switch", ""): 60})
    run = run_with([*told, shallow], list(range(10, 5000)) + [20_000] * 30)
    every, tail = rankings(run)
    assert (every.scope, every.explained, every.samples) == ("explained", 11, 5031)
    assert (tail.scope, tail.explained, tail.samples) == ("tail", 10, 50)
    assert {cause.kind for cause in tail.causes} == {"nmi", "own"}


def test_the_limits_of_a_share_contain_it_and_narrow_with_samples() -> None:
    def width(count: int) -> float:
        told = [
            explained({("nmi", ""): 1000 + 37 * n % 900, ("own", ""): 500}) for n in range(count)
        ]
        nmi = only(run_with(told, [1])).causes[0]
        assert nmi.share_low is not None
        assert nmi.share_high is not None
        assert nmi.share_low <= nmi.share <= nmi.share_high
        return nmi.share_high - nmi.share_low

    assert width(60) < width(10)


KINDS: list[tuple[TermKind, str]] = [("nmi", ""), ("thread", "a"), ("own", "")]


@given(
    st.lists(st.lists(st.integers(1, 10**6), min_size=3, max_size=3), min_size=1, max_size=20),
    st.lists(st.integers(1, 10**6), max_size=20),
)
def test_the_run_without_a_cause_is_that_of_the_shortened_samples(
    parts: list[list[int]], others: list[int]
) -> None:
    told = [explained(dict(zip(KINDS, one, strict=True))) for one in parts]
    base = [5] * 100_000
    found = only(run_with(told, base + others))
    assert sum(cause.share for cause in found.causes) == pytest.approx(1)
    for cause in found.causes:
        place = KINDS.index((cause.kind, cause.name))
        shortened = [sum(one) - one[place] for one in parts]
        samples = sorted([*base, *others, *shortened])
        assert cause.max_without_ns == samples[-1]
        assert cause.p9999_without_ns == samples[math.ceil(0.9999 * len(samples)) - 1]
