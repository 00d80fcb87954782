# SPDX-License-Identifier: GPL-2.0-only
"""What CPUs share is named, and held against what the kernel says of them."""

from itertools import product

import msgspec
import numpy as np
import pytest
from hypothesis import given

from rtscope.model.machine import Cache, Cpu, Machine
from rtscope.model.run import Lab, Matrix, Run
from rtscope.statistics.sharing import sharing
from tests.measured import run_of, thread_of
from tests.strategies import runs

KINDS = ("scalar", "vector", "L1", "L2", "L3", "memory")


REPEATS = 19


def square(
    name: str,
    cpus: int,
    slow: dict[tuple[int, int], float],
    spread: float = 0.01,
    repeats: int = REPEATS,
) -> Matrix:
    """A matrix of ones but for the pairs of `slow`, with limits `spread` to either side.

    The repeats change between the limits.
    """
    labels = [f"CPU {cpu}" for cpu in range(cpus)]
    ratio = "ns" if name == "message" else "ratio"
    value: list[list[float | None]] = [[1.0] * cpus for _ in labels]
    for (one, other), times in slow.items():
        value[one][other] = value[other][one] = times
    for cpu in range(cpus):
        value[cpu][cpu] = None
    low, high = (
        [[None if v is None else v * (1 + sign * spread) for v in row] for row in value]
        for sign in (-1, 1)
    )
    each = [
        [[] if v is None else [v * (1 + spread * (-1) ** n) for n in range(repeats)] for v in row]
        for row in value
    ]
    return Matrix(name, ratio, labels, labels, value, low, high, each)


