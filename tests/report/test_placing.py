# SPDX-License-Identifier: GPL-2.0-only
"""Sharing that is known is found and named, and none is where there is none."""

import itertools

import msgspec
import numpy as np
import pytest

from rtscope.model.scaling import Placement
from rtscope.model.sweep import Sweep
from rtscope.statistics.placing import chosen, curves
from rtscope.statistics.scaling import Fit, Parameter
from rtscope.wording.advice import advice
from rtscope.wording.placement import law_text
from rtscope.wording.placing import findings, interference
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


def test_one_vector_unit_a_core_is_found_named_and_avoided() -> None:
    sweep = swept(T2080, vector_unit_a_core)
    scalar, vector = advice(sweep)
    assert scalar.startswith("Use CPUs 0-7 for 8 scalar threads: 5.9")
    assert vector.startswith("Use CPUs 0, 2, 4, 6 for 4 vector threads: 3.")
    assert "8 threads on CPUs 0-7 are 1.0" in vector
    assert "On CPUs 0-3 they take 1.8" in vector
    told = findings(sweep)
    assert any(
        text.startswith(
            "Two vector threads on CPUs 0-1, which share a core, take 1.9"
        ) and text.endswith("which share an L2 cache: the nearer two share what they need.")
        for text in told
    )  # fmt: skip
    assert any(
        text.startswith("CPUs 0-1 share a vector unit, or what feeds it: two vector threads")
        for text in told
    )
    assert not any("scalar threads on" in text for text in told)
    [bent] = [text for text in told if "Amdahl's law" in text]
    assert bent.startswith("Amdahl's law describes vector, cores first, up to 4 threads; 5 take 7")


def test_threads_beyond_the_best_are_told_with_what_they_cost() -> None:
    def crowded(workload: str, cpu: int, placement: Placement) -> float:
        return 0.4 if placement.threads > 4 else 1.0

    [text] = advice(swept(T2080, crowded, workloads=["scalar"]))
    assert text.startswith("Use CPUs 0, 2, 4, 6 for 4 scalar threads: ")
    assert " No evidence that they take longer on CPUs 0-3." in text
    assert " 8 threads on CPUs 0-7 take 1.2" in text
    assert " times as long as those, with " in text


@pytest.mark.parametrize("seed", range(20))
def test_where_nothing_is_shared_nothing_is_said_to_be(seed: int) -> None:
    sweep = swept(T2080, alike, seed=seed)
    assert findings(sweep) == []
    assert all("Use CPUs 0-7 for 8 " in text for text in advice(sweep))


