# SPDX-License-Identifier: GPL-2.0-only
"""The placements of threads on a machine's CPUs that are worth a measurement."""

from collections import Counter
from collections.abc import Callable, Sequence
from itertools import combinations
from typing import Final

from rtscope.model.machine import Cpu, Machine
from rtscope.model.scaling import Order, Pair, Placement
from rtscope.model.speeds import reported_kinds, speed_rank

CORES_FIRST: Final = "cores first"
CACHES_APART: Final = "caches apart"
SIBLINGS_FIRST: Final = "siblings first"

_EACH_UP_TO: Final = 8


def thread_counts(cpus: int) -> list[int]:
    """Each number of threads up to 8, then two in each octave, and the number of CPUs."""
    counts = set(range(1, min(cpus, _EACH_UP_TO) + 1)) | {cpus}
    step = _EACH_UP_TO
    while step < cpus:
        counts |= {n for n in (step, step * 3 // 2) if n <= cpus}
        step *= 2
    return sorted(counts)


def orders_of(machine: Machine, usable: Sequence[int], counts: Sequence[int]) -> list[Order]:
    """Ways to give more threads more of the CPUs, those of them that differ.

    The fastest CPUs come first within each rule. Where there are more threads than CPUs they get
    all of them.
    """
    rules = [
        (CORES_FIRST, lambda cores, caches: (cores, 0)),
        (CACHES_APART, lambda cores, caches: (cores, caches)),
        (SIBLINGS_FIRST, lambda cores, caches: (-cores, 0)),
    ]
    found: dict[tuple[frozenset[int], ...], Order] = {}
    for name, rule in rules:
        line = _lined_up(machine, usable, rule)
        placements = [Placement(tuple(sorted(line[:count])), count) for count in counts]
        taken = tuple(frozenset(placement.cpus) for placement in placements)
        found.setdefault(taken, Order(name, placements))
    return list(found.values())


def _lined_up(
    machine: Machine, usable: Sequence[int], rule: Callable[[int, int], tuple[int, int]]
) -> list[int]:
    """The CPUs in the order that the rule makes of what is taken of their core and caches."""
    core, cache = _core_of(machine), _last_cache_of(machine)
    speed = speed_rank(machine)
    on_core: Counter[int] = Counter()
    on_cache: Counter[int] = Counter()
    line: list[int] = []
    left = set(usable)

    def rank(cpu: int) -> tuple[tuple[int, int], float, int, int]:
        taken = rule(on_core[core.get(cpu, cpu)], on_cache[cache.get(cpu, -1)])
        work, kind = speed.get(cpu, (0.0, 0))
        return taken, -work, -kind, cpu

    while left:
        chosen = min(left, key=rank)
        left.remove(chosen)
        line.append(chosen)
        on_core[core.get(chosen, chosen)] += 1
        on_cache[cache.get(chosen, -1)] += 1
    return line


def pairs_of(machine: Machine, usable: Sequence[int]) -> list[Pair]:
    """For each thing that two of these CPUs may share, the first two that share nothing nearer.

    The nearest comes first.
    """
    found: dict[tuple[int, str], Pair] = {}
    for first, second in combinations(sorted(usable), 2):
        rank, shared = _shared(machine, first, second)
        found.setdefault((rank, shared), Pair(shared, Placement((first, second), 2)))
    return [found[key] for key in sorted(found)]


def kinds_of(machine: Machine, usable: Sequence[int]) -> list[Placement]:
    """One thread on the first CPU of each speed and kind reported by the kernel."""
    kinds = reported_kinds(machine)
    first = {kinds.get(cpu): cpu for cpu in sorted(usable, reverse=True)}
    return [Placement((cpu,), 1) for cpu in sorted(first.values())]


def each_alone(machine: Machine, usable: Sequence[int]) -> list[Placement]:
    """One thread on each CPU; of many CPUs, on the first of each kind that the kernel reports."""
    if len(usable) > _EACH_UP_TO:
        return kinds_of(machine, usable)
    return [Placement((cpu,), 1) for cpu in sorted(usable)]


def _shared(machine: Machine, first: int, second: int) -> tuple[int, str]:
    cpus = {cpu.number: cpu for cpu in machine.cpus}
    one, other = cpus.get(first), cpus.get(second)
    if one and second in one.smt_siblings:
        return 0, "core"
    levels = [
        cache.level
        for cache in machine.caches
        if cache.kind != "instruction" and {first, second} <= set(cache.shared_by)
    ]
    if levels:
        return min(levels), f"L{min(levels)} cache"
    if one and other and one.package is not None and one.package == other.package:
        return 100, "package"
    return 101, ""


def _core_of(machine: Machine) -> dict[int, int]:
    return {cpu.number: _first_sibling(cpu) for cpu in machine.cpus}


def _first_sibling(cpu: Cpu) -> int:
    return min(cpu.smt_siblings, default=cpu.number)


def _last_cache_of(machine: Machine) -> dict[int, int]:
    """The first CPU of those that share each CPU's largest cache which not all share."""
    everyone = {cpu.number for cpu in machine.cpus if cpu.online}
    found: dict[int, int] = {}
    for cache in sorted(machine.caches, key=lambda cache: cache.level):
        if cache.kind != "instruction" and not everyone <= set(cache.shared_by):
            found |= dict.fromkeys(cache.shared_by, min(cache.shared_by, default=0))
    return found