def machine_of(cpus: int, siblings: int = 1, l2: int = 1, nodes: int = 1) -> Machine:
    """`cpus` CPUs in cores of `siblings`, `l2` of them to an L2 cache, one L3 cache for all."""

    def group(cpu: int, size: int) -> list[int]:
        return list(range(cpu // size * size, cpu // size * size + size))

    listed = [
        Cpu(cpu, core=cpu // siblings, smt_siblings=group(cpu, siblings), node=cpu * nodes // cpus)
        for cpu in range(cpus)
    ]
    caches = [Cache(1, "data", 32768, group(n, siblings)) for n in range(0, cpus, siblings)]
    caches += [Cache(2, "unified", 1 << 20, group(n, l2)) for n in range(0, cpus, l2)]
    return Machine(cpus=listed, caches=[*caches, Cache(3, "unified", 8 << 20, list(range(cpus)))])


def run_with(machine: Machine, repeats: int = REPEATS, **slow: dict[tuple[int, int], float]) -> Run:
    """A run of the probe in which nothing slows anything but what is named."""
    cpus = len(machine.cpus)
    everyone = {(a, b): 1.4 for a, b in product(range(cpus), repeat=2) if a < b}
    slow = {"L3": everyone, "memory": everyone} | slow
    matrices = [
        square(name, cpus, slow.get(name, {}), repeats=repeats) for name in ("awake", *KINDS)
    ]
    threads = [thread_of([80], cpu) for cpu in range(cpus)]
    return run_of(*threads, probe="topology", machine=machine, matrices=matrices)


def told(run: Run) -> list[str]:
    return [f"{'≠ ' if one.disagrees else ''}{one.text}" for one in sharing(run)]


def test_what_the_kernel_says_and_the_measurement_shows_is_named_as_such() -> None:
    pairs = {(0, 1): 1.9, (2, 3): 1.8}
    run = run_with(machine_of(4, siblings=2, l2=2), scalar=pairs, vector=pairs, L1=pairs, L2=pairs)
    found = told(run)
    assert not [line for line in found if line.startswith("≠")]
    assert (
        "CPUs 0-1 share a vector unit, as the kernel says: the same work takes 1.90 times"
        in (found[2])
    )
    assert any("CPUs 2-3 share an L2 cache, as the kernel says" in line for line in found)
    assert any("CPUs 0-3 share the bandwidth of memory" in line for line in found)


def test_a_vector_unit_that_the_kernel_does_not_know_of_is_found() -> None:
    found = told(run_with(machine_of(4), vector={(0, 1): 1.95, (2, 3): 1.95}))
    unknown = [line for line in found if "of which the kernel says nothing" in line]
    assert [line[:37] for line in unknown] == [
        "≠ CPUs 0-1 share a vector unit, of wh",
        "≠ CPUs 2-3 share a vector unit, of wh",
    ]
    assert unknown[0].endswith("1.95 times as long beside each other")
    assert found[:2] == unknown


def test_sharing_that_does_not_show_is_told() -> None:
    found = told(run_with(machine_of(2, l2=2)))
    assert found[0].startswith(
        "≠ the kernel says that CPUs 0-1 share an L2 cache, but none slowed another there: 1.00"
    )


def test_two_cpus_that_are_one_take_turns_and_are_judged_no_further() -> None:
    found = told(run_with(machine_of(3), awake={(0, 2): 2.0}, L2={(0, 2): 3.0}))
    assert found[0].startswith("≠ CPUs 0,2 take turns on one CPU: a thread is 2.00 times slower")
    assert not any("L2" in line and "share" in line for line in found)


def test_what_is_slow_only_at_times_is_no_structure() -> None:
    run = run_with(machine_of(2))
    moved = square("scalar", 2, {(0, 1): 1.5}, spread=0.34)
    run = msgspec.structs.replace(run, matrices=[run.matrices[0], moved])
    assert told(run)[0].startswith(
        "≠ CPUs 0-1 share units of scalar arithmetic at times only: 0.99 to 2.01 times"
    )
    virtual = msgspec.structs.replace(run.machine, virtualisation="KVM")
    assert "the host of a virtual machine" in told(msgspec.structs.replace(run, machine=virtual))[0]


def test_a_slowdown_about_a_tenth_is_left_open() -> None:
    run = run_with(machine_of(2), L1={(0, 1): 1.1})
    assert any(line.startswith("whether CPUs 0-1 share an L1 cache cannot") for line in told(run))


@pytest.mark.parametrize("repeats", [0, 1, 7])
def test_of_too_few_repeats_nothing_is_judged(repeats: int) -> None:
    two = machine_of(2)
    run = run_with(two, repeats, vector={(0, 1): 1.9}, awake={(0, 1): 2.0})
    assert len(told(run)) == 2
    assert told(run)[0].startswith("what slows what cannot be told")
    assert told(run)[1].startswith("the kernel says: ")
    assert "share a vector unit" in told(run_with(two, 8, vector={(0, 1): 1.9}))[0]


def test_more_cpus_are_more_pairs_of_which_one_may_seem_slow_by_chance() -> None:
    found = told(run_with(machine_of(8), 8))
    assert "from 8 repeats: 196 comparisons need 12 at least" in found[0]


def test_a_machine_that_shares_nothing_names_nothing_however_noisy() -> None:
    """With noise as great as the limit in each of 196 comparisons: in 5 of 100 runs at most."""
    rng = np.random.default_rng(8)
    machine = msgspec.structs.replace(machine_of(8), caches=[])
    named = 0
    for _ in range(40):
        run = run_with(machine)
        matrices = [noisy(matrix, rng) for matrix in run.matrices]
        found = told(msgspec.structs.replace(run, matrices=matrices))
        named += any(" share " in line and "whether" not in line for line in found)
    assert named <= 5


def noisy(matrix: Matrix, rng: np.random.Generator) -> Matrix:
    """As many repeats above the limit as below, and all else so as they were."""
    limit = 1.3 if matrix.name == "awake" else 1.1
    repeats = [
        [list(limit * np.exp(rng.normal(0, 0.2, len(cell)))) for cell in row]
        for row in matrix.repeats
    ]
    return msgspec.structs.replace(matrix, repeats=repeats)


def test_work_in_which_nobody_slows_anybody_is_named_in_one_sentence() -> None:
    last = told(run_with(machine_of(2)))[-2]
    assert (
        last == "CPUs 0-1 slow each other by less than a tenth in work on scalar, vector, L1 and L2"
    )


def test_near_and_far_messages_are_told_by_group() -> None:
    ways = {(a, b): 40.0 if a // 2 == b // 2 else 120.0 for a in range(4) for b in range(a + 1, 4)}
    run = run_with(machine_of(4))
    run = msgspec.structs.replace(run, matrices=[*run.matrices, square("message", 4, ways)])
    assert told(run)[-2] == (
        "a message takes up to 40 ns within CPUs 0-1, CPUs 2-3, elsewhere up to 120 ns"
    )


def test_cpus_that_are_offline_or_left_out_are_told() -> None:
    run = run_with(machine_of(2))
    more = [*run.machine.cpus, Cpu(2, online=False), Cpu(3)]
    machine = msgspec.structs.replace(run.machine, cpus=more)
    assert told(msgspec.structs.replace(run, machine=machine))[-2:] == [
        "CPU 2 is offline",
        "CPU 3 was not measured: not asked for, or outside the cpuset of this container",
    ]


def test_one_cpu_has_none_to_share_with() -> None:
    run = run_with(machine_of(1))
    assert told(run) == [
        "CPU 0 is the only one of this machine that was measured: there is none to share with"
    ]


def test_what_the_kernel_says_is_told_by_group() -> None:
    assert told(run_with(machine_of(4, siblings=2, l2=2, nodes=2)))[-1] == (
        "the kernel says: threads of one core: CPUs 0-1, CPUs 2-3; sharers of an L1 cache: "
        "CPUs 0-1, CPUs 2-3; sharers of an L2 cache: CPUs 0-1, CPUs 2-3; sharers of an L3 cache: "
        "CPUs 0-3; a memory node: CPUs 0-1, CPUs 2-3"
    )
    assert not any("kernel says" in line for line in told(run_with(machine_of(1))))


def test_nothing_is_said_of_what_emulated_cpus_share() -> None:
    lab = Lab("fast", None, 2, 1, "7.2", [], "k", "k", "0", None, "0")
    found = told(msgspec.structs.replace(run_with(machine_of(2), L2={(0, 1): 2.0}), lab=lab))
    assert "emulated" in found[0]
    assert not any("slow" in line for line in found)


@pytest.mark.parametrize("size", [2, 3, 8])
def test_a_group_is_told_whole(size: int) -> None:
    pairs = {(a, b): 1.5 for a in range(size) for b in range(a + 1, size)}
    found = told(run_with(machine_of(size + 2), L2=pairs))
    assert f"CPUs 0-{size - 1} share an L2 cache, of which" in found[0]


def test_a_ratio_that_is_not_positive_is_left_out() -> None:
    """`square` gives both directions the same ratio, so one repeat of a direction is spoiled."""
    run = run_with(machine_of(2), awake={(0, 1): 1.0})
    spoiled = [
        [[*cell[:-1], -1.0] if cell else [] for cell in row] for row in run.matrices[0].repeats[:1]
    ] + run.matrices[0].repeats[1:]
    awake = msgspec.structs.replace(run.matrices[0], repeats=spoiled)
    assert told(msgspec.structs.replace(run, matrices=[awake, *run.matrices[1:]])) == told(run)


@given(runs())
def test_whatever_a_file_holds_is_told_in_words(run: Run) -> None:
    assert all(one.text for one in sharing(run))
