# SPDX-License-Identifier: GPL-2.0-only
"""Small runs made of latencies, for tests of what is made from runs."""

from collections.abc import Iterator, Sequence

import msgspec
import numpy as np
from numpy.typing import NDArray

from rtscope.model.histogram import Histogram
from rtscope.model.machine import Machine
from rtscope.model.run import Run, Sample, Thread, Windows

Latencies = NDArray[np.int64]


def thread_of(
    latencies_ns: Sequence[int] | Latencies, cpu: int | None = 0, windows: int = 60
) -> Thread:
    """A thread that saw these latencies in this order; its histogram is exact."""
    values = np.asarray(latencies_ns, dtype=np.int64)
    if not len(values):
        return Thread(cpu or 0, cpu, "fifo", 90, 0, Histogram())
    lower, count = np.unique(values, return_counts=True)
    parts = [part for part in np.array_split(values, windows) if len(part)]
    worst = int(values.argmax())
    return Thread(
        cpu or 0,
        cpu,
        "fifo",
        90,
        len(values),
        Histogram(lower.tolist(), [1] * len(lower), count.tolist()),
        int(values.min()),
        int(values.max()),
        float(values.mean()),
        float(values.std()),
        worst=[Sample(worst * 1_000_000, int(values[worst]), cpu)],
        windows=Windows(
            [(index + 1) * 1_000_000_000 for index in range(len(parts))],
            [len(part) for part in parts],
            [float(part.mean()) for part in parts],
            [int(part.max()) for part in parts],
        ),
    )


def run_of(*threads: Thread, **fields: object) -> Run:
    """A complete idle run of these threads; `fields` replaces any field of the run."""
    run = Run(
        "0123456789abcdef",
        "2026-11-21T12:00:00+00:00",
        "cyclic",
        "complete",
        "idle",
        Machine(hostname="board", kernel_release="6.12.1", preemption="rt"),
        list(threads),
        elapsed_ns=60_000_000_000,
    )
    return msgspec.structs.replace(run, **fields)


def latencies(
    rng: np.random.Generator, kind: str, count: int = 30_000, spikes: float = 1.0
) -> Latencies:
    """Latencies around 3 us: independent, or coming in one of the ways machines disturb them.

    `spikes` multiplies the slowest 2 %.
    """
    if kind == "independent":
        values = rng.lognormal(8, 0.3, count)
    elif kind == "wandering":
        values = np.exp(8 + 0.3 * np.fromiter(_autoregressive(rng, count), np.float64, count))
    elif kind == "bursts":
        values = rng.lognormal(8, 0.2, count)
        disturbed = np.zeros(count, dtype=bool)
        for start in rng.integers(0, count, rng.poisson(12)):
            disturbed[start : start + int(rng.exponential(150))] = True
        values[disturbed] *= rng.lognormal(1.5, 0.5, int(disturbed.sum()))
    elif kind == "outliers":
        drift = 0.03 * np.fromiter(_drift(rng, count // 500 + 1), np.float64)
        values = np.exp(8 + 0.1 * rng.normal(size=count) + np.repeat(drift, 500)[:count])
        values[rng.random(count) < 0.001] = 300_000
    else:
        assert kind == "levels"
        level = np.repeat(rng.normal(0, 0.2, count // 200 + 1), 200)[:count]
        values = np.exp(8 + level + 0.2 * rng.normal(size=count))
    if spikes != 1.0:
        values = np.where(values > np.quantile(values, 0.98), values * spikes, values)
    return values.astype(np.int64)


def _drift(rng: np.random.Generator, count: int) -> Iterator[float]:
    value = float(rng.normal())
    for noise in rng.normal(size=count) * np.sqrt(1 - 0.5**2):
        value = 0.5 * value + float(noise)
        yield value


def _autoregressive(rng: np.random.Generator, count: int) -> Iterator[float]:
    value = float(rng.normal())
    for noise in rng.normal(size=count) * np.sqrt(1 - 0.995**2):
        value = 0.995 * value + float(noise)
        yield value
