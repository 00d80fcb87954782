# SPDX-License-Identifier: GPL-2.0-only
"""Caches of known sizes are found in the times of loads, and held against the kernel's."""

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from rtscope.model.finding import (
    CacheNotAsReported,
    CacheNotReported,
    CachePartition,
    CachesAsReported,
    CacheSize,
    Disturbance,
    DisturbancesUndecided,
    Finding,
    MemorySpeed,
    MemoryTogether,
    NoDisturbance,
    OnlyCpu,
    PartitionChanges,
    PartitionChangesNothing,
    Partitioning,
    PartitionUndecided,
    Range,
    TooFewRepeats,
    Victim,
)
from rtscope.model.machine import Cache, Cpu, Machine
from rtscope.model.run import Asked, Matrix, Run
from rtscope.statistics.reach import knees, reach, sizes_of
from tests.measured import run_of, thread_of

SIZES = sorted(k << n for n in range(12, 27) for k in (2, 3))
PLACES = ["CPU 0", "all 2 CPUs"]


def times(caches: list[int], ns: list[float]) -> list[float]:
    """Loads answered by the first cache that holds the set; ns has one more, the memory's."""
    return [ns[sum(size > cache for cache in caches)] for size in SIZES]


def curve(name: str, unit: str, *rows: list[float]) -> Matrix:
    columns = [str(size) for size in SIZES]
    values: list[list[float | None]] = [[*row] for row in rows]
    return Matrix(name, unit, PLACES[: len(rows)], columns, values, values, values)


def disturbance(rows: list[list[float | None]], repeats: int = 18) -> Matrix:
    """Each figure as often, for victims and columns by their number."""
    each = [[[] if one is None else [one] * repeats for one in row] for row in rows]
    columns = ["streams", "pages", "x"][: len(rows[0])]
    victims = ["L2", "memory"][: len(rows)]
    return Matrix("disturbance", "ratio", victims, columns, rows, rows, rows, each)


def run_with(latency: list[float], *more: Matrix, **machine: object) -> Run:
    caches = [Cache(1, "data", 48 << 10, [0]), Cache(2, "unified", 2 << 20, [0])]
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


