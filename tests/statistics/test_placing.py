# SPDX-License-Identifier: GPL-2.0-only
"""Where threads should run, and what a load does to them."""

import msgspec
import numpy as np
import pytest

from rtscope.model.histogram import Histogram
from rtscope.model.scaling import Placement
from rtscope.model.sweep import Sweep
from rtscope.statistics.placing import chosen, slowdowns
from tests.sweeps import ONE_NS, T2080, cell_of


@pytest.mark.parametrize("loaded_count", [2000, 40])
def test_a_load_that_leaves_few_samples_is_held_against_the_longest(loaded_count: int) -> None:
    """A 99th percentile is known of 2,000 samples and not of 40."""
    rng = np.random.default_rng(3)
    place = Placement((0,), 1)
    alone, loaded = (cell_of(rng, "app", place, 1e5, load=load) for load in ("idle", "disk"))
    few = [100_000] * (loaded_count - 1) + [400_000]
    many = [100_000] * 1999 + [400_000]
    alone = msgspec.structs.replace(alone, histogram=Histogram.of(many))
    loaded = msgspec.structs.replace(loaded, histogram=Histogram.of(few))
    (found,) = slowdowns(Sweep(T2080, [alone, loaded], 5), "app")
    assert found.tail.value == pytest.approx(1.0, rel=0.05)


@pytest.mark.parametrize(
    ("one_busy", "two_busy", "threads"),
    [(0.82, 1.0, 1), (1.0, 1.0, 1), (1.0, 1.9, 2), (0.3, 0.6, 2), (None, None, 2)],
)
def test_several_threads_are_chosen_only_if_they_ran_at_once(
    one_busy: float | None, two_busy: float | None, threads: int
) -> None:
    rng = np.random.default_rng(1)
    one = cell_of(rng, "app", Placement((0,), 1), 1.22 * ONE_NS)
    two = cell_of(rng, "app", Placement((0, 1), 2), ONE_NS)
    one = msgspec.structs.replace(one, busy_cpus=one_busy)
    two = msgspec.structs.replace(two, busy_cpus=two_busy)
    choice = chosen([one, two])
    assert choice is not None
    assert choice.best.placement.threads == threads
    assert choice.serial == ([two] if threads == 1 else [])
