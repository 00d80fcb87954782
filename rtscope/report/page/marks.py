# SPDX-License-Identifier: GPL-2.0-only
"""What is particular to each probe wherever its runs are shown: its word, its scale, its marks."""

from collections.abc import Sequence
from typing import Final, TypedDict

import msgspec

from rtscope.model.quantity import quantity_of
from rtscope.model.run import Run
from rtscope.model.units import format_ns


class ProbeView(msgspec.Struct, frozen=True):
    """How a probe's charts are drawn."""

    quantity: str
    """the quantity of a sample"""
    marks: dict[str, str] = {}
    """the run's options that are times to be marked in the figures, and their words"""
    marks_interval: bool = False
    """samples are held against the interval that was asked for too"""


class Mark(TypedDict):
    """A time that samples are held against."""

    at: float
    """us"""
    text: str


_MARKS: Final = {
    "event": {"deadline_ns": "deadline"},
    "loop": {"low_ns": "low", "high_ns": "high"},
    "migrate": {"tolerance_ns": "tolerance"},
    "noise": {"threshold_ns": "threshold"},
    "pi": {"hold_ns": "hold", "medium_ns": "hold and medium"},
    "sched": {"criterion_ns": "criterion"},
    "signal": {"deadline_ns": "deadline"},
}


def _view(probe: str) -> ProbeView:
    return ProbeView(quantity_of(probe), _MARKS.get(probe, {}), probe == "loop")


def view_of(runs: Sequence[Run]) -> ProbeView:
    """The common view of all runs; "time" is the quantity of runs of different probes."""
    views = [_view(run.probe) for run in runs] or [_view("")]
    return views[0] if all(view == views[0] for view in views) else ProbeView("time")


def marks_of(runs: Sequence[Run]) -> list[Mark]:
    """Every different mark of the runs, shortest first."""
    found: dict[tuple[float, str], None] = {}
    for run in runs:
        view = _view(run.probe)
        times = {key: _time(run, key) for key in view.marks}
        if run.probe == "pi":
            times["medium_ns"] += times["hold_ns"] if times["medium_ns"] else 0
        if view.marks_interval:
            found[(run.asked.interval_ns or 0) / 1000, "asked"] = None
        found |= {(ns / 1000, view.marks[key]): None for key, ns in times.items()}
    return [
        {"at": at, "text": f"{text} {format_ns(at * 1000)}"} for at, text in sorted(found) if at > 0
    ]


def _time(run: Run, key: str) -> float:
    value = run.asked.options.get(key)
    return float(value) if isinstance(value, int | float) else 0.0
