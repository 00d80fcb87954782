"""Sharing that is known is found and named, and none is where there is none."""

import msgspec
import numpy as np
import pytest

from rtscope.model.scaling import Placement, Sweep
from rtscope.report.placing import advice, findings, interference, law_text
from rtscope.statistics.placing import curves
from tests.sweeps import (
    ONE_NS,
    T2080,
    T4240,
    alike,
    cell_of,
    machine_of,
    one_bucket,
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
    assert text.startswith("Use CPUs 0-3 for 4 scalar threads: ")
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
    assert any("takes 2.4" in text and "the CPUs are not alike" in text for text in findings(sweep))
    assert advice(sweep)[0].startswith("Use CPUs 2-3 for 2 scalar threads")


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
    assert told[2] == "No evidence that it suffers 5 % or more from disk, cpu."
    assert len(told) == 3


def test_loads_without_effect_are_seldom_called_disturbing() -> None:
    quiet = {"idle": 1.0, **{f"load{n}": 1.0 for n in range(6)}}
    accused = sum(len(interference(beside(quiet, seed))) > 1 for seed in range(100))
    assert accused == 0


def test_one_round_is_not_enough_to_call_anything() -> None:
    sweep = beside({"idle": 1, "memory": 2.0})
    cells = [msgspec.structs.replace(cell, medians_ns=cell.medians_ns[:1]) for cell in sweep.cells]
    told = interference(msgspec.structs.replace(sweep, cells=cells, rounds=1))
    assert told == [
        "No evidence that it suffers 5 % or more from memory. But the limits are wide: give more "
        "--rounds."
    ]


def test_a_gain_that_chance_may_have_made_is_said_to_be_unsure() -> None:
    sweep = swept(machine_of(2, 1), alike, workloads=["scalar"])
    noise = [1.0, 2.5, 0.4, 2.2, 0.45]
    cells = [
        msgspec.structs.replace(
            cell, medians_ns=[ns * n for ns, n in zip(cell.medians_ns, shaken, strict=True)]
        )
        for cell, shaken in zip(sweep.cells, (noise, [1.0] * 5), strict=True)
    ]
    assert "not sure" not in advice(sweep)[0]
    [text] = advice(msgspec.structs.replace(sweep, cells=cells))
    assert text.endswith("That it is faster is not sure: give more --rounds.")
