# SPDX-License-Identifier: GPL-2.0-only
"""Slow CPUs are named with how slow they are, and compared with the speeds the kernel reports."""

from collections.abc import Sequence

import msgspec
import numpy as np
import pytest

from rtscope.model import finding
from rtscope.model.finding import ReportedSpeed as Speed
from rtscope.model.machine import Cpu, Machine
from rtscope.model.run import Lab, Matrix, Run
from rtscope.statistics.sharing import sharing
from rtscope.statistics.speeds import speeds
from tests.measured import run_of, thread_of

REPEATS = 19
LITTLE = (446, 446, 1024, 1024)


def run_with(
    slowness: Sequence[float],
    *,
    vector: Sequence[float] = (),
    repeats: int = REPEATS,
    noise: float = 0.01,
    seed: int = 1,
    **reported: Sequence[object],
) -> Run:
    """A run on CPUs that take so many times as long, with these fields as the kernel reports."""
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
        Cpu(cpu, **{field: values[cpu] for field, values in reported.items()})  # type: ignore[arg-type]
        for cpu in range(len(slowness))
    ]
    threads = [thread_of([80], cpu) for cpu in range(len(slowness))]
    return run_of(*threads, probe="topology", machine=Machine(cpus=cpus), matrices=[speed])


def summary(run: Run, taking_turns: Sequence[int] = ()) -> list[tuple[object, ...]]:
    """Each finding with its CPUs, those it compares them with, and the rest of the judgement."""
    lines: list[tuple[object, ...]] = []
    for one in speeds(run, taking_turns):
        if isinstance(one, finding.CpusSlower):
            expected = "info" if one.reported else "unexpected"
            assert one.severity == ("undecided" if one.is_so == "unknown" else expected)
            lines.append(("slower", one.cpus, one.than, one.is_so, one.reported))
        elif isinstance(one, finding.CpusNotSlower):
            assert one.severity == "unexpected"
            lines.append(("not slower", one.cpus, one.than, "partly" if one.partly else "at all"))
        else:
            assert isinstance(one, finding.CpusEquallyFast | finding.CpusIdle)
            lines.append((type(one), one.cpus))
    return lines


HELD = {"capacity": [512, 1024], "max_khz": [900_000, 1_800_000], "peak_khz": [1_800_000] * 2}
OFFLINE = {"capacity": [446, 1024, 1024], "online": [1, 1, 0]}
HALF = Speed(capacity=512, highest_capacity=1024, held_percent=50)
EQUAL = (finding.CpusEquallyFast, [0, 1])


@pytest.mark.parametrize(
    ("slowness", "reported", "found"),
    [
        ([2.3, 2.3, 1, 1], {"capacity": LITTLE},
         [("slower", [0, 1], [2, 3], "yes", Speed(capacity=446, highest_capacity=1024))]),
        ([1, 1, 2, 1], {}, [("slower", [2], [0, 1, 3], "yes", None)]),
        ([2.3, 1, 0.5], OFFLINE, [("slower", [0, 1], [2], "yes", None)]),
        ([3, 1], {"max_khz": [600_000, 1_800_000]},
         [("slower", [0], [1], "yes", Speed(khz=600_000, highest_khz=1_800_000))]),
        ([4, 1], HELD,
         [("slower", [0], [1], "yes", HALF)]),
        ([1, 1.8], {"kind": ["core", "atom"]}, [("slower", [1], [0], "yes", Speed(core="atom"))]),
        ([2, 1], {"kind": ["Cortex-A53", "Cortex-A72"]},
         [("slower", [0], [1], "yes", Speed(core="Cortex-A53"))]),
        ([2, 1], {"kind": ["core", "atom"]}, [("slower", [0], [1], "yes", None)]),
        ([1, 1.1], {}, [("slower", [1], [0], "unknown", None)]),
        ([1, 1], {"capacity": [446, 1024]}, [("not slower", [0], [1], "at all")]),
        ([1.2, 1], {"capacity": [446, 1024]}, [("not slower", [0], [1], "partly")]),
        ([1, 1, 2.3, 2.3], {"capacity": LITTLE},
         [("not slower", [0, 1], [2, 3], "at all"), ("slower", [2, 3], [0, 1], "yes", None)]),
        ([2, 2, 1], {"capacity": [446, 1024, 446]},
         [("slower", [0, 1], [2], "yes", None), ("not slower", [2], [1], "at all")]),
        ([1, 1.05], {}, [EQUAL]),
        ([1, 1], {"capacity": [-5, 10]}, [EQUAL]),
        ([1, 1], {"max_khz": [0, 10]}, [EQUAL]),
        ([1], {}, []),
    ],
)  # fmt: skip
def test_slow_cpus_are_found_and_compared_with_what_the_kernel_reports(
    slowness: list[float], reported: dict[str, Sequence[object]], found: list[tuple[object, ...]]
) -> None:
    assert summary(run_with(slowness, **reported)) == found  # type: ignore[arg-type]


