# SPDX-License-Identifier: GPL-2.0-only
"""The samples of many runs together."""

import msgspec
import numpy as np
import pytest

from rtscope.model.histogram import Histogram
from rtscope.model.machine import Machine
from rtscope.model.reason import Reason
from rtscope.model.run import Asked, Run, Thread
from rtscope.statistics.metrics import quantile_ns
from rtscope.store.address import Place
from rtscope.store.database import found, opened, save
from rtscope.store.merging import Merged, merged_runs
from rtscope.store.search import Search
from tests.measured import Latencies, run_of, thread_of


def a_run(number: int, kernel: str, *threads: Latencies) -> Run:
    measured = [thread_of(latencies, cpu) for cpu, latencies in enumerate(threads)]
    machine = Machine(hostname="board", kernel_release=kernel)
    return run_of(*measured, id=f"{number:016x}", machine=machine)


def test_percentiles_are_those_of_all_samples_and_no_averages(place: Place) -> None:
    rng = np.random.default_rng(1)
    samples = [rng.integers(1000 * level, 2000 * level, 1500) for level in (1, 1, 1, 40)]
    save(a_run(1, "6.12", samples[0], samples[1]), place)
    save(a_run(2, "6.12", samples[2], samples[3]), place)
    save(a_run(3, "6.18", samples[0]), place)
    other, merged = merged_runs(opened(place), found(Search(), place))
    everything = np.concatenate(samples)
    assert (merged.host, merged.kernel, merged.probe, merged.load) == (
        "board", "6.12", "cyclic", "idle",
    )  # fmt: skip
    assert (merged.runs, merged.count, merged.max_ns) == (2, 6000, int(everything.max()))
    expected = [
        quantile_ns(Histogram.of(everything.tolist()), one.percent) for one in merged.quantiles
    ]
    assert [one.value_ns for one in merged.quantiles] == [one.value_ns for one in expected]
    assert merged.quantiles[1].value_ns is not None
    assert (other.kernel, other.runs, other.count) == ("6.18", 1, 1500)


def test_missed_periods_are_filled_in(place: Place) -> None:
    def stalled(number: int, missed: int) -> Run:
        thread = thread_of(np.array([5_000] * 1950 + [50_000_000] * (missed > 0)))
        run = a_run(number, "6.12")
        threads = [msgspec.structs.replace(thread, missed=missed)]
        return msgspec.structs.replace(run, threads=threads, asked=Asked(interval_ns=1_000_000))

    def merged() -> Merged:
        (found_one,) = merged_runs(opened(place), found(Search(), place))
        return found_one

    save(stalled(1, 0), place)
    assert merged().responses == []
    save(stalled(2, 49), place)
    plain, filled = merged().quantiles[1], merged().responses[1]
    assert (plain.percent, plain.value_ns, filled.percent) == (99.0, 5_000, 99.0)
    # 3950 responses, of which 50 are late: the 40th largest is a stall's eleventh
    assert filled.value_ns == pytest.approx(11e6, rel=0.1)
    save(stalled(3, 500), place)
    assert merged().responses[1].reason == Reason("missed-unexplained", 49, 500)


def test_runs_without_all_samples_have_no_percentiles(place: Place) -> None:
    whole = a_run(1, "6.12", np.arange(2000, 4000))
    save(whole, place)
    partial = Thread(0, 0, "fifo", 80, 100, Histogram(beyond_count=100, beyond_ns=9000))
    save(run_of(partial, id="2".zfill(16), machine=whole.machine), place)
    (merged,) = merged_runs(opened(place), found(Search(), place))
    assert (merged.runs, merged.count) == (2, 2100)
    assert [(one.value_ns, one.at_least) for one in merged.quantiles[:2]] == [
        (3049, False), (9000, True),
    ]  # fmt: skip
