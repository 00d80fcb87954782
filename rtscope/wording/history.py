# SPDX-License-Identifier: GPL-2.0-only
"""Sentences about metrics over time."""

from collections.abc import Sequence
from typing import Final

from rtscope.model.run import Run
from rtscope.model.units import counted, format_duration_ns, format_ns
from rtscope.statistics.history import LEAST_RUNS, Change, Key, MetricHistory
from rtscope.wording.fingerprint import fingerprint
from rtscope.wording.plain import plain

_BARS: Final = "▁▂▃▄▅▆▇█"
_OF_ONE_RUN: Final = frozenset({"run", "lab", "emulator's command line", "initramfs' SHA-256"})
"""facts that differ between any two runs"""


def key_text(key: Key) -> str:
    """What the runs of a series have in common."""
    return f"{plain(key.machine)}: {measured_text(key)}"


def measured_text(key: Key) -> str:
    """What the runs of a series measured: cyclic each 1ms under mixed:2, fifo:90."""
    interval = f" each {format_duration_ns(key.interval_ns)}" if key.interval_ns else ""
    return plain(f"{key.probe}{interval} under {key.load}, {key.policy}")


def change_sentence(change: Change) -> str:
    """since 2026-11-12 (run 3fa91c20, 12 runs): 31.2 us, 1.21 times 25.8 us (1.12 to 1.31)."""
    runs = counted(change.runs_since, "run")
    return (
        f"since {change.created[:10]} (run {change.after[:8]}, {runs}): {format_ns(change.to_ns)}, "
        f"{change.ratio:.3g} times {format_ns(change.from_ns)} "
        f"({change.low:.3g} to {change.high:.3g})"
    )


def summary_text(metric: MetricHistory) -> str:
    """The newest value, and why there are no change points."""
    known = [value for value in metric.values_ns if value is not None]
    if not known:
        return "no run has enough samples"
    text = f"{format_ns(known[-1])} in the newest of {counted(len(known), 'run')}"
    if metric.too_few:
        return f"{text}; a change point needs {LEAST_RUNS}"
    return text if metric.changes else f"{text}; no change point"


def differing_rows(before: Run, after: Run) -> list[str]:
    """What of machine, kernel and request differs between two runs: name, before and after."""
    old, new = (dict(fingerprint(run)[0]) for run in (before, after))
    return [
        f"{name}: {old.get(name, '–')} → {new.get(name, '–')}"
        for name in [*old, *(name for name in new if name not in old)]
        if name not in _OF_ONE_RUN and old.get(name) != new.get(name)
    ]


def sparkline(values: Sequence[float | None], width: int) -> str:
    """The newest values as bars, from the lowest to the highest; blank where there is none."""
    shown = values[-width:]
    known = [value for value in shown if value is not None]
    if not known:
        return ""
    low, high = min(known), max(known)
    span = (high - low) or 1.0
    return "".join(
        " " if value is None else _BARS[min(int((value - low) / span * 8), 7)] for value in shown
    )
