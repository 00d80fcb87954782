# SPDX-License-Identifier: GPL-2.0-only
"""Caches of known sizes are found in the times of loads, and held against the kernel's."""

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from rtscope.model.machine import Cache, Cpu, Machine
from rtscope.model.run import Asked, Matrix, Run
from rtscope.statistics.reach import knees, reach, size_text, sizes_of
from tests.measured import run_of, thread_of
from tests.strategies import runs

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


def told(run: Run) -> list[str]:
    return [f"{'≠ ' if one.disagrees else ''}{one.text}" for one in reach(run)]


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


def test_where_the_kernel_is_right_one_sentence_says_so() -> None:
    found = told(run_with(times([48 << 10, 2 << 20], [1.7, 5.4, 130])))
    assert (
        "caches show where the kernel says: L1 at 48 KiB of 48 KiB, L2 at 2 MiB of 2 MiB" in found
    )
    assert not any(line.startswith("≠") for line in found)


def test_a_cache_of_another_size_is_told() -> None:
    found = told(run_with(times([48 << 10, 512 << 10], [1.7, 5.4, 130])))
    assert (
        "≠ the kernel says that the L2 cache has 2 MiB, but loads slow down beyond 512 KiB" in found
    )
    virtual = told(run_with(times([48 << 10, 512 << 10], [1.7, 5.4, 130]), virtualisation="KVM"))
    assert any(line.endswith("what others leave") for line in virtual)


def test_of_big_and_little_cores_the_caches_are_those_of_the_cpu_that_was_measured() -> None:
    little = [Cache(1, "data", 32 << 10, [0]), Cache(2, "unified", 512 << 10, [0])]
    big = [Cache(1, "data", 64 << 10, [1]), Cache(2, "unified", 4 << 20, [1])]
    run = run_with(times([64 << 10, 4 << 20], [1.7, 5.4, 130]), caches=[*little, *big])
    run = msgspec.structs.replace(run, threads=run.threads[1:])
    text = "caches show where the kernel says: L1 at 64 KiB of 64 KiB, L2 at 4 MiB of 4 MiB"
    assert text in told(run)


def test_a_cache_that_does_not_show_and_one_that_nobody_knows_are_told() -> None:
    missing = told(run_with(times([48 << 10], [1.7, 130])))
    assert "≠ the L2 cache of 2 MiB does not show in the times of loads" in missing
    [virtual] = [
        line
        for line in told(run_with(times([48 << 10], [1.7, 130]), virtualisation="KVM"))
        if "does not show" in line
    ]
    assert virtual.startswith("the L2 cache")
    assert virtual.endswith("what others leave")
    more = told(run_with(times([48 << 10, 2 << 20, 32 << 20], [1.7, 5.4, 30, 130])))
    assert "≠ loads slow down beyond 32 MiB too, where the kernel knows of no cache" in more


def test_memory_itself_is_told_and_what_all_cpus_get_of_it() -> None:
    found = told(run_with(times([48 << 10, 2 << 20], [1.7, 5.4, 130])))
    assert (
        "from memory a load takes 130 ns; one CPU reads 10 GB/s, writes 10 GB/s and copies 10 GB/s"
        in found
    )
    assert "all 2 CPUs together read 20 GB/s, 2.00 times as much as one" in found


def test_pages_that_are_not_ordinary_are_told_beside_the_figures() -> None:
    run = run_with(times([48 << 10, 2 << 20], [1.7, 5.4, 130]))
    huge = msgspec.structs.replace(run, asked=Asked(options={"huge_page_bytes": 2 << 20}))
    assert any("from memory in huge pages of 2 MiB a load takes" in text for text in told(huge))
    ordinary = msgspec.structs.replace(run, asked=Asked(options={"huge_page_bytes": 0}))
    assert not any("huge" in text for text in told(ordinary))


def test_a_largest_set_that_a_cache_holds_is_not_called_memory() -> None:
    known = [Cache(1, "data", 48 << 10, [0]), Cache(3, "unified", 512 << 20, [0])]
    found = told(run_with(times([48 << 10], [1.7, 60]), caches=known))
    assert any(
        line.startswith(
            "from 192 MiB, the largest set, which is not larger than the L3 cache, a load takes 60"
        )
        for line in found
    )
    assert not any("from memory" in line for line in found)


def test_who_disturbs_is_told_worst_first() -> None:
    map_ = disturbance([[1.0, 1.2, None], [1.3, 1.9, None]])
    found = told(run_with(times([48 << 10, 2 << 20], [1.7, 5.4, 130]), map_))
    assert found[:2] == [
        "pages on the other CPUs slow loads of the first: from L2 1.20 times as long, "
        "from memory 1.90 times as long",
        "streams on the other CPUs slow loads of the first: from memory 1.30 times as long",
    ]


