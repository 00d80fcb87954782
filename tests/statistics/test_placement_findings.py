# SPDX-License-Identifier: GPL-2.0-only
"""Known sharing is found and named, and none is found where there is none."""

import itertools
from typing import TypeVar

import msgspec
import numpy as np
import pytest

from rtscope.model.finding import CpusNotMeasured, Finding
from rtscope.model.machine import Machine
from rtscope.model.placement_finding import (
    BestPlacement,
    Interference,
    InterferenceUndecided,
    LawFails,
    NearCpusSlower,
    NoBaseline,
    NoInterference,
    NoSingleThread,
    OnlyPlacement,
    PlacementUndecided,
    SlowCpus,
    ThreadsTakeTurns,
    VectorUnitShared,
)
from rtscope.model.scaling import Placement
from rtscope.model.sweep import Sweep
from rtscope.statistics.placement_findings import advice, placement_findings
from rtscope.statistics.placing import chosen, curves
from rtscope.statistics.scaling import Fit, Parameter
from rtscope.wording.placement import law_text
from rtscope.wording.sweep import laws_of
from tests.sweeps import (
    ONE_NS,
    T2080,
    T4240,
    alike,
    cell_of,
    machine_of,
    one_bucket,
    run_of_sweep,
    swept,
    vector_unit_a_core,
)

Kind = TypeVar("Kind", bound=Finding)


def best(found: Finding) -> BestPlacement:
    assert isinstance(found, BestPlacement)
    return found


def of_kind(found: list[Finding], kind: type[Kind]) -> list[Kind]:
    return [one for one in found if isinstance(one, kind)]


def test_one_vector_unit_per_core_is_found_and_avoided() -> None:
    sweep = swept(T2080, vector_unit_a_core)
    scalar, vector = map(best, advice(sweep))
    assert (scalar.best.cpus, scalar.best.count) == ([*range(8)], 8)
    assert scalar.speedup is not None
    assert 5.8 < scalar.speedup.value < 6.1
    assert (vector.best.cpus, vector.best.count) == ([0, 2, 4, 6], 4)
    assert vector.largest is not None
    assert (vector.largest.threads.cpus, vector.largest.is_slower) == ([*range(8)], False)
    assert vector.elsewhere.slowest is not None
    assert vector.elsewhere.slowest.cpus == [0, 1, 2, 3]
    found = placement_findings(sweep)
    near = of_kind(found, NearCpusSlower)
    assert {one.workload for one in near} == {"vector"}
    [first] = [one for one in near if one.near == [0, 1]]
    assert (first.near_share, first.far_share) == ("core", "L2 cache")
    assert 1.85 < first.slowdown.value < 2.05
    assert [0, 1] in [one.cpus for one in of_kind(found, VectorUnitShared)]
    [law] = of_kind(found, LawFails)
    assert (law.workload, law.order, law.up_to, law.beyond) == ("vector", "cores first", 4, 5)


def test_the_largest_number_of_threads_is_compared_with_the_best() -> None:
    def crowded(workload: str, cpu: int, placement: Placement) -> float:
        return 0.4 if placement.threads > 4 else 1.0

    [found] = map(best, advice(swept(T2080, crowded, workloads=["scalar"])))
    assert found.best.cpus == [0, 2, 4, 6]
    assert [0, 1, 2, 3] in [one.cpus for one in found.elsewhere.as_fast]
    assert found.largest is not None
    assert (found.largest.threads.count, found.largest.is_slower) == (8, True)


@pytest.mark.parametrize("seed", range(20))
def test_where_nothing_is_shared_nothing_is_found(seed: int) -> None:
    sweep = swept(T2080, alike, seed=seed)
    assert placement_findings(sweep) == []
    assert [found.best.count for found in map(best, advice(sweep))] == [8, 8]


