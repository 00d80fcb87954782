# SPDX-License-Identifier: GPL-2.0-only
"""Relative speeds of a system's CPUs according to its kernel.

The capacity that a device tree gives a CPU is what it does at its highest frequency; a governor may
be held to less. Where all have the same, which is what the kernel says too of CPUs that it knows
nothing of, the frequencies are what differs.
"""

from collections.abc import Collection
from typing import Final

from rtscope.model.finding import ReportedSpeed
from rtscope.model.machine import Cpu, Machine

_HYBRID: Final = ("lowpower", "atom", "core")
"""the kinds of core of a hybrid x86, the fastest last"""


def reported_speeds(machine: Machine) -> dict[int, float]:
    """The speed of each online CPU, 1 for the fastest; empty if the kernel does not report it."""
    cpus = [cpu for cpu in machine.cpus if cpu.online]
    values = {cpu.number: _speed(cpu, by_capacity=_capacities_differ(machine)) for cpu in cpus}
    if not values or min(values.values()) <= 0:
        return {}
    most = max(values.values())
    return {number: value / most for number, value in values.items()}


def speed_rank(machine: Machine) -> dict[int, tuple[float, int]]:
    """The speed and kind of each CPU, for sorting: larger is faster."""
    reported = reported_speeds(machine)
    return {
        cpu.number: (
            reported.get(cpu.number, 0.0),
            _HYBRID.index(cpu.kind) if cpu.kind in _HYBRID else -1,
        )
        for cpu in machine.cpus
    }


def is_lesser_kind(kind: str | None, than: Collection[str | None]) -> bool:
    """Whether a core of this kind is reported as slower than those of others.

    Of a hybrid x86 it is known which are; of other kinds only that they differ.
    """
    if not kind or None in than or kind in than:
        return False
    ranks = [_HYBRID.index(one) for one in (kind, *than) if one in _HYBRID]
    return len(ranks) <= len(than) or ranks[0] < min(ranks[1:])


def reported_kinds(machine: Machine) -> dict[int, tuple[float | None, str | None]]:
    """The reported speed and kind of each CPU: CPUs with equal ones are equal."""
    reported = reported_speeds(machine)
    return {cpu.number: (reported.get(cpu.number), cpu.kind) for cpu in machine.cpus}


def reported_speed(machine: Machine, number: int) -> ReportedSpeed:
    """The reported speed of one CPU: its capacity, or its frequency."""
    cpus = {cpu.number: cpu for cpu in machine.cpus if cpu.online}
    cpu = cpus[number]
    if not _capacities_differ(machine):
        most_khz = max(one.max_khz or 0 for one in cpus.values())
        return ReportedSpeed(khz=cpu.max_khz or 0, highest_khz=most_khz)
    return ReportedSpeed(
        capacity=cpu.capacity,
        highest_capacity=max(one.capacity or 0 for one in cpus.values()),
        held_percent=_held_to(cpu) * 100 if _held_to(cpu) < 1 else None,
    )


def _capacities_differ(machine: Machine) -> bool:
    reported = {cpu.capacity for cpu in machine.cpus if cpu.online}
    return len(reported) > 1 and None not in reported


def _speed(cpu: Cpu, *, by_capacity: bool) -> float:
    return (cpu.capacity or 0) * _held_to(cpu) if by_capacity else cpu.max_khz or 0.0


def _held_to(cpu: Cpu) -> float:
    """The share of its highest frequency that its governor allows."""
    return min(1.0, cpu.max_khz / cpu.peak_khz) if cpu.max_khz and cpu.peak_khz else 1.0
