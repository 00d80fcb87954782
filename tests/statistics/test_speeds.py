# SPDX-License-Identifier: GPL-2.0-only
"""Slow CPUs are named with how slow they are, and held against what the kernel says of them."""

from collections.abc import Sequence

import msgspec
import numpy as np
import pytest
from hypothesis import given

from rtscope.model.machine import Cpu, Machine
from rtscope.model.run import Lab, Matrix, Run
from rtscope.statistics.sharing import sharing
from rtscope.statistics.speeds import speeds
from tests.measured import run_of, thread_of
from tests.strategies import runs

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


def told(run: Run) -> list[str]:
    return [f"{'≠ ' if one.disagrees else ''}{one.text}" for one in speeds(run)]


def test_slow_cpus_of_which_the_kernel_says_so_are_named_with_how_slow_they_are() -> None:
    run = run_with([2.3, 2.3, 1, 1], vector=[3.0, 3.1, 1, 1], capacity=LITTLE)
    [text] = told(run)
    assert text.startswith(
        "CPUs 0-1 are slower than CPUs 2-3, as the kernel says (capacity 446 of 1024): scalar work"
    )
    assert " vector work 3.0" in text
    assert "scalar work 2.3" in text or "scalar work 2.29 to 2.3" in text


def test_a_capacity_that_does_not_show_is_told() -> None:
    [text] = told(run_with([1, 1, 1, 1], capacity=LITTLE))
    assert text.startswith(
        "≠ the kernel says that CPUs 0-1 are slower than CPUs 2-3 (capacity 446 of 1024), but they "
        "are not: scalar work "
    )


def test_noise_that_is_less_than_what_the_kernel_says_does_not_hide_that_it_is_wrong() -> None:
    for seed in range(10):
        text = told(run_with([1, 1], noise=0.12, seed=seed, capacity=[446, 1024]))[0]
        assert text.startswith("≠ the kernel says that CPU 0 is slower than CPU 1")
    unlike = run_with([1.9, 1], noise=0.12, capacity=[446, 1024])
    assert told(unlike)[0].startswith("CPU 0 is slower than CPU 1, as the kernel says")


def test_slowness_that_the_kernel_does_not_know_of_is_told() -> None:
    [text] = told(run_with([1, 1, 2, 1]))
    assert text.startswith(
        "≠ CPU 2 is slower than CPUs 0-1,3, which the kernel does not say: scalar work 2.0"
    )
    assert text.endswith("as long; heat, a limit or a real-time program may hold it back")


def test_fast_and_slow_the_other_way_round_is_told_of_both() -> None:
    found = told(run_with([1, 1, 2.3, 2.3], capacity=LITTLE))
    assert [text[:28] for text in found] == [
        "≠ the kernel says that CPUs ",
        "≠ CPUs 2-3 are slower than C",
    ]


def test_the_fastest_may_be_one_that_a_record_calls_offline() -> None:
    [text] = told(run_with([2.3, 1, 0.5], capacity=[446, 1024, 1024], online=[True, True, False]))
    assert text.startswith("≠ CPUs 0-1 are slower than CPU 2, which the kernel does not say: ")


def test_cpus_slow_in_one_work_alone_are_told_of_that() -> None:
    [text] = told(run_with([1, 1, 1], vector=[1, 2, 1]))
    assert text.startswith("≠ CPU 1 is slower than CPUs 0,2, which the kernel does not say: vector")
    assert "scalar" not in text


@pytest.mark.parametrize("share", [0.3, 0.6])
def test_what_is_slow_at_times_is_told_as_that(share: float) -> None:
    run = run_with([1, 1])
    [matrix] = run.matrices
    for n, rate in enumerate(matrix.repeats[1][0]):
        matrix.repeats[1][0][n] = rate / (2 if n < share * REPEATS else 1)
    [text] = told(run)
    assert text.startswith("≠ CPU 1 is slower than CPU 0 at times only: scalar work ")


def test_a_frequency_and_a_governor_that_is_held_below_it_are_what_the_kernel_says() -> None:
    [text] = told(run_with([3, 1], max_khz=[600_000, 1_800_000]))
    assert "as the kernel says (0.60 of 1.80 GHz)" in text
    held, peak = [900_000, 1_800_000], [1_800_000, 1_800_000]
    [text] = told(run_with([4, 1], capacity=[512, 1024], max_khz=held, peak_khz=peak))
    assert "(capacity 512 of 1024, held to 50 % of its frequency)" in text


