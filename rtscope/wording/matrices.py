# SPDX-License-Identifier: GPL-2.0-only
"""Titles and values of the matrices that belong to no thread alone."""

from typing import Final

from rtscope.model.run import Matrix
from rtscope.wording.plain import plain
from rtscope.wording.values import NOTHING

_TITLES: Final = {
    ("speed", "operations_per_s"): "What each CPU does alone",
    ("message", "ns"): "Time of a message from CPU to CPU",
    ("awake", "ratio"): "Slowdown by a CPU that is only awake",
    ("scalar", "ratio"): "Slowdown in scalar arithmetic",
    ("vector", "ratio"): "Slowdown in vector arithmetic",
    ("L1", "ratio"): "Slowdown of loads from the L1 cache",
    ("L2", "ratio"): "Slowdown of loads from the L2 cache",
    ("L3", "ratio"): "Slowdown of loads from the L3 cache",
    ("memory", "ratio"): "Slowdown of reading memory",
    ("latency", "ns"): "Time of a load",
    ("read", "bytes_per_s"): "Reading",
    ("write", "bytes_per_s"): "Writing",
    ("copy", "bytes_per_s"): "Copying",
    ("disturbance", "ratio"): "Slowdown of the first CPU's loads by what the others do",
    ("partitioned", "ratio"): "The same with half of the caches for the first CPU",
}


def matrix_title(matrix: Matrix) -> str:
    """What a person calls it."""
    return _TITLES.get((matrix.name, matrix.unit), plain(matrix.name))


def value_text(value: float | None, unit: str) -> str:
    """A metric with its unit: 69.1 ns, 1.93 times, 12.1 GB/s."""
    if value is None:
        return NOTHING
    if unit == "ratio":
        return f"{value:.2f}"
    if unit == "ns":
        return f"{value:.3g} ns" if value < 1000 else f"{value / 1000:.4g} us"
    if unit == "bytes_per_s":
        return f"{value / 1e9:.3g} GB/s"
    if unit == "operations_per_s":
        return f"{value / 1e9:.3g} billion a second"
    return f"{value:.4g} {plain(unit)}"
