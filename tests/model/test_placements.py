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
from tests.sweeps import T2080, T4240, machine_of


def placed(machine: Machine, usable: Sequence[int], counts: Sequence[int]) -> dict[str, list[int]]:
    """By the order's name, the CPUs of its last placement in the order they were added."""
    told = {}
    for order in orders_of(machine, usable, counts):
        line: list[int] = []
        for placement in order.placements:
            line += [cpu for cpu in placement.cpus if cpu not in line]
        told[order.name] = line
    return told


def test_threads_get_a_core_each_before_they_share_one_or_the_other_way_round() -> None:
    assert placed(T2080, range(8), range(1, 9)) == {
        "cores first": [0, 2, 4, 6, 1, 3, 5, 7],
        "siblings first": [0, 1, 2, 3, 4, 5, 6, 7],
    }


def test_threads_get_a_cache_each_where_there_are_several() -> None:
    assert placed(T4240, range(24), range(1, 7)) == {
        "cores first": [0, 2, 4, 6, 8, 10],
        "caches apart": [0, 8, 16, 2, 10, 18],
        "siblings first": [0, 1, 2, 3, 4, 5],
    }


def test_fast_cores_come_before_slow_ones() -> None:
    big_little = machine_of(4, 1, khz=[600_000, 600_000, 1_800_000, 1_800_000])
    assert placed(big_little, range(4), range(1, 5)) == {"cores first": [2, 3, 0, 1]}
    assert kinds_of(big_little, range(4)) == [Placement((0,), 1), Placement((2,), 1)]
    assert kinds_of(T2080, range(8)) == [Placement((0,), 1)]


def test_cores_of_more_capacity_or_of_the_faster_kind_come_first() -> None:
    little = unlike([446, 1024, 446, 1024], [None] * 4)
    assert placed(little, range(4), range(1, 5)) == {"cores first": [1, 3, 0, 2]}
    assert kinds_of(little, range(4)) == [Placement((0,), 1), Placement((1,), 1)]
    hybrid = unlike([None] * 4, ["atom", "atom", "core", "core"])
    assert placed(hybrid, range(4), range(1, 5)) == {"cores first": [2, 3, 0, 1]}
    assert kinds_of(hybrid, range(4)) == [Placement((0,), 1), Placement((2,), 1)]


def test_a_fast_core_that_is_held_below_its_frequency_comes_later() -> None:
    machine = unlike([512, 1024, 1024, 512], [None] * 4)
    held = [
        msgspec.structs.replace(
            cpu, peak_khz=2_000_000, max_khz=800_000 if cpu.number == 1 else 2_000_000
        )
        for cpu in machine.cpus
    ]
    machine = msgspec.structs.replace(machine, cpus=held)
    assert placed(machine, range(4), range(1, 5)) == {"cores first": [2, 0, 3, 1]}


def unlike(capacities: Sequence[int | None], kinds: Sequence[str | None]) -> Machine:
    """Four cores of these capacities and kinds."""
    machine = machine_of(4, 1)
    cpus = [
        msgspec.structs.replace(cpu, capacity=capacities[cpu.number], kind=kinds[cpu.number])
        for cpu in machine.cpus
    ]
    return msgspec.structs.replace(machine, cpus=cpus)


def test_each_of_a_few_cpus_is_tried_alone_and_of_many_one_of_each_kind() -> None:
    assert each_alone(T2080, range(8)) == [Placement((cpu,), 1) for cpu in range(8)]
    assert each_alone(T4240, range(24)) == [Placement((0,), 1)]


def test_one_cpu_and_a_machine_that_tells_nothing_have_one_order_and_no_sharing() -> None:
    assert placed(machine_of(1, 1), [0], [1]) == {"cores first": [0]}
    assert pairs_of(machine_of(1, 1), [0]) == []
    assert placed(Machine(), [0, 1, 2], [1, 2, 3]) == {"cores first": [0, 1, 2]}
    assert pairs_of(Machine(), [0, 1, 2]) == [Pair("", Placement((0, 1), 2))]


def test_a_cpu_that_is_offline_or_in_no_cpuset_of_ours_is_left_alone() -> None:
    without = machine_of(4, 2, offline=2)
    assert placed(without, [0, 1, 3, 4, 5, 6, 7], range(1, 8))["cores first"] == [
        *(0, 3, 4, 6, 1, 5, 7)
    ]
    assert placed(T2080, [1, 4, 5], [1, 2, 3]) == {"cores first": [1, 4, 5]}


def test_each_thing_that_two_cpus_can_share_is_tried_once_the_nearest_first() -> None:
    assert [(pair.shared, pair.placement.cpus) for pair in pairs_of(T4240, range(24))] == [
        ("core", (0, 1)),
        ("L2 cache", (0, 2)),
        ("package", (0, 8)),
    ]
    assert [pair.shared for pair in pairs_of(T4240, [0, 2, 4])] == ["L2 cache"]


def test_more_threads_than_cpus_get_all_of_them() -> None:
    [order] = orders_of(machine_of(1, 1), [0], [1, 2, 4])
    assert order.placements == [Placement((0,), 1), Placement((0,), 2), Placement((0,), 4)]


@pytest.mark.parametrize(
    ("cpus", "counts"),
    [(1, [1]), (2, [1, 2]), (8, [*range(1, 9)]), (24, [*range(1, 9), 12, 16, 24])],
)
def test_numbers_of_threads_grow_thinner(cpus: int, counts: list[int]) -> None:
    assert thread_counts(cpus) == counts


@given(
    cores=st.integers(1, 8),
    threads=st.integers(1, 4),
    data=st.data(),
)
def test_every_order_begins_with_one_thread_and_ends_with_all_cpus(
    cores: int, threads: int, data: st.DataObject
) -> None:
    all_cpus = range(cores * threads)
    usable = data.draw(st.sets(st.sampled_from(all_cpus), min_size=1))
    counts = range(1, len(usable) + 1)
    for order in orders_of(machine_of(cores, threads), sorted(usable), counts):
        for placement, count in zip(order.placements, counts, strict=True):
            assert placement.threads == len(placement.cpus) == count
        assert set(order.placements[-1].cpus) == usable