@given(
    st.lists(st.integers(2, len(SIZES) // 4 - 2), min_size=1, max_size=3),
    st.floats(1.35, 6),
    st.lists(st.floats(0.97, 1.03), min_size=len(SIZES), max_size=len(SIZES)),
)
def test_caches_of_any_sizes_are_found_through_noise(
    gaps: list[int], step: float, noise: list[float]
) -> None:
    places = [sum(gaps[: n + 1]) + n for n in range(len(gaps))]
    caches = [SIZES[place] for place in places]
    ns = [2 * step**n for n in range(len(caches) + 1)]
    seen = [one * factor for one, factor in zip(times(caches, ns), noise, strict=True)]
    assert knees(SIZES, seen) == caches


def test_a_cache_ends_where_loads_slow_down_most() -> None:
    sizes = [kib << 10 for kib in (24, 32, 48, 64, 96, 128, 192)]
    assert knees(sizes, [1.74, 1.75, 2.09, 5.4, 6.1, 6.2, 6.2]) == [48 << 10]


def test_a_slow_slope_is_no_cache() -> None:
    assert knees(SIZES, [1.05**n for n in range(len(SIZES))]) == []


L1, L2 = 48 << 10, 2 << 20
AS_REPORTED = times([L1, L2], [1.7, 5.4, 130])
Options = dict[str, str | int | float | bool]


def with_options(run: Run, **options: str | float | bool) -> Run:
    return msgspec.structs.replace(run, asked=Asked(options=options))


def test_caches_of_the_reported_sizes_are_one_finding() -> None:
    found = reach(run_with(AS_REPORTED))
    caches = [CacheSize(1, L1, L1), CacheSize(2, L2, L2)]
    assert CachesAsReported(caches=caches) in found
    assert {one.severity for one in found} == {"info"}


def test_a_cache_of_another_size_is_unexpected_unless_it_is_the_hosts() -> None:
    seen = times([L1, 512 << 10], [1.7, 5.4, 130])
    cache = CacheSize(2, L2, 512 << 10)
    for virtual, severity in ((False, "unexpected"), (True, "info")):
        run = run_with(seen, virtualisation="KVM") if virtual else run_with(seen)
        [found] = [one for one in reach(run) if isinstance(one, CacheNotAsReported)]
        assert (found.cache, found.virtual, found.severity) == (cache, virtual, severity)


def test_of_big_and_little_cores_the_caches_are_those_of_the_cpu_that_was_measured() -> None:
    little = [Cache(1, "data", 32 << 10, [0]), Cache(2, "unified", 512 << 10, [0])]
    big = [Cache(1, "data", 64 << 10, [1]), Cache(2, "unified", 4 << 20, [1])]
    run = run_with(times([64 << 10, 4 << 20], [1.7, 5.4, 130]), caches=[*little, *big])
    run = msgspec.structs.replace(run, threads=run.threads[1:])
    caches = [CacheSize(1, 64 << 10, 64 << 10), CacheSize(2, 4 << 20, 4 << 20)]
    assert CachesAsReported(caches=caches) in reach(run)


def test_a_cache_that_does_not_show_and_one_that_is_not_reported_are_unexpected() -> None:
    missing = reach(run_with(times([L1], [1.7, 130])))
    cache = CacheSize(2, L2, None)
    assert CacheNotAsReported(cache=cache, virtual=False, severity="unexpected") in missing
    more = reach(run_with(times([L1, L2, 16 << 20], [1.7, 5.4, 30, 130])))
    assert CacheNotReported(seen_bytes=16 << 20, severity="unexpected") in more


def test_memory_is_measured_by_one_cpu_and_by_all() -> None:
    found = reach(run_with(AS_REPORTED))
    speed = MemorySpeed(
        load_ns=130, read_bytes_per_s=1e10, write_bytes_per_s=1e10, copy_bytes_per_s=1e10
    )
    assert speed in found
    assert MemoryTogether(readers="all 2 CPUs", read_bytes_per_s=2e10, times=2) in found
    huge = reach(with_options(run_with(AS_REPORTED), huge_page_bytes=2 << 20))
    assert msgspec.structs.replace(speed, huge_page_bytes=2 << 20) in huge


def test_a_largest_set_that_a_cache_holds_is_not_called_memory() -> None:
    known = [Cache(1, "data", L1, [0]), Cache(3, "unified", 512 << 20, [0])]
    found = reach(run_with(times([L1], [1.7, 60]), caches=known))
    [speed] = [one for one in found if isinstance(one, MemorySpeed)]
    assert (speed.cached_bytes, speed.cache_level) == (192 << 20, 3)


def test_disturbances_are_named_worst_first() -> None:
    found = reach(run_with(AS_REPORTED, disturbance([[1.0, 1.2, None], [1.3, 1.9, None]])))
    assert found[:2] == [
        Disturbance(
            work="pages",
            victims=[Victim("L2", Range(1.2, 1.2)), Victim("memory", Range(1.9, 1.9))],
        ),
        Disturbance(work="streams", victims=[Victim("memory", Range(1.3, 1.3))]),
    ]


def test_no_disturbance_is_a_finding_too() -> None:
    assert reach(run_with(AS_REPORTED, disturbance([[1.02, 1.0]])))[0] == NoDisturbance()


def test_too_few_repeats_decide_no_disturbance() -> None:
    found = reach(run_with(times([L1], [1.7, 130]), disturbance([[1.9, 1.0]], repeats=1)))
    assert found[0] == TooFewRepeats(comparisons=2, repeats=1, needed=6, severity="undecided")


def test_a_disturbance_that_comes_and_goes_changes() -> None:
    steady = disturbance([[1.9, 1.0]])
    moved = msgspec.structs.replace(
        steady, repeats=[[steady.repeats[0][0], [1.0] * 9 + [2.0] * 9]], value=[[1.9, 1.5]]
    )
    assert reach(run_with(times([L1], [1.7, 130]), moved))[1] == Disturbance(
        work="pages", victims=[Victim("L2", Range(1, 2), changing=True)]
    )


def test_undecided_disturbances_are_named() -> None:
    near = disturbance([[1.9, 1.0]])
    near = msgspec.structs.replace(near, repeats=[[near.repeats[0][0], [1.05, 1.15] * 9]])
    assert reach(run_with(times([L1], [1.7, 130]), near))[1] == DisturbancesUndecided(
        pairs=[("pages", "L2")], of=2, severity="undecided"
    )


def test_a_lone_cpu_is_disturbed_by_none() -> None:
    run = run_with(AS_REPORTED)
    lone = msgspec.structs.replace(run, threads=run.threads[:1])
    assert reach(lone)[0] == OnlyCpu(cpu=0, has_others=True)


def test_what_resctrl_can_partition_depends_on_the_kernel_and_its_mount() -> None:
    run = run_with(AS_REPORTED)
    assert Partitioning(state="unsupported") in reach(run)
    options: Options = {"resctrl": True}
    assert reach(with_options(run, **options))[-1] == Partitioning(state="not mounted")
    options |= {"resctrl_l3_ways": 11, "resctrl_l3_groups": 16}
    options |= {"resctrl_bandwidth_step_percent": 10}
    assert reach(with_options(run, **options))[-1] == Partitioning(
        state="unused", caches=[CachePartition(3, 11, 16)], bandwidth_step_percent=10
    )


def test_half_of_the_caches_helps_or_costs() -> None:
    without = disturbance([[1.9, 1.0], [1.3, 1.0]])

    def halved(rows: list[list[float | None]], repeats: int = 18) -> list[Finding]:
        parted = msgspec.structs.replace(disturbance(rows, repeats), name="partitioned")
        run = run_with(times([L1], [1.7, 130]), without, parted)
        return reach(with_options(run, resctrl=True, resctrl_l3_ways=11))[-3:]

    assert halved([[1.2, 1.0], [1.3, 1.4]]) == [
        PartitionChanges(helps=True, work="streams", level="L2", before=1.9, after=1.2),
        PartitionChanges(helps=False, work="pages", level="memory", before=1.0, after=1.4),
        Partitioning(state="used", caches=[CachePartition(3, 11, None)]),
    ]
    assert halved([[1.9, 1.0], [1.3, 1.0]])[1] == PartitionChangesNothing()
    undecided = PartitionUndecided(severity="undecided")
    assert halved([[1.2, 1.0], [1.3, 1.0]], 2)[1] == undecided


def test_sizes_are_those_of_ascending_columns_alone() -> None:
    matrix = curve("latency", "ns", [1.0] * len(SIZES))
    assert sizes_of(matrix) == SIZES
    for columns in (["CPU 0"], [], ["8192", "4096"], ["٤"]):
        rows: list[list[float | None]] = [[1.0] * len(columns)]
        assert sizes_of(Matrix("m", "ns", ["a"], columns, rows, rows, rows)) == []
