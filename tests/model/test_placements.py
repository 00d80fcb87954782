# SPDX-License-Identifier: GPL-2.0-only
"""Threads are placed as a machine's topology makes sense of."""

from collections.abc import Sequence

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rtscope.model.machine import Machine
from rtscope.model.placements import each_alone, kinds_of, orders_of, pairs_of, thread_counts
from rtscope.model.scaling import Pair, Placement
from tests.placements import T2080, T4240, machine_of


def placed(machine: Machine, usable: Sequence[int], counts: Sequence[int]) -> dict[str, list[int]]:
    """By the order's name, the CPUs of its last placement in the order they were added."""
    return {
        order.name: list(dict.fromkeys(cpu for one in order.placements for cpu in one.cpus))
        for order in orders_of(machine, usable, counts)
    }


@pytest.mark.parametrize(
    ("machine", "usable", "most", "expected"),
    [
        (T2080, range(8), 8, {
            "cores first": [0, 2, 4, 6, 1, 3, 5, 7], "siblings first": [0, 1, 2, 3, 4, 5, 6, 7]}),
        (T4240, range(24), 6, {
            "cores first": [0, 2, 4, 6, 8, 10], "caches apart": [0, 8, 16, 2, 10, 18],
            "siblings first": [0, 1, 2, 3, 4, 5]}),
        (T2080, [1, 4, 5], 3, {"cores first": [1, 4, 5]}),
        (machine_of(4, 2, offline=2), [0, 1, 3, 4, 5, 6, 7], 7, {
            "cores first": [0, 3, 4, 6, 1, 5, 7], "siblings first": [0, 1, 3, 4, 5, 6, 7]}),
        (machine_of(1, 1), [0], 1, {"cores first": [0]}),
        (Machine(), [0, 1, 2], 3, {"cores first": [0, 1, 2]}),
    ],
    ids=["siblings", "caches", "cpuset", "offline", "one-cpu", "unknown"],
)  # fmt: skip
def test_threads_are_spread_or_packed_by_what_cpus_share(
    machine: Machine, usable: Sequence[int], most: int, expected: dict[str, list[int]]
) -> None:
    assert placed(machine, usable, range(1, most + 1)) == expected


def unlike(**fields: Sequence[object]) -> Machine:
    """Four cores that differ in these fields."""
    machine = machine_of(4, 1)
    cpus = [
        msgspec.structs.replace(cpu, **{name: each[cpu.number] for name, each in fields.items()})
        for cpu in machine.cpus
    ]
    return msgspec.structs.replace(machine, cpus=cpus)


HELD = {"peak_khz": [2_000_000] * 4, "max_khz": [2_000_000, 800_000, 2_000_000, 2_000_000]}


@pytest.mark.parametrize(
    ("machine", "order", "kinds"),
    [
        (machine_of(4, 1, khz=[600_000, 600_000, 1_800_000, 1_800_000]), [2, 3, 0, 1], [0, 2]),
        (unlike(capacity=[446, 1024, 446, 1024]), [1, 3, 0, 2], [0, 1]),
        (unlike(kind=["atom", "atom", "core", "core"]), [2, 3, 0, 1], [0, 2]),
        (unlike(capacity=[512, 1024, 1024, 512], **HELD), [2, 0, 3, 1], [0, 1, 2]),
        (machine_of(4, 1), [0, 1, 2, 3], [0]),
    ],
    ids=["frequency", "capacity", "kind", "held-below-its-frequency", "equal"],
)
def test_fast_cores_come_before_slow_ones_and_one_of_each_kind_is_measured_alone(
    machine: Machine, order: list[int], kinds: list[int]
) -> None:
    assert placed(machine, range(4), range(1, 5)) == {"cores first": order}
    assert kinds_of(machine, range(4)) == [Placement((cpu,), 1) for cpu in kinds]


def test_each_of_a_few_cpus_is_tried_alone_and_of_many_one_of_each_kind() -> None:
    assert each_alone(T2080, range(8)) == [Placement((cpu,), 1) for cpu in range(8)]
    assert each_alone(T4240, range(24)) == [Placement((0,), 1)]


def test_each_thing_that_two_cpus_can_share_is_tried_once_the_nearest_first() -> None:
    assert [(pair.shared, pair.placement.cpus) for pair in pairs_of(T4240, range(24))] == [
        ("core", (0, 1)),
        ("L2 cache", (0, 2)),
        ("package", (0, 8)),
    ]
    assert [pair.shared for pair in pairs_of(T4240, [0, 2, 4])] == ["L2 cache"]
    assert pairs_of(machine_of(1, 1), [0]) == []
    assert pairs_of(Machine(), [0, 1, 2]) == [Pair("", Placement((0, 1), 2))]


def test_more_threads_than_cpus_get_all_of_them() -> None:
    [order] = orders_of(machine_of(1, 1), [0], [1, 2, 4])
    assert order.placements == [Placement((0,), 1), Placement((0,), 2), Placement((0,), 4)]


@pytest.mark.parametrize(
    ("cpus", "counts"),
    [(1, [1]), (2, [1, 2]), (8, [*range(1, 9)]), (24, [*range(1, 9), 12, 16, 24])],
)
def test_numbers_of_threads_grow_thinner(cpus: int, counts: list[int]) -> None:
    assert thread_counts(cpus) == counts


@given(cores=st.integers(1, 8), threads=st.integers(1, 4), data=st.data())
def test_orders_end_with_all_cpus(cores: int, threads: int, data: st.DataObject) -> None:
    all_cpus = range(cores * threads)
    usable = data.draw(st.sets(st.sampled_from(all_cpus), min_size=1))
    counts = range(1, len(usable) + 1)
    for order in orders_of(machine_of(cores, threads), sorted(usable), counts):
        for placement, count in zip(order.placements, counts, strict=True):
            assert placement.threads == len(placement.cpus) == count
        assert set(order.placements[-1].cpus) == usable
