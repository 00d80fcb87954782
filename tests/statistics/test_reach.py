# SPDX-License-Identifier: GPL-2.0-only
"""Caches of known sizes are found in the times of loads, and compared with the kernel's."""

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rtscope.model import finding
from rtscope.model.finding import CacheSize, Finding, Range, Victim
from rtscope.model.machine import Cache, Cpu, Machine
from rtscope.model.run import Asked, Matrix, Run
from rtscope.statistics.reach import knees, reach, sizes_of
from tests.measured import run_of, thread_of

SIZES = sorted(k << n for n in range(12, 27) for k in (2, 3))
L1, L2 = 48 << 10, 2 << 20


def times(caches: list[int], ns: list[float]) -> list[float]:
    """Loads answered by the first cache that holds the set; ns has one more, the memory's."""
    return [ns[sum(size > cache for cache in caches)] for size in SIZES]


AS_REPORTED = times([L1, L2], [1.7, 5.4, 130])
WITHOUT_L2 = times([L1], [1.7, 130])


def curve(name: str, unit: str, *rows: list[float]) -> Matrix:
    columns = [str(size) for size in SIZES]
    values: list[list[float | None]] = [[*row] for row in rows]
    places = ["CPU 0", "all 2 CPUs"][: len(rows)]
    return Matrix(name, unit, places, columns, values, values, values)


def disturbance(rows: list[list[float | None]], repeats: int = 18) -> Matrix:
    """Each figure as often, for victims and columns by their number."""
    each = [[[] if one is None else [one] * repeats for one in row] for row in rows]
    columns = ["streams", "pages", "x"][: len(rows[0])]
    return Matrix(
        "disturbance", "ratio", ["L2", "memory"][: len(rows)], columns, rows, rows, rows, each
    )


def run_with(latency: list[float], *more: Matrix, **machine: object) -> Run:
    caches = [Cache(1, "data", L1, [0]), Cache(2, "unified", L2, [0])]
    known = Machine(cpus=[Cpu(0), Cpu(1)], caches=caches)
    flat = [1e10] * len(SIZES)
    matrices = [curve("latency", "ns", latency, latency)]
    matrices += [
        curve(n, "bytes_per_s", flat, [2e10] * len(SIZES)) for n in ("read", "write", "copy")
    ]
    return run_of(
        thread_of([80], 0),
        thread_of([80], 1),
        probe="memory",
        machine=msgspec.structs.replace(known, **machine),
        matrices=[*matrices, *more],
        asked=Asked(options={"resctrl": False}),
    )


def with_options(run: Run, **options: str | float | bool) -> Run:
    return msgspec.structs.replace(run, asked=Asked(options=options))


