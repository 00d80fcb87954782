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


def test_a_cache_that_does_not_show_and_one_that_nobody_knows_are_told() -> None:
    missing = told(run_with(times([48 << 10], [1.7, 130])))
    assert "≠ the L2 cache of 2 MiB does not show in the times of loads" in missing
    more = told(run_with(times([48 << 10, 2 << 20, 32 << 20], [1.7, 5.4, 30, 130])))
    assert "≠ loads slow down beyond 32 MiB too, where the kernel knows of no cache" in more


def test_memory_itself_is_told_and_what_all_cpus_get_of_it() -> None:
    found = told(run_with(times([48 << 10, 2 << 20], [1.7, 5.4, 130])))
    assert (
        "from memory a load takes 130 ns; one CPU reads 10 GB/s, writes 10 GB/s and copies 10 GB/s"
        in found
    )
    assert "all 2 CPUs together read 20 GB/s, 2.00 times as much as one" in found


def test_who_disturbs_is_told_worst_first() -> None:
    value: list[list[float | None]] = [[1.0, 1.2, None], [1.3, 1.9, None]]
    map_ = Matrix(
        "disturbance", "ratio", ["L2", "memory"], ["streams", "pages", "x"], value, value, value
    )
    found = told(run_with(times([48 << 10, 2 << 20], [1.7, 5.4, 130]), map_))
    assert found[:2] == [
        "pages on the other CPUs slow loads of the first: L2 1.20 times, memory 1.90 times",
        "streams on the other CPUs slow loads of the first: memory 1.30 times",
    ]


def test_that_nobody_disturbs_is_told_too() -> None:
    value: list[list[float | None]] = [[1.02, 1.0]]
    quiet = Matrix("disturbance", "ratio", ["L2"], ["streams", "pages"], value, value, value)
    found = told(run_with(times([48 << 10, 2 << 20], [1.7, 5.4, 130]), quiet))
    assert found[0] == "nothing that the other CPUs did slowed loads of the first by a tenth"


def test_a_lone_cpu_and_missing_partitions_are_told() -> None:
    run = run_with(times([48 << 10, 2 << 20], [1.7, 5.4, 130]))
    lone = msgspec.structs.replace(run, threads=run.threads[:1])
    assert told(lone)[0] == "CPU 0 was measured alone: none could disturb it"
    assert "caches cannot be partitioned here: the kernel offers no /sys/fs/resctrl" in told(run)


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
