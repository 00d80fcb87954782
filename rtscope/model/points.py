# SPDX-License-Identifier: GPL-2.0-only
"""The agent's `points` line: a program's measurement points (docs/reference/protocol.md)."""

import msgspec

from rtscope.model.histogram import Histogram


class Point(msgspec.Struct, frozen=True):
    """One measurement point; its metrics are None if it has no sample yet."""

    name: str
    enabled: bool
    count: int
    text: str = ""
    """the program's description of it"""
    parent: int | None = None
    """index of the point that it is a part of"""
    budget_ns: int | None = None
    over_budget: int | None = None
    """samples longer than the budget"""
    last_ns: int | None = None
    min_ns: int | None = None
    mean_ns: float | None = None
    p999_ns: int | None = None
    max_ns: int | None = None
    histogram: Histogram | None = None


class Points(msgspec.Struct, frozen=True, tag_field="type", tag="points"):
    """One `points` line; `msgspec.json.decode(line, type=Points)` reads it."""

    time_ns: int
    """since the agent started reading"""
    process: str
    """such as "process 4711 (llrf)" """
    points: list[Point]
    paused: bool = False
    """no point counts, not even an enabled one"""
