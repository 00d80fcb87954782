# SPDX-License-Identifier: GPL-2.0-only
"""Values with their units, and the names of threads and policies."""

from collections.abc import Sequence

from rtscope.model.run import Thread
from rtscope.model.units import format_column_ns, format_duration_ns, format_ns
from rtscope.statistics.metrics import Quantile
from rtscope.wording.plain import plain

NOTHING = "–"


def time_text(ns: float | None) -> str:
    """A latency with its unit, or a dash."""
    return NOTHING if ns is None else format_ns(ns)


def quantile_text(quantile: Quantile) -> str:
    """A quantile with its unit, "≥ 100.0 us" where only a bound is known, or a dash."""
    return f"{'≥ ' if quantile.at_least else ''}{time_text(quantile.value_ns)}"


def times_texts(values: Sequence[float | None]) -> list[str]:
    """Latencies of a column in one unit, or dashes."""
    return format_column_ns(values, NOTHING)


def quantiles_texts(quantiles: Sequence[Quantile]) -> list[str]:
    """Quantiles of a column in one unit, "≥ 100.0 us" where only a bound is known, or dashes."""
    texts = times_texts([quantile.value_ns for quantile in quantiles])
    return [
        f"{'≥ ' if quantile.at_least else ''}{text}"
        for quantile, text in zip(quantiles, texts, strict=True)
    ]


def count_text(count: int | None) -> str:
    """A count with separators, or a dash where the tool did not count."""
    return NOTHING if count is None else f"{count:,}"


def thread_name(thread: Thread) -> str:
    """CPU 3, thread 3 where it was not pinned; with a name, "timerfd on CPU 3", "rank 1"."""
    place = f"thread {thread.thread}" if thread.cpu is None else f"CPU {thread.cpu}"
    if not thread.name:
        return place
    return plain(thread.name) if thread.cpu is None else f"{plain(thread.name)} on {place}"


def policy_text(thread: Thread) -> str:
    """fifo:90; other has no priority."""
    if thread.policy in ("fifo", "rr"):
        return f"{plain(thread.policy)}:{thread.priority}"
    return plain(thread.policy)


def policies_text(threads: Sequence[Thread]) -> str:
    """The policy of threads together: fifo:90, or each of a few."""
    policies = list(dict.fromkeys(policy_text(thread) for thread in threads))
    return ", ".join(policies) if len(policies) <= 2 else "several"


def rate_text(unit: str, rate: float) -> str:
    """1.20 M bytes written/s."""
    for scale, prefix in ((1e12, " T"), (1e9, " G"), (1e6, " M"), (1e3, " k")):
        if rate >= scale:
            return f"{rate / scale:,.2f}{prefix} {plain(unit).replace('_', ' ')}/s"
    return f"{rate:,.1f} {plain(unit).replace('_', ' ')}/s"


def span_text(ns: int) -> str:
    """A duration for people: 29.7 s, 2 min 5 s."""
    if ns == 0:
        return "0 s"
    if ns < 1_000_000_000:
        return format_duration_ns(round(ns, -6)) if ns >= 1_000_000 else time_text(ns)
    seconds = round(ns / 1e9, 1)
    if seconds < 60:
        return f"{seconds:g} s"
    minutes, rest = divmod(round(ns / 1e9), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes} min" if hours else f"{minutes} min {rest} s"
