# SPDX-License-Identifier: GPL-2.0-only
"""Sentences about the bounds of a tail, and why there are none."""

from typing import Final

from rtscope.model.units import counted, format_ns
from rtscope.statistics.tail.bounds import Assumption, Fit, ReturnLevel, Test, ThreadTail
from rtscope.statistics.tail.pareto import EXACT_SHAPE

ASSUMPTIONS: Final[dict[Assumption, str]] = {
    "recorded": "the largest samples are recorded with their times",
    "complete": "none of them is missing",
    "enough": "enough clusters of large samples",
    "drift-in-number": "no drift in the number of clusters",
    "drift-in-size": "no drift in their size",
    "sizes-independent": "sizes of neighbouring clusters are independent",
    "times-independent": "times between clusters are independent",
    "one-distribution": "no rare second distribution in the tail",
    "threshold-stable": "the shape is the same over higher thresholds",
    "light-enough": "the tail is no mixture that looks very heavy",
    "resolution": "the clock is finer than the tail",
    "predicts": "the first half predicts the second half's maximum",
}

_REFUSALS: Final[dict[Assumption, str]] = {
    "recorded": "the run has no large samples with their times; measure with --exceedances 4096",
    "complete": "{has} of the largest samples are missing: they came faster than the agent could "
    "keep them",
    "enough": "only {has} clusters of large samples, {needs} are needed: measure longer, or with "
    "more --exceedances",
    "drift-in-number": "large samples are more frequent in some parts of the run than in others, "
    "so no rate holds; look for what changed, or measure with a steady load",
    "drift-in-size": "large samples are larger in some parts of the run than in others; look for "
    "what changed, or measure with a steady load",
    "sizes-independent": "a large sample makes the next one larger or smaller, beyond its cluster; "
    "look for a slow rhythm in the load",
    "times-independent": "clusters of large samples come in groups; look for a slow rhythm in the "
    "load",
    "one-distribution": "the largest samples are of another kind than the rest: a rare cause hides "
    "in the tail. Find it with --explain, and bound it by itself",
    "threshold-stable": "over higher thresholds the tail has another shape, so it is not known how "
    "it goes on; measure longer",
    "light-enough": "the tail looks so heavy that its variance is infinite: probably the largest "
    "samples are of another kind than the rest. Find their cause with --explain, and bound it by "
    "itself",
    "resolution": "the clock's steps are larger than the tail's scale",
    "predicts": "a fit to the run's first half does not predict the second half's maximum; measure "
    "longer",
}


def refusal(tail: ThreadTail) -> str:
    """Why a thread has no bounds."""
    failed = tail.tests[-1]
    return _REFUSALS[failed.assumption].format(has=failed.has, needs=failed.needs)


def shape_sentence(fitted: Fit) -> str:
    """Whether the tail has an end, by the limits of its shape."""
    high = "no upper limit" if fitted.shape_high is None else f"{fitted.shape_high:+.2f}"
    limits = f"shape {fitted.shape:+.2f} ({fitted.shape_low:+.2f} to {high})"
    if fitted.end_ns is None:
        return f"{limits}: no finite bound"
    rough = "; all limits are rough for so abrupt an end" if fitted.shape < EXACT_SHAPE else ""
    return f"{limits}: the fitted tail ends at {format_ns(fitted.end_ns)}{rough}"


def evidence_sentence(fitted: Fit) -> str:
    """What the fit rests on."""
    return (
        f"from {counted(fitted.clusters, 'cluster')} over {format_ns(fitted.threshold_ns)}, "
        f"{fitted.clusters_per_hour:,.0f} an hour, of {1 / max(fitted.extremal_index, 1e-9):.1f} "
        "samples each"
    )


def blocks_sentence(fitted: Fit) -> str:
    """The levels by block maxima; "" where there are too few clusters for them."""
    one = fitted.by_blocks
    if one is None:
        return ""
    levels = ", ".join(f"{level.period} {level_text(level)}" for level in one.levels)
    return (
        f"by the largest sample of each of {one.blocks} blocks of {one.seconds:.3g} s, shape "
        f"{one.shape:+.2f}: {levels}"
    )


def disagreement(fitted: Fit) -> str:
    """What to think of two methods that differ; "" where they agree."""
    if fitted.by_blocks is None or fitted.by_blocks.agrees:
        return ""
    return f"the two methods disagree, so trust neither: {blocks_sentence(fitted)}"


def level_text(level: ReturnLevel) -> str:
    """The value with its limits."""
    high = "no upper limit" if level.high_ns is None else format_ns(level.high_ns)
    return f"{format_ns(level.ns)} ({format_ns(level.low_ns)} to {high})"


def test_text(test: Test) -> str:
    """How a test ended."""
    if test.probability is not None and test.assumption not in ("threshold-stable", "resolution"):
        return f"p = {test.probability:.2g}"
    if test.needs is not None and test.assumption == "enough":
        return f"{test.has:,} of {test.needs:,}"
    return ""
