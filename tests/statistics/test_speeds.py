# SPDX-License-Identifier: GPL-2.0-only
"""Slow CPUs are named with how slow they are, and held against what the kernel says of them."""

from collections.abc import Sequence

import msgspec
import numpy as np
import pytest

from rtscope.model.finding import (
    CpuGroups,
    CpusEquallyFast,
    CpusIdle,
    CpusNotSlower,
    CpusSlower,
    Finding,
    ReportedTopology,
    TooFewRepeats,
)
from rtscope.model.machine import Cpu, Machine
from rtscope.model.run import Lab, Matrix, Run
from rtscope.statistics.sharing import sharing
from rtscope.statistics.speeds import speeds
from tests.measured import run_of, thread_of

REPEATS = 19
LITTLE = (446, 446, 1024, 1024)
LAB = Lab("fast", None, 2, 1, "7.2", [], "k", "k", "0", None, "0")


def run_with(
    slowness: Sequence[float],
    *,
    vector: Sequence[float] = (),
    repeats: int = REPEATS,
    noise: float = 0.01,
    seed: int = 1,
    **told: Sequence[object],
) -> Run:
    """A run on CPUs that take so many times as long, of which the kernel tells these fields."""
    rng = np.random.default_rng(seed)
    works = {"scalar": slowness, "vector": vector or slowness}
    each = [
        [list(1e9 / times[cpu] * np.exp(rng.normal(0, noise, repeats))) for times in works.values()]
        for cpu in range(len(slowness))
    ]
    middle: list[list[float | None]] = [[float(np.median(one)) for one in row] for row in each]
    names = [f"CPU {cpu}" for cpu in range(len(slowness))]
    speed = Matrix("speed", "operations_per_s", names, [*works], middle, middle, middle, each)
    cpus = [
        Cpu(cpu, **{field: values[cpu] for field, values in told.items()})  # type: ignore[arg-type]
        for cpu in range(len(slowness))
    ]
    threads = [thread_of([80], cpu) for cpu in range(len(slowness))]
    return run_of(*threads, probe="topology", machine=Machine(cpus=cpus), matrices=[speed])


def the_slow(run: Run) -> CpusSlower:
    """The only finding, which is of slow CPUs."""
    [found] = speeds(run)
    assert isinstance(found, CpusSlower)
    return found


def the_wrong(run: Run) -> CpusNotSlower:
    """The only finding, which is of CPUs that the kernel calls slower than they are."""
    [found] = speeds(run)
    assert isinstance(found, CpusNotSlower)
    assert found.severity == "unexpected"
    return found


HELD = {"capacity": [512, 1024], "max_khz": [900_000, 1_800_000], "peak_khz": [1_800_000] * 2}
GIGAHERTZ = {"max_khz": [600_000, 1_800_000]}


@pytest.mark.parametrize(
    ("slowness", "told", "cpus", "than", "is_so", "reported"),
    [
        ([2.3, 2.3, 1, 1], {"capacity": LITTLE}, [0, 1], [2, 3], "yes", "capacity 446 of 1024"),
        ([1, 1, 2, 1], {}, [2], [0, 1, 3], "yes", ""),
        ([2.3, 1, 0.5], {"capacity": [446, 1024, 1024], "online": [1, 1, 0]}, [0, 1], [2], "yes",
         ""),
        ([3, 1], GIGAHERTZ, [0], [1], "yes", "0.60 of 1.80 GHz"),
        ([4, 1], HELD, [0], [1], "yes", "capacity 512 of 1024, held to 50 % of its frequency"),
        ([1, 1.8], {"kind": ["core", "atom"]}, [1], [0], "yes", "kind atom"),
        ([2, 1], {"kind": ["Cortex-A53", "Cortex-A72"]}, [0], [1], "yes", "kind Cortex-A53"),
        ([2, 1], {"kind": ["core", "atom"]}, [0], [1], "yes", ""),
        ([1, 1.1], {}, [1], [0], "unknown", ""),
    ],
)  # fmt: skip
def test_slow_cpus_are_found_with_what_the_kernel_reports(
    slowness: list[float],
    told: dict[str, Sequence[object]],
    cpus: list[int],
    than: list[int],
    is_so: str,
    reported: str,
) -> None:
    found = the_slow(run_with(slowness, **told))  # type: ignore[arg-type]
    assert (found.cpus, found.than, found.is_so, found.reported) == (cpus, than, is_so, reported)
    expected = "undecided" if is_so == "unknown" else "info" if reported else "unexpected"
    assert found.severity == expected
    times = found.times["scalar"]
    assert times.high == pytest.approx(max(slowness) / min(slowness), rel=0.02)


def test_the_work_in_which_a_cpu_is_slow_is_named() -> None:
    assert list(the_slow(run_with([1, 1, 1], vector=[1, 2, 1])).times) == ["vector"]
    both = the_slow(run_with([2.3, 1], vector=[3.1, 1]))
    assert both.times["vector"].high == pytest.approx(3.1, rel=0.01)


