"""A tail beside a load is held against the same figure without one."""

import msgspec
import numpy as np
import pytest

from rtscope.model.histogram import Histogram
from rtscope.model.scaling import Placement
from rtscope.model.sweep import Sweep
from rtscope.statistics.placing import slowdowns
from tests.sweeps import T2080, cell_of


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