def test_cores_of_another_kind_may_be_slower() -> None:
    kinds = ["core", "atom"]
    assert "as the kernel says (kind atom)" in told(run_with([1, 1.8], kind=kinds))[0]
    assert told(run_with([1, 1], kind=kinds)) == [
        "CPUs 0-1 are alike: none is a tenth slower than another in scalar and vector work"
    ]


def test_a_cpu_that_is_slower_by_far_less_than_the_kernel_says_is_told() -> None:
    [text] = told(run_with([1.2, 1], capacity=[446, 1024]))
    assert text.startswith(
        "≠ the kernel says that CPU 0 is slower than CPU 1 (capacity 446 of 1024), but it is by "
        "far less: scalar work 1.20 times"
    )


def test_what_the_kernel_says_of_others_excuses_no_slow_cpu() -> None:
    slow, wrong = told(run_with([2, 2, 1], capacity=[446, 1024, 446]))
    assert slow.startswith("≠ CPUs 0-1 are slower than CPU 2, which the kernel does not say")
    assert wrong.startswith("≠ the kernel says that CPU 2 is slower than CPU 1 (capacity 446 of")
    [text] = told(run_with([2, 1], kind=["core", "atom"]))
    assert text.startswith("≠ CPU 0 is slower than CPU 1, which the kernel does not say")
    [text] = told(run_with([2, 1], kind=["Cortex-A53", "Cortex-A72"]))
    assert "as the kernel says (kind Cortex-A53)" in text


def test_a_cpu_that_did_nothing_in_a_repeat_is_named() -> None:
    run = run_with([1, 1, 1])
    run.matrices[0].repeats[2][0][4] = 0.0
    assert told(run)[0].startswith("≠ CPU 2 did nothing at all in some repeats")


def test_capacities_and_frequencies_that_cannot_be_are_not_told() -> None:
    for wrong in (-5, 0):
        assert "are alike" in told(run_with([1, 1], capacity=[wrong, 10]))[0]
        assert "are alike" in told(run_with([1, 1], max_khz=[wrong, 10]))[0]


def test_cpus_that_are_alike_are_called_so_however_noisy() -> None:
    """With noise as great as the limit, in 5 of 100 runs at most any is called slower."""
    accused = sum(
        any(" slower than" in text and "whether" not in text for text in told(run))
        for run in (run_with([1] * 8, noise=0.2, seed=seed) for seed in range(60))
    )
    assert accused <= 3
    [text] = told(run_with([1, 1.05, 1]))
    assert text.startswith("CPUs 0-2 are alike")


def test_a_tenth_is_left_open() -> None:
    [text] = told(run_with([1, 1.1]))
    assert text.startswith("whether CPU 1 is slower than CPU 0 cannot be told: ")


def test_of_too_few_repeats_nothing_is_judged() -> None:
    assert told(run_with([1, 2], repeats=5))[0].startswith("what slows what cannot be told from 5")
    assert told(run_with([1, 2], repeats=6))[0].startswith("≠ CPU 1 is slower")


def test_of_emulated_cpus_only_what_the_kernel_says_wrongly_is_told() -> None:
    def emulated(run: Run) -> list[str]:
        return told(msgspec.structs.replace(run, lab=LAB))

    assert emulated(run_with([1, 2])) == []
    assert emulated(run_with([1, 1])) == []
    [text] = emulated(run_with([1, 1, 1, 1], capacity=LITTLE))
    assert text.startswith("≠ the kernel says that CPUs 0-1 are slower")
    assert emulated(run_with([2.3, 1], capacity=[446, 1024])) == []
    assert emulated(run_with([1.3, 1], noise=0.5, capacity=[446, 1024])) == []


def test_one_cpu_is_compared_with_none() -> None:
    assert told(run_with([1])) == []


def test_cpus_that_are_really_one_are_left_out() -> None:
    run = run_with([1, 2, 1])
    assert [one.text[:15] for one in speeds(run, [1])] == ["CPUs 0,2 are al"]


def test_capacities_and_kinds_are_what_the_kernel_says() -> None:
    run = run_with([1] * 4, capacity=LITTLE, kind=["Cortex-A53", "Cortex-A53", "A", "A"])
    assert [one.text for one in sharing(run)][-1].endswith(
        "Cortex-A53: CPUs 0-1, A: CPUs 2-3; capacity 446: CPUs 0-1, capacity 1024: CPUs 2-3"
    )


@given(runs())
def test_whatever_a_file_holds_is_told_in_words(run: Run) -> None:
    assert all(one.text for one in speeds(run))