@pytest.mark.parametrize(("slowness", "partly"), [([1, 1], False), ([1.2, 1], True)])
def test_a_reported_capacity_that_does_not_show_is_unexpected(
    slowness: list[float], partly: bool
) -> None:
    found = the_wrong(run_with(slowness, capacity=[446, 1024]))
    assert (found.cpus, found.than, found.partly) == ([0], [1], partly)
    assert found.times["scalar"].high == pytest.approx(slowness[0], rel=0.01)


def test_noise_that_is_less_than_the_reported_difference_does_not_hide_it() -> None:
    for seed in range(10):
        wrong = speeds(run_with([1, 1], noise=0.12, seed=seed, capacity=[446, 1024]))[0]
        assert isinstance(wrong, CpusNotSlower)
        assert (wrong.cpus, wrong.than) == ([0], [1])
    slow = speeds(run_with([1.9, 1], noise=0.12, capacity=[446, 1024]))[0]
    assert isinstance(slow, CpusSlower)
    assert slow.reported


def test_fast_and_slow_the_other_way_round_are_two_findings() -> None:
    found = speeds(run_with([1, 1, 2.3, 2.3], capacity=LITTLE))
    assert [type(one) for one in found] == [CpusNotSlower, CpusSlower]


@pytest.mark.parametrize("share", [0.3, 0.6])
def test_what_is_slow_at_times_changes(share: float) -> None:
    run = run_with([1, 1])
    [matrix] = run.matrices
    for n, rate in enumerate(matrix.repeats[1][0]):
        matrix.repeats[1][0][n] = rate / (2 if n < share * REPEATS else 1)
    found = the_slow(run)
    assert (found.cpus, found.is_so, list(found.times)) == ([1], "changing", ["scalar"])


def test_a_report_on_other_cpus_excuses_no_slow_cpu() -> None:
    slow, wrong = speeds(run_with([2, 2, 1], capacity=[446, 1024, 446]))
    assert isinstance(slow, CpusSlower)
    assert (slow.cpus, slow.than, slow.reported) == ([0, 1], [2], "")
    assert isinstance(wrong, CpusNotSlower)
    assert (wrong.cpus, wrong.than) == ([2], [1])


def test_a_cpu_that_did_nothing_in_a_repeat_is_named() -> None:
    run = run_with([1, 1, 1])
    run.matrices[0].repeats[2][0][4] = 0.0
    assert speeds(run)[0] == CpusIdle(cpus=[2], severity="unexpected")


@pytest.mark.parametrize("wrong", [-5, 0])
def test_impossible_capacities_and_frequencies_are_ignored(wrong: int) -> None:
    equal = [CpusEquallyFast(cpus=[0, 1], work=["scalar", "vector"])]
    assert speeds(run_with([1, 1], capacity=[wrong, 10])) == equal
    assert speeds(run_with([1, 1], max_khz=[wrong, 10])) == equal


def test_equal_cpus_are_called_so_however_noisy() -> None:
    """With noise as great as the limit, in 5 of 100 runs at most any is called slower."""
    accused = sum(
        any(isinstance(one, CpusSlower) and one.is_so != "unknown" for one in speeds(run))
        for run in (run_with([1] * 8, noise=0.2, seed=seed) for seed in range(60))
    )
    assert accused <= 3
    assert isinstance(speeds(run_with([1, 1.05, 1]))[0], CpusEquallyFast)


def test_too_few_repeats_decide_nothing() -> None:
    assert isinstance(speeds(run_with([1, 2], repeats=5))[0], TooFewRepeats)
    assert the_slow(run_with([1, 2], repeats=6)).cpus == [1]


def test_of_emulated_cpus_only_a_wrong_report_is_a_finding() -> None:
    def emulated(run: Run) -> Run:
        return msgspec.structs.replace(run, lab=LAB)

    assert speeds(emulated(run_with([1, 2]))) == []
    assert speeds(emulated(run_with([1, 1]))) == []
    assert the_wrong(emulated(run_with([1, 1, 1, 1], capacity=LITTLE))).cpus == [0, 1]
    assert speeds(emulated(run_with([2.3, 1], capacity=[446, 1024]))) == []
    assert speeds(emulated(run_with([1.3, 1], noise=0.5, capacity=[446, 1024]))) == []


def test_one_cpu_is_compared_with_none() -> None:
    assert speeds(run_with([1])) == []


def test_cpus_that_take_turns_are_left_out() -> None:
    expected: list[Finding] = [CpusEquallyFast(cpus=[0, 2], work=["scalar", "vector"])]
    assert speeds(run_with([1, 2, 1]), [1]) == expected


def test_capacities_and_kinds_are_part_of_the_reported_topology() -> None:
    run = run_with([1] * 4, capacity=LITTLE, kind=["Cortex-A53", "Cortex-A53", "A", "A"])
    last = sharing(run)[-1]
    assert isinstance(last, ReportedTopology)
    assert last.levels[-2:] == [
        CpuGroups("kind", {"Cortex-A53": [0, 1], "A": [2, 3]}),
        CpuGroups("capacity", {"446": [0, 1], "1024": [2, 3]}),
    ]
