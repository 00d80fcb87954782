# SPDX-License-Identifier: GPL-2.0-only
"""Known sharing is found and named, and none is found where there is none."""

import itertools
from collections.abc import Callable, Sequence
from typing import TypeVar

import msgspec
import numpy as np
import pytest

from rtscope.model import placement_finding as placement
from rtscope.model.finding import CpusNotMeasured, Finding
from rtscope.model.histogram import Histogram
from rtscope.model.machine import Machine
from rtscope.model.placement_finding import BestPlacement, Interference, NearCpusSlower, SlowCpus
from rtscope.model.placement_series import MeasuredSeries
from rtscope.model.scaling import Placement
from rtscope.statistics.placement_findings import advice, placement_findings
from rtscope.statistics.placing import chosen, curves, slowdowns
from rtscope.statistics.scaling import Fit, Parameter
from rtscope.wording.placement import law_text
from rtscope.wording.placement_series import laws_of
from tests import placements
from tests.placements import ONE_NS, T2080, alike, cell_of, machine_of, measured_on

Kind = TypeVar("Kind", bound=Finding)
Speed = Callable[[str, int, Placement], float]


def of_kind(found: list[Finding], kind: type[Kind]) -> list[Kind]:
    return [one for one in found if isinstance(one, kind)]


def best(series: MeasuredSeries) -> BestPlacement:
    """The best placement of the only workload."""
    [found] = advice(series)
    assert isinstance(found, BestPlacement)
    return found


def by_cpu(*speeds: float) -> Speed:
    """CPUs of these speeds, whatever runs on the others."""
    return lambda workload, cpu, place: speeds[cpu]


def scalar(machine: Machine, speed: Speed, counts: Sequence[int] | None = None) -> MeasuredSeries:
    """One workload, and each CPU alone unless the counts are given."""
    return measured_on(machine, speed, counts=counts, workloads=["scalar"], alone=counts is None)


def test_one_vector_unit_per_core_is_found_and_avoided() -> None:
    series = measured_on(T2080, placements.vector_unit_a_core)
    on_all, vector = of_kind(advice(series), BestPlacement)
    assert (on_all.best.cpus, on_all.best.count) == ([*range(8)], 8)
    assert on_all.speedup is not None
    assert 5.8 < on_all.speedup.value < 6.1
    assert (vector.best.cpus, vector.best.count) == ([0, 2, 4, 6], 4)
    assert vector.largest is not None
    assert (vector.largest.threads.cpus, vector.largest.is_slower) == ([*range(8)], False)
    assert vector.elsewhere.slowest is not None
    assert vector.elsewhere.slowest.cpus == [0, 1, 2, 3]
    found = placement_findings(series)
    near = of_kind(found, NearCpusSlower)
    assert {one.workload for one in near} == {"vector"}
    [first] = [one for one in near if one.near == [0, 1]]
    assert (first.near_share, first.far_share) == ("core", "L2 cache")
    assert 1.85 < first.slowdown.value < 2.05
    assert [0, 1] in [one.cpus for one in of_kind(found, placement.VectorUnitShared)]
    [law] = of_kind(found, placement.LawFails)
    assert (law.workload, law.order, law.up_to, law.beyond) == ("vector", "cores first", 4, 5)
    again = placement_findings(measured_on(T2080, placements.vector_unit_a_core, seed=2))
    assert [one.near for one in of_kind(again, NearCpusSlower)] == [one.near for one in near]


def test_the_largest_number_of_threads_is_compared_with_the_best() -> None:
    found = best(scalar(T2080, lambda workload, cpu, place: 0.4 if place.threads > 4 else 1.0))
    assert found.best.cpus == [0, 2, 4, 6]
    assert [0, 1, 2, 3] in [one.cpus for one in found.elsewhere.as_fast]
    assert found.largest is not None
    assert (found.largest.threads.count, found.largest.is_slower) == (8, True)