def test_an_l2_that_a_cluster_shares_is_found() -> None:
    def cramped(workload: str, cpu: int, placement: Placement) -> float:
        return 1 / 1.58 if sum(one // 8 == cpu // 8 for one in placement.cpus) > 1 else 1.0

    told = findings(swept(T4240, cramped, counts=[1, 2, 3, 4], workloads=["scalar"]))
    assert any(
        text.startswith("Two scalar threads on CPUs 0, 2, which share an L2 cache, take 1.5")
        and "on CPUs 0, 8, which share a package" in text
        for text in told
    )


def test_two_threads_forced_on_one_cpu_are_found_to_take_turns() -> None:
    sweep = swept(machine_of(1, 1), alike, counts=[1, 2], workloads=["scalar"])
    assert advice(sweep) == ["Use CPU 0 for one scalar thread; more threads are not faster."]
    [text] = findings(sweep)
    assert text.startswith("2 scalar threads on CPU 0 are ")
    assert text.endswith("times as fast as one: they take turns at CPU 0 itself.")


def test_a_bucket_of_tokens_is_found_to_be_what_all_wait_for() -> None:
    sweep = swept(T2080, one_bucket, workloads=["./app"])
    [text] = findings(sweep)[-1:]
    assert "8 threads on CPUs 0-7 are 1.0" in text
    assert "they take turns at something that they share: a lock or a limit of the program" in text
    assert text.endswith(
        "Or a real-time program has one of the CPUs at times: rtscope threads lists those."
    )
    assert advice(sweep) == ["Use CPU 0 for one thread; more threads are not faster."]


def test_more_threads_than_cpus_take_turns_and_leave_the_laws_alone() -> None:
    sweep = swept(machine_of(2, 1), alike, counts=[1, 2, 4], workloads=["scalar"])
    [text] = findings(sweep)
    assert text.startswith("4 scalar threads on CPUs 0-1 are ")
    assert text.endswith("times as fast as 2: they take turns at the CPUs.")
    [curve] = curves(sweep)
    assert curve.amdahl is not None
    assert set(curve.amdahl.residuals) == {1, 2}
    assert curve.usl is None


def test_cores_of_different_speed_are_told() -> None:
    def big(workload: str, cpu: int, placement: Placement) -> float:
        return 1.0 if cpu >= 2 else 0.4

    sweep = swept(machine_of(4, 1, khz=[6, 6, 18, 18]), big, workloads=["scalar"])
    [unlike] = findings(sweep)
    assert unlike.startswith("One scalar thread takes 2.")
    assert " times as long on CPUs 0-1 as on CPUs 2-3: the CPUs are not alike" in unlike
    assert unlike.endswith("serial fraction is in part the wait for the slower CPUs.")
    [text] = advice(sweep)
    assert text.startswith("Use CPUs 2-3 for 2 scalar threads")
    assert text.endswith(" CPUs 2-3 are of the fast ones; CPUs 0-1 are slower.")
    assert all(
        law.endswith("; it takes CPUs 0-1 for as fast as the others")
        for law in laws_of(run_of_sweep(sweep))
    )


def test_the_law_that_ends_where_slow_cpus_begin_is_told_to_end_for_them() -> None:
    def big(workload: str, cpu: int, placement: Placement) -> float:
        return 1.0 if cpu >= 4 else 0.4

    sweep = swept(machine_of(8, 1, khz=[6] * 4 + [18] * 4), big, workloads=["scalar"])
    [bent, _] = findings(sweep)
    assert "up to 4 threads; 5 take" in bent
    assert bent.endswith("longer than it says, of which CPU 0 is slower by itself.")


def test_a_slow_cpu_of_which_the_kernel_says_nothing_is_told() -> None:
    def held_back(workload: str, cpu: int, placement: Placement) -> float:
        return 0.45 if cpu == 1 else 1.0

    sweep = swept(machine_of(2, 1), held_back, workloads=["scalar"], alone=True)
    [unlike] = findings(sweep)
    assert unlike.startswith("One scalar thread takes 2.2")
    assert "times as long on CPU 1 as on CPU 0: the CPUs are not alike" in unlike
    [text] = advice(sweep)
    assert text.startswith("Use CPU 0 for one scalar thread; more threads are not faster.")
    assert text.endswith(" CPU 0 is of the fast ones; CPU 1 is slower.")
    four = swept(machine_of(4, 1), held_back, workloads=["scalar"], alone=True)
    assert "on CPU 1 as on CPUs 0, 2-3" in findings(four)[-1]


def test_all_cpus_may_be_worth_it_though_some_are_slower() -> None:
    def slower(workload: str, cpu: int, placement: Placement) -> float:
        return 0.8 if cpu else 1.0

    [text] = advice(swept(machine_of(4, 1), slower, workloads=["scalar"], alone=True))
    assert text.startswith("Use CPUs 0-3 for 4 scalar threads")
    assert text.endswith(" CPU 0 is the fast one of these.")


@pytest.mark.parametrize("serial", [0.05, 0.2])
@pytest.mark.parametrize("slow", [1 / 1.8, 1 / 2.3])
def test_cpus_of_two_speeds_that_share_nothing_are_not_said_to(slow: float, serial: float) -> None:
    """A fast one that does the serial part for a slow one is no measure of what others share."""

    def little(workload: str, cpu: int, placement: Placement) -> float:
        return 1.0 if cpu < 2 else slow

    sweep = swept(machine_of(4, 1, 2), little, serial=serial, alone=True)
    assert not any("share" in text for text in findings(sweep))


def test_slow_cores_that_share_a_cache_are_not_slow_for_that() -> None:
    """As the efficient cores of a hybrid x86, four to an L2 cache."""

    def hybrid(workload: str, cpu: int, placement: Placement) -> float:
        return (0.4 if workload == "vector" else 0.55) if cpu >= 4 else 1.0

    machine = machine_of(8, 1, 2)
    apart = [cache for cache in machine.caches if cache.shared_by != [0, 1, 2, 3]]
    machine = msgspec.structs.replace(machine, caches=apart)
    sweep = swept(machine, hybrid, alone=True)
    assert {pair.placement.cpus for pair in sweep.pairs} == {(4, 5), (0, 1)}
    assert not any("share what they need" in text for text in findings(sweep))
    assert not any("share a vector unit" in text for text in findings(sweep))

    def crowded(workload: str, cpu: int, placement: Placement) -> float:
        return hybrid(workload, cpu, placement) / (1.5 if {4, 5} <= {*placement.cpus} else 1)

    told = [text for text in findings(swept(machine, crowded, alone=True)) if "share what" in text]
    assert [text[:34] for text in told] == [
        "Two scalar threads on CPUs 4-5, wh",
        "Two vector threads on CPUs 4-5, wh",
    ]


def test_one_cpu_leaves_nothing_to_choose_and_says_so() -> None:
    sweep = swept(machine_of(1, 1), alike, workloads=["scalar"])
    assert advice(sweep) == ["Only one scalar thread on CPU 0 was measured: nothing is to choose."]
    assert findings(sweep) == []


def test_an_offline_cpu_and_those_that_were_not_used_are_named() -> None:
    sweep = swept(machine_of(4, 2, offline=3), alike, counts=[1, 2], workloads=["scalar"])
    *_, offline, unused = findings(sweep)
    assert offline == "CPU 3 is offline."
    assert unused.startswith("Nothing ran on CPUs 4-7: not asked for, or outside the cpuset")


def test_two_sweeps_of_one_machine_name_the_same_sharing() -> None:
    def named(seed: int) -> list[str]:
        told = findings(swept(T2080, vector_unit_a_core, seed=seed))
        return [text.split(" take ")[0] for text in told if "which share" in text]

    assert named(1) == named(2) != []


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


def test_who_disturbs_is_told_worst_first_and_who_does_not_is_not_accused() -> None:
    told = interference(beside({"idle": 1, "cpu": 1, "cache": 1.4, "memory": 2.0, "disk": 1.02}))
    assert told[0].startswith("./app takes 2.0")
    assert told[0].endswith("times as long beside memory on CPU 0.")
    assert "beside cache on CPU 0" in told[1]
    assert told[2] == "No evidence that ./app suffers 5 % or more from disk, cpu."
    assert len(told) == 3


def test_loads_without_effect_are_seldom_called_disturbing() -> None:
    quiet = {"idle": 1.0, **{f"load{n}": 1.0 for n in range(6)}}
    accused = sum(len(interference(beside(quiet, seed))) > 1 for seed in range(100))
    assert accused == 0


def test_a_sweep_that_was_interrupted_before_the_first_cell_to_compare_with_says_so() -> None:
    sweep = swept(machine_of(2, 1), alike, workloads=["scalar"])
    several = [cell for cell in sweep.cells if cell.placement.threads > 1]
    assert advice(msgspec.structs.replace(sweep, cells=several)) == [
        "One scalar thread alone was not measured: nothing is advised."
    ]
    loaded = beside({"idle": 1, "memory": 2.0})
    assert interference(msgspec.structs.replace(loaded, cells=loaded.cells[1:])) == [
        "./app was not measured alone: nothing is said of what disturbs it."
    ]


def test_one_round_is_not_enough_to_call_anything() -> None:
    sweep = beside({"idle": 1, "memory": 2.0})
    cells = [msgspec.structs.replace(cell, medians_ns=cell.medians_ns[:1]) for cell in sweep.cells]
    told = interference(msgspec.structs.replace(sweep, cells=cells, rounds=1))
    assert told == [
        "Too few data to say whether ./app suffers from memory. Give more --rounds than 1."
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


def test_two_noisy_rounds_are_too_few_to_recommend_anything() -> None:
    sweep = swept(machine_of(2, 1), alike, workloads=["scalar"])
    assert advice(sweep)[0].startswith("Use CPUs 0-1 for 2 scalar threads: ")
    told = [advice(shaken(sweep, 0.5, seed, rounds=2))[0] for seed in range(20)]
    few = [text for text in told if text.startswith("Too few data to say how many scalar threads")]
    assert len(few) > 16
    assert all(text.endswith("Give more --rounds than 2.") for text in few)


def test_two_noisy_sweeps_recommend_the_same_or_say_that_they_cannot_tell() -> None:
    machine = machine_of(4, 1)
    told = []
    for seed in range(20):
        sweep = shaken(swept(machine, alike, workloads=["scalar"]), 0.5, seed)
        choice = chosen(sweep.cells)
        assert choice is not None
        told.append((choice, advice(sweep)[0].startswith("Use")))
    sure = [choice for choice, is_sure in told if is_sure]
    assert 3 < len(sure) < 20
    for one, other in itertools.combinations(sure, 2):
        counts = {one.best.placement.threads, other.best.placement.threads}
        assert len(counts) == 1 or counts & {*one.undecided, *other.undecided}


def test_of_many_places_that_are_alike_none_is_called_slower() -> None:
    """Against the quickest of 20 each alone would seem slower in many a sweep."""
    accused = 0
    for seed in range(40):
        rng = np.random.default_rng(seed)
        places = [Placement((cpu,), 1) for cpu in range(20)]
        cells = [cell_of(rng, "scalar", place, ONE_NS) for place in places]
        sweep = shaken(Sweep(machine_of(20, 1), cells, 5), 0.1, seed)
        [text] = advice(sweep)
        assert text.startswith("Use CPU 0 for one scalar thread.")
        assert "No evidence that it takes longer on CPU " in text
        accused += "times as long" in text or bool(findings(sweep))
    assert accused < 6


@pytest.mark.parametrize(
    ("least", "slower"), [(1.06, True), (None, True), (0.9, False), (0.0, False)]
)
def test_a_serial_fraction_above_all_is_explained(least: float | None, slower: bool) -> None:
    high = None if least is None else 1.2
    fraction = Parameter(1.1, least, high)
    law = Fit("Amdahl", Parameter(1e6, None, None), fraction, None, {}, None)
    assert ("several threads are slower than one" in law_text(law)) is slower