def test_the_work_in_which_a_cpu_is_slow_is_named_with_how_much() -> None:
    [one] = speeds(run_with([1, 1, 1], vector=[1, 2, 1]))
    [both] = speeds(run_with([2.3, 1], vector=[3.1, 1]))
    [wrong] = speeds(run_with([1.2, 1], capacity=[446, 1024]))
    assert isinstance(one, finding.CpusSlower)
    assert isinstance(both, finding.CpusSlower)
    assert isinstance(wrong, finding.CpusNotSlower)
    assert list(one.times) == ["vector"]
    high = (both.times["scalar"].high, both.times["vector"].high, wrong.times["scalar"].high)
    assert high == pytest.approx((2.3, 3.1, 1.2), rel=0.01)


def test_noise_that_is_less_than_the_reported_difference_does_not_hide_it() -> None:
    for seed in range(10):
        run = run_with([1, 1], noise=0.12, seed=seed, capacity=[446, 1024])
        assert summary(run)[0][:3] == ("not slower", [0], [1])
    slow = summary(run_with([1.9, 1], noise=0.12, capacity=[446, 1024]))[0]
    assert slow[-1] == Speed(capacity=446, highest_capacity=1024)


@pytest.mark.parametrize("share", [0.3, 0.6])
def test_a_cpu_that_is_slow_at_times_changes(share: float) -> None:
    run = run_with([1, 1])
    rates = run.matrices[0].repeats[1][0]
    rates[:] = [rate / (2 if n < share * REPEATS else 1) for n, rate in enumerate(rates)]
    [found] = speeds(run)
    assert isinstance(found, finding.CpusSlower)
    assert (found.cpus, found.is_so, list(found.times)) == ([1], "changing", ["scalar"])


def test_a_cpu_that_did_nothing_in_a_repeat_is_named_and_one_that_takes_turns_left_out() -> None:
    run = run_with([1, 1, 1])
    run.matrices[0].repeats[2][0][4] = 0.0
    assert summary(run)[0] == (finding.CpusIdle, [2])
    assert summary(run_with([1, 2, 1]), [1]) == [(finding.CpusEquallyFast, [0, 2])]


def test_equal_cpus_are_called_so_however_noisy() -> None:
    """With noise as great as the limit, in 5 of 100 runs at most any is called slower."""
    accused = sum(
        any(isinstance(one, finding.CpusSlower) and one.is_so != "unknown" for one in speeds(run))
        for run in (run_with([1] * 8, noise=0.2, seed=seed) for seed in range(60))
    )
    assert accused <= 3


def test_too_few_repeats_decide_nothing() -> None:
    assert isinstance(speeds(run_with([1, 2], repeats=5))[0], finding.TooFewRepeats)
    assert summary(run_with([1, 2], repeats=6)) == [("slower", [1], [0], "yes", None)]


@pytest.mark.parametrize(
    ("run", "found"),
    [
        (run_with([1, 2]), []),
        (run_with([1, 1, 1, 1], capacity=LITTLE), [("not slower", [0, 1], [2, 3], "at all")]),
        (run_with([2.3, 1], capacity=[446, 1024]), []),
        (run_with([1.3, 1], noise=0.5, capacity=[446, 1024]), []),
    ],
)
def test_emulated_cpus(run: Run, found: list[tuple[object, ...]]) -> None:
    lab = Lab("fast", None, 2, 1, "7.2", [], "k", "k", "0", None, "0")
    assert summary(msgspec.structs.replace(run, lab=lab)) == found


def test_capacities_and_kinds_are_part_of_the_reported_topology() -> None:
    run = run_with([1] * 4, capacity=LITTLE, kind=["Cortex-A53", "Cortex-A53", "A", "A"])
    last = sharing(run)[-1]
    assert isinstance(last, finding.ReportedTopology)
    assert last.levels[-2:] == [
        finding.CpuGroups("kind", {"Cortex-A53": [0, 1], "A": [2, 3]}),
        finding.CpuGroups("capacity", {"446": [0, 1], "1024": [2, 3]}),
    ]