@given(
    st.lists(st.integers(2, len(SIZES) // 4 - 2), min_size=1, max_size=3),
    st.floats(1.35, 6),
    st.lists(st.floats(0.97, 1.03), min_size=len(SIZES), max_size=len(SIZES)),
)
def test_caches_are_found_through_noise(gaps: list[int], step: float, noise: list[float]) -> None:
    places = [sum(gaps[: n + 1]) + n for n in range(len(gaps))]
    caches = [SIZES[place] for place in places]
    ns = [2 * step**n for n in range(len(caches) + 1)]
    seen = [one * factor for one, factor in zip(times(caches, ns), noise, strict=True)]
    assert knees(SIZES, seen) == caches


def test_a_cache_ends_where_loads_slow_down_most_and_a_slow_slope_is_none() -> None:
    sizes = [kib << 10 for kib in (24, 32, 48, 64, 96, 128, 192)]
    assert knees(sizes, [1.74, 1.75, 2.09, 5.4, 6.1, 6.2, 6.2]) == [48 << 10]
    assert knees(SIZES, [1.05**n for n in range(len(SIZES))]) == []


def test_a_run_with_caches_as_reported_has_no_unexpected_finding() -> None:
    speed = finding.MemorySpeed(
        load_ns=130, read_bytes_per_s=1e10, write_bytes_per_s=1e10, copy_bytes_per_s=1e10
    )
    run = run_with(AS_REPORTED)
    assert reach(run) == [
        finding.OnlyCpu(cpu=0, has_others=True),
        finding.CachesAsReported(caches=[CacheSize(1, L1, L1), CacheSize(2, L2, L2)]),
        speed,
        finding.MemoryTogether(readers="all 2 CPUs", read_bytes_per_s=2e10, times=2),
        finding.Partitioning(state="unsupported"),
    ]
    huge = msgspec.structs.replace(speed, huge_page_bytes=2 << 20)
    assert huge in reach(with_options(run, huge_page_bytes=2 << 20))


SMALL = times([L1, 512 << 10], [1.7, 5.4, 130])


@pytest.mark.parametrize(
    ("seen", "host", "found"),
    [
        (SMALL, None, finding.CacheNotAsReported(
            cache=CacheSize(2, L2, 512 << 10), virtual=False, severity="unexpected")),
        (SMALL, "KVM", finding.CacheNotAsReported(
            cache=CacheSize(2, L2, 512 << 10), virtual=True, severity="info")),
        (WITHOUT_L2, None, finding.CacheNotAsReported(
            cache=CacheSize(2, L2, None), virtual=False, severity="unexpected")),
        (times([L1, L2, 16 << 20], [1.7, 5.4, 30, 130]), None, finding.CacheNotReported(
            seen_bytes=16 << 20, severity="unexpected")),
    ],
)  # fmt: skip
def test_a_cache_is_not_as_reported(seen: list[float], host: str | None, found: Finding) -> None:
    assert found in reach(run_with(seen, virtualisation=host))


def test_of_big_and_little_cores_the_caches_are_those_of_the_cpu_that_was_measured() -> None:
    sizes = ((32 << 10, 512 << 10), (64 << 10, 4 << 20))
    caches = [
        Cache(level, "unified", size, [cpu])
        for cpu, levels in enumerate(sizes)
        for level, size in enumerate(levels, 1)
    ]
    run = run_with(times([64 << 10, 4 << 20], [1.7, 5.4, 130]), caches=caches)
    big = [CacheSize(level, size, size) for level, size in enumerate(sizes[1], 1)]
    on_big = msgspec.structs.replace(run, threads=run.threads[1:])
    assert finding.CachesAsReported(caches=big) in reach(on_big)


def test_a_largest_set_that_a_cache_holds_is_not_called_memory() -> None:
    known = [Cache(1, "data", L1, [0]), Cache(3, "unified", 512 << 20, [0])]
    found = reach(run_with(times([L1], [1.7, 60]), caches=known))
    [speed] = [one for one in found if isinstance(one, finding.MemorySpeed)]
    assert (speed.cached_bytes, speed.cache_level) == (192 << 20, 3)


def with_second(repeats: list[float]) -> Matrix:
    """One victim, which streams disturb and pages as in these repeats."""
    steady = disturbance([[1.9, 1.0]])
    return msgspec.structs.replace(steady, repeats=[[steady.repeats[0][0], repeats]])


STREAMS = finding.Disturbance(work="streams", victims=[Victim("L2", Range(1.9, 1.9))])


@pytest.mark.parametrize(
    ("matrix", "found"),
    [
        (disturbance([[1.0, 1.2, None], [1.3, 1.9, None]]),
         [finding.Disturbance(work="pages", victims=[
             Victim("L2", Range(1.2, 1.2)), Victim("memory", Range(1.9, 1.9))]),
          finding.Disturbance(work="streams", victims=[Victim("memory", Range(1.3, 1.3))])]),
        (disturbance([[1.02, 1.0]]), [finding.NoDisturbance()]),
        (disturbance([[1.9, 1.0]], repeats=1),
         [finding.TooFewRepeats(comparisons=2, repeats=1, needed=6, severity="undecided")]),
        (with_second([1.0] * 9 + [2.0] * 9),
         [STREAMS, finding.Disturbance(
             work="pages", victims=[Victim("L2", Range(1, 2), changing=True)])]),
        (with_second([1.05, 1.15] * 9),
         [STREAMS, finding.DisturbancesUndecided(
             pairs=[("pages", "L2")], of=2, severity="undecided")]),
    ],
    ids=["worst-first", "none", "too-few", "changing", "undecided"],
)  # fmt: skip
def test_disturbances_are_named(matrix: Matrix, found: list[Finding]) -> None:
    assert reach(run_with(WITHOUT_L2, matrix))[: len(found)] == found


def test_what_resctrl_can_partition_depends_on_the_kernel_and_its_mount() -> None:
    run = with_options(run_with(AS_REPORTED), resctrl=True)
    assert reach(run)[-1] == finding.Partitioning(state="not mounted")
    limits = {"resctrl_l3_ways": 11, "resctrl_l3_groups": 16, "resctrl_bandwidth_step_percent": 10}
    assert reach(with_options(run, resctrl=True, **limits))[-1] == finding.Partitioning(
        state="unused", caches=[finding.CachePartition(3, 11, 16)], bandwidth_step_percent=10
    )


def test_half_of_the_caches_helps_or_costs() -> None:
    without = disturbance([[1.9, 1.0], [1.3, 1.0]])

    def halved(rows: list[list[float | None]], repeats: int = 18) -> list[Finding]:
        parted = msgspec.structs.replace(disturbance(rows, repeats), name="partitioned")
        run = run_with(WITHOUT_L2, without, parted)
        return reach(with_options(run, resctrl=True, resctrl_l3_ways=11))[-3:]

    changes = finding.PartitionChanges
    assert halved([[1.2, 1.0], [1.3, 1.4]]) == [
        changes(helps=True, work="streams", level="L2", before=1.9, after=1.2),
        changes(helps=False, work="pages", level="memory", before=1.0, after=1.4),
        finding.Partitioning(state="used", caches=[finding.CachePartition(3, 11, None)]),
    ]
    assert halved([[1.9, 1.0], [1.3, 1.0]])[1] == finding.PartitionChangesNothing()
    undecided = finding.PartitionUndecided(severity="undecided")
    assert halved([[1.2, 1.0], [1.3, 1.0]], 2)[1] == undecided


def test_sizes_are_those_of_ascending_columns_alone() -> None:
    assert sizes_of(curve("latency", "ns", [1.0] * len(SIZES))) == SIZES
    for columns in (["CPU 0"], [], ["8192", "4096"], ["٤"]):
        rows: list[list[float | None]] = [[1.0] * len(columns)]
        assert sizes_of(Matrix("m", "ns", ["a"], columns, rows, rows, rows)) == []
