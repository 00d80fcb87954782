# SPDX-License-Identifier: GPL-2.0-only
"""CPUs that share something are named, and compared with the topology that the kernel reports."""

from itertools import product

import msgspec
import numpy as np
import pytest

from rtscope.model import finding
from rtscope.model.finding import CpuGroups, Range, Sharing, TooFewRepeats
from rtscope.model.machine import Cache, Cpu, Machine
from rtscope.model.run import Lab, Matrix, Run
from rtscope.statistics.sharing import sharing
from rtscope.statistics.slowed import SHARED, Slowed, repeats_needed, slowed, too_few
from tests.measured import run_of, thread_of

KINDS = ("awake", "scalar", "vector", "L1", "L2", "L3", "memory")
REPEATS = 19
Slow = dict[tuple[int, int], float]


def square(
    name: str, cpus: int, slow: Slow, spread: float = 0.01, repeats: int = REPEATS
) -> Matrix:
    """Ones except for the pairs of `slow`; the repeats alternate `spread` to either side."""
    labels = [f"CPU {cpu}" for cpu in range(cpus)]
    value: list[list[float | None]] = [[1.0] * cpus for _ in labels]
    for (one, other), times in slow.items():
        value[one][other] = value[other][one] = times
    for cpu in range(cpus):
        value[cpu][cpu] = None
    each = [
        [[] if v is None else [v * (1 + spread * (-1) ** n) for n in range(repeats)] for v in row]
        for row in value
    ]
    return Matrix(
        name, "ns" if name == "message" else "ratio", labels, labels, value, value, value, each
    )


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


def run_with(
    machine: Machine, repeats: int = REPEATS, *, spread: float = 0.01, **slow: Slow
) -> Run:
    """A run of the probe in which only L3, memory and the pairs of `slow` are shared."""
    cpus = len(machine.cpus)
    everyone = {(a, b): 1.4 for a, b in product(range(cpus), repeat=2) if a < b}
    slow = {name: {} for name in KINDS} | {"L3": everyone, "memory": everyone} | slow
    matrices = [square(name, cpus, pairs, spread, repeats) for name, pairs in slow.items()]
    threads = [thread_of([80], cpu) for cpu in range(cpus)]
    return run_of(*threads, probe="topology", machine=machine, matrices=matrices)


def shared(run: Run) -> list[tuple[list[int], str, str, bool]]:
    found = [one for one in sharing(run) if isinstance(one, Sharing)]
    return [(one.cpus, one.work, one.is_so, one.reported) for one in found]


def test_sharing_that_the_kernel_reports_is_expected() -> None:
    pairs = {(0, 1): 1.9, (2, 3): 1.8}
    run = run_with(machine_of(4, siblings=2, l2=2), scalar=pairs, vector=pairs, L1=pairs, L2=pairs)
    found = sharing(run)
    assert {one.severity for one in found} == {"info"}
    assert found[2] == Sharing(
        cpus=[0, 1], work="vector", is_so="yes", times=Range(1.9, 1.9), reported=True
    )
    assert ([2, 3], "L2", "yes", True) in shared(run)
    assert ([0, 1, 2, 3], "memory", "yes", True) in shared(run)


def test_sharing_that_differs_from_the_kernels_report_comes_first_and_is_unexpected() -> None:
    run = run_with(machine_of(4), vector={(0, 1): 1.95, (2, 3): 1.95})
    assert shared(run)[:2] == [([0, 1], "vector", "yes", False), ([2, 3], "vector", "yes", False)]
    assert [one.severity for one in sharing(run)[:3]] == ["unexpected", "unexpected", "info"]
    assert sharing(run_with(machine_of(2, l2=2)))[0] == finding.NoSharing(
        cpus=[0, 1], work="L2", times=Range(1, 1), severity="unexpected"
    )


def test_cpus_that_are_one_take_turns_and_are_judged_no_further() -> None:
    run = run_with(machine_of(3), awake={(0, 2): 2.0}, L2={(0, 2): 3.0})
    assert sharing(run)[0] == finding.CpusTakeTurns(
        cpus=[0, 2], times=Range(2, 2), severity="unexpected"
    )
    assert "L2" not in [work for _, work, _, _ in shared(run)]


@pytest.mark.parametrize(
    ("times", "spread", "is_so", "severity"),
    [(1.5, 0.34, "changing", "unexpected"), (1.1, 0.01, "unknown", "undecided")],
)
def test_an_unsure_slowdown(times: float, spread: float, is_so: str, severity: str) -> None:
    run = run_with(machine_of(2), spread=spread, scalar={(0, 1): times}, L3={}, memory={})
    assert ([0, 1], "scalar", is_so, False) in shared(run)
    assert severity in [one.severity for one in sharing(run)]


@pytest.mark.parametrize("repeats", [0, 1, 7])
def test_too_few_repeats_decide_nothing(repeats: int) -> None:
    two = machine_of(2)
    few, topology = sharing(run_with(two, repeats, vector={(0, 1): 1.9}, awake={(0, 1): 2.0}))
    assert few == TooFewRepeats(comparisons=7, repeats=repeats, needed=8, severity="undecided")
    assert isinstance(topology, finding.ReportedTopology)
    assert shared(run_with(two, 8, vector={(0, 1): 1.9}))[0][1] == "vector"
    few = TooFewRepeats(comparisons=196, repeats=8, needed=12, severity="undecided")
    assert sharing(run_with(machine_of(8), 8))[0] == few