def test_that_nobody_disturbs_is_told_too() -> None:
    quiet = disturbance([[1.02, 1.0]])
    found = told(run_with(times([48 << 10, 2 << 20], [1.7, 5.4, 130]), quiet))
    assert found[0] == "nothing that the other CPUs did slowed loads of the first by a tenth"


def test_of_too_few_repeats_no_disturbance_is_told() -> None:
    found = told(run_with(times([48 << 10], [1.7, 130]), disturbance([[1.9, 1.0]], repeats=1)))
    assert found[0].startswith("what slows what cannot be told from 1 repeat: 2 comparisons need 6")
    assert not any("slow loads of the first" in line for line in found)


def test_a_disturbance_that_comes_and_goes_is_told_to_change() -> None:
    steady = disturbance([[1.9, 1.0]])
    moved = msgspec.structs.replace(
        steady, repeats=[[steady.repeats[0][0], [1.0] * 9 + [2.0] * 9]], value=[[1.9, 1.5]]
    )
    assert told(run_with(times([48 << 10], [1.7, 130]), moved))[:2] == [
        "streams on the other CPUs slow loads of the first: from L2 1.90 times as long",
        "pages on the other CPUs slow loads of the first: from L2 1.00 to 2.00 times, which "
        "changes",
    ]


def test_which_disturbances_cannot_be_told_is_told() -> None:
    near = disturbance([[1.9, 1.0]])
    near = msgspec.structs.replace(near, repeats=[[near.repeats[0][0], [1.05, 1.15] * 9]])
    found = told(run_with(times([48 << 10], [1.7, 130]), near))
    assert found[1] == (
        "1 of 2 disturbances cannot be told (pages from L2); more --samples may tell"
    )


def test_a_lone_cpu_and_missing_partitions_are_told() -> None:
    run = run_with(times([48 << 10, 2 << 20], [1.7, 5.4, 130]))
    lone = msgspec.structs.replace(run, threads=run.threads[:1])
    assert told(lone)[0] == "CPU 0 was measured alone: none could disturb it"
    assert "caches cannot be partitioned here: the kernel offers no resctrl" in told(run)


def test_what_can_be_partitioned_is_told() -> None:
    run = run_with(times([48 << 10, 2 << 20], [1.7, 5.4, 130]))
    options: dict[str, str | int | float | bool] = {"resctrl": True}
    offered = msgspec.structs.replace(run, asked=Asked(options=options))
    assert "once resctrl is mounted: mount -t resctrl" in told(offered)[-1]
    options |= {"resctrl_l3_ways": 11, "resctrl_l3_groups": 16}
    options |= {"resctrl_bandwidth_step_percent": 10}
    assert told(msgspec.structs.replace(run, asked=Asked(options=options)))[-1] == (
        "resctrl can partition the L3 cache by 11 ways into 16 groups, the bandwidth of memory in "
        "steps of 10 %; this was measured without"
    )


def test_what_half_of_the_caches_helps_against_and_costs_is_told() -> None:
    options: dict[str, str | int | float | bool] = {"resctrl": True, "resctrl_l3_ways": 11}
    without = disturbance([[1.9, 1.0], [1.3, 1.0]])

    def halved(rows: list[list[float | None]], repeats: int = 18) -> list[str]:
        parted = msgspec.structs.replace(disturbance(rows, repeats), name="partitioned")
        run = run_with(times([48 << 10], [1.7, 130]), without, parted)
        return told(msgspec.structs.replace(run, asked=Asked(options=options)))[-3:]

    begin = "half of the caches for the first CPU and half for the others"
    offer = "resctrl can partition the L3 cache by 11 ways into some groups"
    assert halved([[1.2, 1.0], [1.3, 1.4]]) == [
        f"{begin} help against streams: its loads from L2 take 1.20 times as long instead of 1.90",
        f"{begin} cost beside pages: its loads from memory take 1.40 times as long instead of 1.00",
        offer,
    ]
    assert halved([[1.9, 1.0], [1.3, 1.0]])[-2:] == [
        "half of the caches for each side changes no slowdown by a tenth",
        offer,
    ]
    assert "too few repeats" in halved([[1.2, 1.0], [1.3, 1.0]], 2)[-2]


def test_sizes_are_those_of_ascending_columns_alone() -> None:
    matrix = curve("latency", "ns", [1.0] * len(SIZES))
    assert sizes_of(matrix) == SIZES
    for columns in (["CPU 0"], [], ["8192", "4096"], ["٤"]):
        rows: list[list[float | None]] = [[1.0] * len(columns)]
        assert sizes_of(Matrix("m", "ns", ["a"], columns, rows, rows, rows)) == []
    assert [size_text(s) for s in (512, 49152, 2 << 20, 3 << 19)] == [
        "512 B", "48 KiB", "2 MiB", "1.5 MiB",
    ]  # fmt: skip


@given(runs())
def test_whatever_a_file_holds_is_told_in_words(run: Run) -> None:
    assert all(one.text for one in reach(run))