def test_an_l2_cache_of_a_cluster_is_found() -> None:
    def cramped(workload: str, cpu: int, placement: Placement) -> float:
        return 1 / 1.58 if sum(one // 8 == cpu // 8 for one in placement.cpus) > 1 else 1.0

    sweep = swept(T4240, cramped, counts=[1, 2, 3, 4], workloads=["scalar"])
    near = of_kind(placement_findings(sweep), NearCpusSlower)
    assert ([0, 2], "L2 cache", [0, 8], "package") in [
        (one.near, one.near_share, one.far, one.far_share) for one in near
    ]


@pytest.mark.parametrize(
    ("machine", "counts", "workload", "cpus", "threads", "than"),
    [
        (machine_of(1, 1), [1, 2], "scalar", [0], 2, 1),
        (machine_of(2, 1), [1, 2, 4], "scalar", [0, 1], 4, 2),
        (T2080, None, "./app", [*range(8)], 8, 1),
    ],
    ids=["one-cpu", "more-threads-than-cpus", "one-lock"],
)
def test_threads_that_take_turns_are_found(
    machine: Machine,
    counts: list[int] | None,
    workload: str,
    cpus: list[int],
    threads: int,
    than: int,
) -> None:
    speed = one_bucket if workload == "./app" else alike
    sweep = swept(machine, speed, counts=counts, workloads=[workload])
    [found] = of_kind(placement_findings(sweep), ThreadsTakeTurns)
    assert (found.threads.cpus, found.threads.count, found.than) == (cpus, threads, than)
    [advised] = map(best, advice(sweep))
    assert advised.several_not_faster is (than == 1)
    assert advised.best.count == than
    [curve] = curves(sweep)[:1]
    assert curve.usl is None or than == 1


def test_cores_of_different_speed_are_found() -> None:
    def big(workload: str, cpu: int, placement: Placement) -> float:
        return 1.0 if cpu >= 2 else 0.4

    sweep = swept(machine_of(4, 1, khz=[6, 6, 18, 18]), big, workloads=["scalar"])
    [unlike] = of_kind(placement_findings(sweep), SlowCpus)
    assert (unlike.slow, unlike.fast) == ([0, 1], [2, 3])
    assert 2.3 < unlike.slowdown.value < 2.7
    [advised] = map(best, advice(sweep))
    assert (advised.best.cpus, advised.fast_cpus, advised.slow_cpus) == ([2, 3], [2, 3], [0, 1])
    assert all(
        law.endswith("; it takes CPUs 0-1 for as fast as the others")
        for law in laws_of(run_of_sweep(sweep))
    )


def test_a_law_that_fails_at_slow_cpus_names_them() -> None:
    def big(workload: str, cpu: int, placement: Placement) -> float:
        return 1.0 if cpu >= 4 else 0.4

    sweep = swept(machine_of(8, 1, khz=[6] * 4 + [18] * 4), big, workloads=["scalar"])
    [law] = of_kind(placement_findings(sweep), LawFails)
    assert (law.up_to, law.beyond, law.slow_cpus) == (4, 5, [0])


def test_a_slow_cpu_that_the_kernel_does_not_report_is_found() -> None:
    def held_back(workload: str, cpu: int, placement: Placement) -> float:
        return 0.45 if cpu == 1 else 1.0

    sweep = swept(machine_of(2, 1), held_back, workloads=["scalar"], alone=True)
    [unlike] = of_kind(placement_findings(sweep), SlowCpus)
    assert (unlike.slow, unlike.fast, unlike.is_one_value) == ([1], [0], True)
    [advised] = map(best, advice(sweep))
    assert (advised.best.cpus, advised.several_not_faster) == ([0], True)
    four = swept(machine_of(4, 1), held_back, workloads=["scalar"], alone=True)
    assert of_kind(placement_findings(four), SlowCpus)[0].fast == [0, 2, 3]


def test_all_cpus_may_be_best_though_some_are_slower() -> None:
    def slower(workload: str, cpu: int, placement: Placement) -> float:
        return 0.8 if cpu else 1.0

    sweep = swept(machine_of(4, 1), slower, workloads=["scalar"], alone=True)
    [advised] = map(best, advice(sweep))
    assert (advised.best.cpus, advised.fast_cpus) == ([0, 1, 2, 3], [0])


@pytest.mark.parametrize("serial", [0.05, 0.2])
@pytest.mark.parametrize("slow", [1 / 1.8, 1 / 2.3])
def test_cpus_of_two_speeds_share_nothing_for_that(slow: float, serial: float) -> None:
    """A fast CPU that does the serial part for a slow one hides the slow one's time."""

    def little(workload: str, cpu: int, placement: Placement) -> float:
        return 1.0 if cpu < 2 else slow

    sweep = swept(machine_of(4, 1, 2), little, serial=serial, alone=True)
    found = placement_findings(sweep)
    assert not of_kind(found, NearCpusSlower)
    assert not of_kind(found, VectorUnitShared)


def test_slow_cores_that_share_a_cache_are_not_slow_because_of_it() -> None:
    """Like the efficient cores of a hybrid x86, four to an L2 cache."""

    def hybrid(workload: str, cpu: int, placement: Placement) -> float:
        return (0.4 if workload == "vector" else 0.55) if cpu >= 4 else 1.0

    machine = machine_of(8, 1, 2)
    apart = [cache for cache in machine.caches if cache.shared_by != [0, 1, 2, 3]]
    machine = msgspec.structs.replace(machine, caches=apart)
    sweep = swept(machine, hybrid, alone=True)
    assert {pair.placement.cpus for pair in sweep.pairs} == {(4, 5), (0, 1)}
    found = placement_findings(sweep)
    assert not of_kind(found, NearCpusSlower)
    assert not of_kind(found, VectorUnitShared)

    def crowded(workload: str, cpu: int, placement: Placement) -> float:
        return hybrid(workload, cpu, placement) / (1.5 if {4, 5} <= {*placement.cpus} else 1)

    near = of_kind(placement_findings(swept(machine, crowded, alone=True)), NearCpusSlower)
    assert [(one.workload, one.near) for one in near] == [("scalar", [4, 5]), ("vector", [4, 5])]


def test_one_cpu_leaves_no_choice() -> None:
    sweep = swept(machine_of(1, 1), alike, workloads=["scalar"])
    [only] = advice(sweep)
    assert isinstance(only, OnlyPlacement)
    assert placement_findings(sweep) == []


def test_cpus_that_were_not_measured_are_named() -> None:
    sweep = swept(machine_of(4, 2, offline=3), alike, counts=[1, 2], workloads=["scalar"])
    assert of_kind(placement_findings(sweep), CpusNotMeasured) == [
        CpusNotMeasured(cpus=[3], offline=True),
        CpusNotMeasured(cpus=[4, 5, 6, 7], offline=False),
    ]


def test_two_series_of_one_machine_find_the_same_sharing() -> None:
    def near(seed: int) -> list[tuple[str, list[int]]]:
        found = placement_findings(swept(T2080, vector_unit_a_core, seed=seed))
        return [(one.workload, one.near) for one in of_kind(found, NearCpusSlower)]

    assert near(1) == near(2) != []


def test_a_serial_fraction_is_told_with_its_limits() -> None:
    [curve, *_] = curves(swept(T2080, alike, workloads=["scalar"]))
    assert curve.amdahl is not None
    assert curve.amdahl.holds
    assert law_text(curve.amdahl).startswith("one thread 4")
    assert "serial fraction " in law_text(curve.amdahl)
    assert curve.usl is not None
    assert curve.usl.coherency is not None
    assert abs(curve.usl.coherency.value) < 0.002


def beside(times: dict[str, float], seed: int = 3) -> Sweep:
    rng = np.random.default_rng(seed)
    place = Placement((1,), 1)
    cells = [
        cell_of(rng, "./app", place, ONE_NS * slower, load=load) for load, slower in times.items()
    ]
    return Sweep(machine_of(2, 1), cells, 5, load_cpus=[0])


def test_loads_that_slow_a_program_are_found_worst_first_and_others_are_not() -> None:
    found = advice(beside({"idle": 1, "cpu": 1, "cache": 1.4, "memory": 2.0, "disk": 1.02}))
    slow = of_kind(found, Interference)
    assert [(one.load, one.load_cpus) for one in slow] == [("memory", [0]), ("cache", [0])]
    assert 1.95 < slow[0].slowdown.value < 2.1
    assert of_kind(found, NoInterference) == [
        NoInterference(workload="./app", loads=["disk", "cpu"])
    ]
    assert len(found) == 3


def test_loads_without_effect_are_seldom_found() -> None:
    quiet = {"idle": 1.0, **{f"load{n}": 1.0 for n in range(6)}}
    assert not any(of_kind(advice(beside(quiet, seed)), Interference) for seed in range(100))


def test_a_series_without_the_cell_to_compare_with_says_so() -> None:
    sweep = swept(machine_of(2, 1), alike, workloads=["scalar"])
    several = [cell for cell in sweep.cells if cell.placement.threads > 1]
    assert advice(msgspec.structs.replace(sweep, cells=several)) == [
        NoSingleThread(workload="scalar")
    ]
    loaded = beside({"idle": 1, "memory": 2.0})
    assert advice(msgspec.structs.replace(loaded, cells=loaded.cells[1:])) == [
        NoBaseline(workload="./app")
    ]


def test_one_round_does_not_decide() -> None:
    sweep = beside({"idle": 1, "memory": 2.0})
    cells = [msgspec.structs.replace(cell, medians_ns=cell.medians_ns[:1]) for cell in sweep.cells]
    assert advice(msgspec.structs.replace(sweep, cells=cells, rounds=1)) == [
        InterferenceUndecided(
            severity="undecided", workload="./app", loads=["memory"], at_most=None, rounds=1
        )
    ]


def shaken(sweep: Sweep, noise: float, seed: int, rounds: int = 5) -> Sweep:
    """The sweep on a machine that is as noisy from round to round."""
    rng = np.random.default_rng(seed)
    cells = [
        msgspec.structs.replace(
            cell,
            medians_ns=[
                ns * float(np.exp(rng.normal(0, noise))) for ns in cell.medians_ns[:rounds]
            ],
        )
        for cell in sweep.cells
    ]
    return msgspec.structs.replace(sweep, cells=cells, rounds=rounds)


def test_two_noisy_rounds_recommend_nothing() -> None:
    sweep = swept(machine_of(2, 1), alike, workloads=["scalar"])
    assert best(advice(sweep)[0]).best.cpus == [0, 1]
    noisy = [advice(shaken(sweep, 0.5, seed, rounds=2)) for seed in range(20)]
    assert sum(bool(of_kind(found, PlacementUndecided)) for found in noisy) > 16


def test_two_noisy_series_recommend_the_same_or_nothing() -> None:
    machine = machine_of(4, 1)
    sure = []
    for seed in range(20):
        sweep = shaken(swept(machine, alike, workloads=["scalar"]), 0.5, seed)
        choice = chosen(sweep.cells)
        assert choice is not None
        if of_kind(advice(sweep), BestPlacement):
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
        places = [Placement((cpu,), 1) for cpu in range(20)]
        cells = [cell_of(rng, "scalar", place, ONE_NS) for place in places]
        sweep = shaken(Sweep(machine_of(20, 1), cells, 5), 0.1, seed)
        [found] = map(best, advice(sweep))
        assert found.best.cpus == [0]
        assert found.elsewhere.as_fast
        accused += bool(found.elsewhere.slowest or placement_findings(sweep))
    assert accused < 6


@pytest.mark.parametrize(
    ("least", "slower"), [(1.06, True), (None, True), (0.9, False), (0.0, False)]
)
def test_a_serial_fraction_above_all_is_explained(least: float | None, slower: bool) -> None:
    high = None if least is None else 1.2
    fraction = Parameter(1.1, least, high)
    law = Fit("Amdahl", Parameter(1e6, None, None), fraction, None, {}, None)
    assert ("several threads are slower than one" in law_text(law)) is slower