def test_a_system_that_shares_nothing_names_nothing_however_noisy() -> None:
    """With noise as great as the limit in each of 196 comparisons: in 5 of 100 runs at most."""
    rng = np.random.default_rng(8)
    run = run_with(msgspec.structs.replace(machine_of(8), caches=[]))

    def noisy(matrix: Matrix) -> Matrix:
        limit = 1.3 if matrix.name == "awake" else 1.1
        repeats = [
            [list(limit * np.exp(rng.normal(0, 0.2, len(cell)))) for cell in row]
            for row in matrix.repeats
        ]
        return msgspec.structs.replace(matrix, repeats=repeats)

    named = 0
    for _ in range(40):
        noise = msgspec.structs.replace(run, matrices=[noisy(matrix) for matrix in run.matrices])
        named += any(is_so != "unknown" for _, _, is_so, _ in shared(noise))
    assert named <= 5


def test_near_and_far_messages_are_grouped_and_work_that_shares_nothing_is_one_finding() -> None:
    ways = {(a, b): 40.0 if a // 2 == b // 2 else 120.0 for a in range(4) for b in range(a + 1, 4)}
    assert sharing(run_with(machine_of(4), message=ways))[-3:-1] == [
        finding.NothingShared(cpus=[0, 1, 2, 3], work=["scalar", "vector", "L1", "L2"]),
        finding.MessageTime(ns=Range(40, 120), near=[[0, 1], [2, 3]], near_ns=40),
    ]


def test_cpus_that_are_offline_or_left_out_are_named() -> None:
    run = run_with(machine_of(2))
    more = [*run.machine.cpus, Cpu(2, online=False), Cpu(3)]
    machine = msgspec.structs.replace(run.machine, cpus=more)
    assert sharing(msgspec.structs.replace(run, machine=machine))[-2:] == [
        finding.CpusNotMeasured(cpus=[2], offline=True),
        finding.CpusNotMeasured(cpus=[3], offline=False),
    ]


def test_one_cpu_and_emulated_cpus_are_not_judged() -> None:
    assert sharing(run_with(machine_of(1))) == [finding.OnlyCpu(cpu=0, has_others=False)]
    lab = Lab("fast", None, 2, 1, "7.2", [], "k", "k", "0", None, "0")
    run = msgspec.structs.replace(run_with(machine_of(2), L2={(0, 1): 2.0}), lab=lab)
    assert sharing(run)[0] == finding.EmulatedCpus()
    assert not shared(run)


def test_the_reported_topology_is_grouped_by_level() -> None:
    halves, everyone = [[0, 1], [2, 3]], [[0, 1, 2, 3]]
    levels = {"core": halves, "L1": halves, "L2": halves, "L3": everyone, "node": halves}
    assert sharing(run_with(machine_of(4, siblings=2, l2=2, nodes=2)))[-1] == (
        finding.ReportedTopology(levels=[CpuGroups(*level) for level in levels.items()])
    )


@pytest.mark.parametrize("size", [2, 3, 8])
def test_a_group_is_named_whole(size: int) -> None:
    pairs = {(a, b): 1.5 for a in range(size) for b in range(a + 1, size)}
    run = run_with(machine_of(size + 2), L2=pairs)
    assert shared(run)[0] == ([*range(size)], "L2", "yes", False)


def test_a_ratio_that_is_not_positive_is_left_out() -> None:
    run, spoiled = (run_with(machine_of(2)) for _ in range(2))
    spoiled.matrices[0].repeats[0][1][-1] = -1.0
    assert sharing(spoiled) == sharing(run)


def of_one(repeats: list[float], comparisons: int = 7) -> Slowed:
    """The result for these repeats among others that show nothing."""
    others = {str(n): [1.0, 1.02] * (len(repeats) // 2) for n in range(comparisons - 1)}
    series = others | {"it": repeats}
    return slowed(series, dict.fromkeys(series, SHARED))["it"]


def test_the_fewest_repeats_are_those_of_the_sign_test() -> None:
    """2^-n for each of so many, together 5 %."""
    assert [repeats_needed(count) for count in (1, 7, 30, 196)] == [5, 8, 10, 12]
    few = TooFewRepeats(comparisons=7, repeats=1, needed=8, severity="undecided")
    assert too_few([[1.0]] * 7) == few
    assert too_few([[1.0] * 8] * 7) is None
    assert too_few([[1.0] * 8] * 6 + [[]])


@pytest.mark.parametrize(
    ("repeats", "result"),
    [
        ([1.9] * 8, Slowed.YES),
        ([1.0] * 8, Slowed.NO),
        ([1.9] * 7, Slowed.UNKNOWN),
        ([1.3] * 16 + [0.5, 9.0, 0.9], Slowed.YES),
        ([1.02] * 16 + [0.5, 9.0, 30.0], Slowed.NO),
        ([2.0] * 8 + [1.0] * 11, Slowed.CHANGING),
        ([1.0] * 4 + [2.0] * 15, Slowed.CHANGING),
        ([1.0] * 15 + [2.0] * 4, Slowed.UNKNOWN),
        ([0.4, 2.5] * 5 + [1.0] * 9, Slowed.NO),
    ],
)
def test_repeats_decide_despite_a_few_stalls(repeats: list[float], result: Slowed) -> None:
    assert of_one(repeats) is result


def test_a_slowdown_that_only_varies_does_not_change() -> None:
    rng = np.random.default_rng(4)
    varying = [of_one(list(rng.normal(1.35, 0.15, 19))) for _ in range(50)]
    assert Slowed.CHANGING not in varying
    assert varying.count(Slowed.YES) > 30