@pytest.mark.parametrize("seed", range(20))
def test_where_nothing_is_shared_nothing_is_found(seed: int) -> None:
    series = measured_on(T2080, alike, seed=seed)
    assert placement_findings(series) == []
    assert [found.best.count for found in of_kind(advice(series), BestPlacement)] == [8, 8]


def test_an_l2_cache_of_a_cluster_is_found() -> None:
    def cramped(workload: str, cpu: int, place: Placement) -> float:
        return 1 / 1.58 if sum(one // 8 == cpu // 8 for one in place.cpus) > 1 else 1.0

    near = of_kind(
        placement_findings(scalar(placements.T4240, cramped, [1, 2, 3, 4])), NearCpusSlower
    )
    assert ([0, 2], "L2 cache", [0, 8], "package") in [
        (one.near, one.near_share, one.far, one.far_share) for one in near
    ]


@pytest.mark.parametrize(
    ("series", "cpus", "threads", "than"),
    [
        (measured_on(machine_of(1, 1), alike, counts=[1, 2], workloads=["scalar"]), [0], 2, 1),
        (
            measured_on(machine_of(2, 1), alike, counts=[1, 2, 4], workloads=["scalar"]),
            [0, 1],
            4,
            2,
        ),
        (measured_on(T2080, placements.one_bucket, workloads=["./app"]), [*range(8)], 8, 1),
    ],
    ids=["one-cpu", "more-threads-than-cpus", "one-lock"],
)
def test_threads_that_take_turns(
    series: MeasuredSeries, cpus: list[int], threads: int, than: int
) -> None:
    [found] = of_kind(placement_findings(series), placement.ThreadsTakeTurns)
    assert (found.threads.cpus, found.threads.count, found.than) == (cpus, threads, than)
    advised = best(series)
    assert (advised.several_not_faster, advised.best.count) == (than == 1, than)
    assert curves(series)[0].usl is None or than == 1


@pytest.mark.parametrize(
    ("machine", "speeds", "slow", "fast", "best_cpus"),
    [
        (machine_of(4, 1, khz=[6, 6, 18, 18]), (0.4, 0.4, 1, 1), [0, 1], [2, 3], [2, 3]),
        (machine_of(2, 1), (1, 0.45), [1], [0], [0]),
        (machine_of(4, 1), (1, 0.45, 1, 1), [1], [0, 2, 3], [0, 1, 2, 3]),
        (machine_of(4, 1), (1, 0.8, 0.8, 0.8), [1, 2, 3], [0], [0, 1, 2, 3]),
    ],
    ids=["reported", "one-of-two", "one-of-four", "all-are-best"],
)
def test_slow_cpus_are_found_and_left_out_where_they_cost(
    machine: Machine,
    speeds: tuple[float, ...],
    slow: list[int],
    fast: list[int],
    best_cpus: list[int],
) -> None:
    series = scalar(machine, by_cpu(*speeds))
    [unlike] = of_kind(placement_findings(series), SlowCpus)
    assert (unlike.slow, unlike.fast, unlike.is_one_value) == (slow, fast, len(slow) == 1)
    assert unlike.slowdown.value == pytest.approx(1 / min(speeds), rel=0.1)
    advised = best(series)
    assert (advised.best.cpus, advised.several_not_faster) == (best_cpus, best_cpus == [0])


def test_a_law_that_fails_at_slow_cpus_names_them() -> None:
    machine = machine_of(8, 1, khz=[6] * 4 + [18] * 4)
    series = scalar(machine, by_cpu(*[0.4] * 4, *[1.0] * 4), range(1, 9))
    [law] = of_kind(placement_findings(series), placement.LawFails)
    assert (law.up_to, law.beyond, law.slow_cpus) == (4, 5, [0])
    laws = laws_of(placements.run_of_series(series))
    assert laws
    assert all(law.endswith("; it takes CPUs 0-3 for as fast as the others") for law in laws)


@pytest.mark.parametrize("serial", [0.05, 0.2])
@pytest.mark.parametrize("slow", [1 / 1.8, 1 / 2.3])
def test_cpus_of_two_speeds_share_nothing_for_that(slow: float, serial: float) -> None:
    """A fast CPU that does the serial part for a slow one hides the slow one's time."""
    series = measured_on(machine_of(4, 1, 2), by_cpu(1, 1, slow, slow), serial=serial, alone=True)
    found = placement_findings(series)
    assert not of_kind(found, NearCpusSlower)
    assert not of_kind(found, placement.VectorUnitShared)


def test_slow_cores_that_share_a_cache_are_not_slow_because_of_it() -> None:
    """Like the efficient cores of a hybrid x86, four to an L2 cache."""

    def hybrid(workload: str, cpu: int, place: Placement) -> float:
        return (0.4 if workload == "vector" else 0.55) if cpu >= 4 else 1.0

    def crowded(workload: str, cpu: int, place: Placement) -> float:
        return hybrid(workload, cpu, place) / (1.5 if {4, 5} <= {*place.cpus} else 1)

    machine = machine_of(8, 1, 2)
    apart = [cache for cache in machine.caches if cache.shared_by != [0, 1, 2, 3]]
    machine = msgspec.structs.replace(machine, caches=apart)
    series = measured_on(machine, hybrid, alone=True)
    assert {pair.placement.cpus for pair in series.pairs} == {(4, 5), (0, 1)}
    found = placement_findings(series)
    assert not of_kind(found, NearCpusSlower)
    assert not of_kind(found, placement.VectorUnitShared)
    near = of_kind(placement_findings(measured_on(machine, crowded, alone=True)), NearCpusSlower)
    assert [(one.workload, one.near) for one in near] == [("scalar", [4, 5]), ("vector", [4, 5])]


def test_cpus_that_were_not_measured_are_named_and_one_cpu_leaves_no_choice() -> None:
    found = placement_findings(scalar(machine_of(4, 2, offline=3), alike, [1, 2]))
    assert of_kind(found, CpusNotMeasured) == [
        CpusNotMeasured(cpus=[3], offline=True),
        CpusNotMeasured(cpus=[4, 5, 6, 7], offline=False),
    ]
    alone = scalar(machine_of(1, 1), alike)
    assert placement_findings(alone) == []
    assert [type(one) for one in advice(alone)] == [placement.OnlyPlacement]


@pytest.mark.parametrize(
    ("least", "slower"), [(1.06, True), (None, True), (0.9, False), (0.0, False)]
)
def test_a_serial_fraction_above_all_is_explained(least: float | None, slower: bool) -> None:
    fraction = Parameter(1.1, least, None if least is None else 1.2)
    law = law_text(Fit("Amdahl", Parameter(1e6, None, None), fraction, None, {}, None))
    assert "serial fraction " in law
    assert ("several threads are slower than one" in law) is slower


def with_loads(times: dict[str, float], seed: int = 3) -> MeasuredSeries:
    rng = np.random.default_rng(seed)
    place = Placement((1,), 1)
    cells = [
        cell_of(rng, "./app", place, ONE_NS * slower, load=load) for load, slower in times.items()
    ]
    return MeasuredSeries(machine_of(2, 1), cells, 5, load_cpus=[0])


def test_loads_that_slow_a_program_are_found_worst_first_and_others_are_not() -> None:
    series = with_loads({"idle": 1, "cpu": 1, "cache": 1.4, "memory": 2.0, "disk": 1.02})
    memory, cache, rest = advice(series)
    assert isinstance(memory, Interference)
    assert isinstance(cache, Interference)
    assert (memory.load, memory.load_cpus, cache.load) == ("memory", [0], "cache")
    assert 1.95 < memory.slowdown.value < 2.1
    assert rest == placement.NoInterference(workload="./app", loads=["disk", "cpu"])
    one_round = [
        msgspec.structs.replace(cell, medians_ns=cell.medians_ns[:1]) for cell in series.cells[:3:2]
    ]
    assert advice(msgspec.structs.replace(series, cells=one_round, rounds=1)) == [
        placement.InterferenceUndecided(
            severity="undecided", workload="./app", loads=["cache"], at_most=None, rounds=1
        )
    ]
    assert advice(msgspec.structs.replace(series, cells=series.cells[1:])) == [
        placement.NoBaseline(workload="./app")
    ]
    threads = scalar(machine_of(2, 1), alike)
    several = [cell for cell in threads.cells if cell.placement.threads > 1]
    assert advice(msgspec.structs.replace(threads, cells=several)) == [
        placement.NoSingleThread(workload="scalar")
    ]


def test_loads_without_effect_are_seldom_found() -> None:
    quiet = {"idle": 1.0, **{f"load{n}": 1.0 for n in range(6)}}
    assert not any(of_kind(advice(with_loads(quiet, seed)), Interference) for seed in range(100))


@pytest.mark.parametrize("loaded_count", [2000, 40])
def test_a_load_that_leaves_few_samples_is_compared_by_the_longest(loaded_count: int) -> None:
    """A 99th percentile is known of 2,000 samples and not of 40."""
    series = with_loads({"idle": 1, "disk": 1})
    cells = [
        msgspec.structs.replace(cell, histogram=Histogram.of([100_000] * (count - 1) + [400_000]))
        for cell, count in zip(series.cells, (2000, loaded_count), strict=True)
    ]
    (found,) = slowdowns(msgspec.structs.replace(series, cells=cells), "./app")
    assert found.tail.value == pytest.approx(1.0, rel=0.05)


def shaken(series: MeasuredSeries, noise: float, seed: int, rounds: int = 5) -> MeasuredSeries:
    """The series on a system that is as noisy from round to round."""
    rng = np.random.default_rng(seed)
    cells = [
        msgspec.structs.replace(
            cell,
            medians_ns=[
                ns * float(np.exp(rng.normal(0, noise))) for ns in cell.medians_ns[:rounds]
            ],
        )
        for cell in series.cells
    ]
    return msgspec.structs.replace(series, cells=cells, rounds=rounds)


def test_two_noisy_rounds_recommend_nothing() -> None:
    series = scalar(machine_of(2, 1), alike)
    assert best(series).best.cpus == [0, 1]
    noisy = [advice(shaken(series, 0.5, seed, rounds=2)) for seed in range(20)]
    assert sum(bool(of_kind(found, placement.PlacementUndecided)) for found in noisy) > 16


def test_two_noisy_series_recommend_the_same_or_nothing() -> None:
    sure = []
    for seed in range(20):
        series = shaken(measured_on(machine_of(4, 1), alike, workloads=["scalar"]), 0.5, seed)
        choice = chosen(series.cells)
        assert choice is not None
        if of_kind(advice(series), BestPlacement):
            sure.append(choice)
    assert 3 < len(sure) < 20
    for one, other in itertools.combinations(sure, 2):
        counts = {one.best.placement.threads, other.best.placement.threads}
        assert len(counts) == 1 or counts & {*one.undecided, *other.undecided}


def test_of_many_equal_places_none_is_called_slower() -> None:
    """Compared with the fastest of 20, each alone would often seem slower."""
    accused = 0
    for seed in range(40):
        rng = np.random.default_rng(seed)
        cells = [cell_of(rng, "scalar", Placement((cpu,), 1), ONE_NS) for cpu in range(20)]
        series = shaken(MeasuredSeries(machine_of(20, 1), cells, 5), 0.1, seed)
        found = best(series)
        assert found.best.cpus == [0]
        assert found.elsewhere.as_fast
        accused += bool(found.elsewhere.slowest or placement_findings(series))
    assert accused < 6


@pytest.mark.parametrize(
    ("one_busy", "two_busy", "threads"),
    [(0.82, 1.0, 1), (1.0, 1.0, 1), (1.0, 1.9, 2), (0.3, 0.6, 2), (None, None, 2)],
)
def test_threads_have_to_run_at_once(
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
