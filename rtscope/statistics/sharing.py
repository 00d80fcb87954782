# SPDX-License-Identifier: GPL-2.0-only
"""Resources that CPUs share, measured by the probe topology and reported by the kernel.

Two CPUs share a resource of a kind of work if the work takes more than a tenth longer on both at
once: in each repeat the geometric mean of the two. All pairs and kinds of a run are tested together
(slowed.py).
"""

import math
import re
from collections.abc import Callable, Iterable
from itertools import combinations
from typing import Final

import msgspec

from rtscope.model.finding import (
    CpuGroups,
    CpusNotMeasured,
    CpusTakeTurns,
    EmulatedCpus,
    Finding,
    MessageTime,
    NoSharing,
    NothingShared,
    OnlyCpu,
    Range,
    ReportedTopology,
    Sharing,
)
from rtscope.model.machine import Machine
from rtscope.model.run import Matrix, Run
from rtscope.statistics.slowed import SHARED, Slowed, slowed, spread, too_few
from rtscope.statistics.speeds import speeds

TURNS: Final = 1.3
"""kind of work of a slowdown by a CPU that is only awake"""
FAR: Final = 1.5
"""ratio of the longest and the shortest time of a message"""

Pair = tuple[int, int]
_CPU: Final = re.compile(r"CPU (0|[1-9][0-9]{0,4})")


class _Pairs(msgspec.Struct, frozen=True):
    """Slowdowns of each pair in each kind of work, "awake" included, from a run's repeats."""

    repeats: dict[tuple[str, Pair], list[float]]
    """of both CPUs together"""
    found: dict[tuple[str, Pair], Slowed]

    @classmethod
    def of(cls, matrices: Iterable[Matrix]) -> "_Pairs":
        repeats = {
            (matrix.name, pair): _together(matrix, pair)
            for matrix in matrices
            if matrix.name in _LIMITS
            for pair in combinations(_cpus(matrix), 2)
            if _both(matrix, matrix.value, pair)
        }
        return cls(repeats, slowed(repeats, {key: _LIMITS[key[0]] for key in repeats}))

    def that_are(self, kind: str, slow: Slowed) -> set[Pair]:
        return {pair for (name, pair), is_so in self.found.items() if (name, is_so) == (kind, slow)}


class _Kind(msgspec.Struct, frozen=True):
    """A kind of work."""

    reported_here: Callable[[Machine, Pair], bool]
    """whether the two share it according to the kernel"""
    reported_reliably: bool = True
    """whether sharing must appear: two CPUs do not wait for a bandwidth that suffices for both"""


def _siblings(machine: Machine, pair: Pair) -> bool:
    return any(set(pair) <= set(cpu.smt_siblings) for cpu in machine.cpus)


def _cache(level: int) -> Callable[[Machine, Pair], bool]:
    def reported_here(machine: Machine, pair: Pair) -> bool:
        return any(
            cache.level == level and cache.kind != "instruction" and set(pair) <= {*cache.shared_by}
            for cache in machine.caches
        )

    return reported_here


def _node(machine: Machine, pair: Pair) -> bool:
    nodes = {cpu.node for cpu in machine.cpus if cpu.number in pair}
    return len(nodes) == 1


_KINDS: Final = {
    "scalar": _Kind(_siblings),
    "vector": _Kind(_siblings),
    "L1": _Kind(_cache(1)),
    "L2": _Kind(_cache(2)),
    "L3": _Kind(_cache(3)),
    "memory": _Kind(_node, reported_reliably=False),
}
_LIMITS: Final = {"awake": TURNS} | dict.fromkeys(_KINDS, SHARED)


def sharing(run: Run) -> list[Finding]:
    """The findings of a run of the probe topology."""
    matrices = {matrix.name: matrix for matrix in run.matrices}
    awake = matrices.get("awake")
    cpus = _cpus(awake) if awake else []
    rest = [*_described(run.machine), *unmeasured(run.machine, cpus)]
    if awake is None or len(cpus) < 2:
        return [*_lone(run, cpus), *rest]
    if run.lab:
        return [EmulatedCpus(), *speeds(run), *rest]
    pairs = _Pairs.of(matrices.values())
    if few := too_few(pairs.repeats.values()):
        return [few, *rest]
    turns = pairs.that_are("awake", Slowed.YES)
    found = _turns(awake, turns) + _unsure(run.machine, pairs, "awake", Slowed.CHANGING, set())
    for name in (kind for kind in _KINDS if kind in matrices):
        found += _of_kind(run.machine, pairs, matrices[name], turns)
    return [
        *sorted(found, key=lambda finding: finding.severity != "unexpected"),
        *_unslowed(pairs, turns),
        *_messages(matrices.get("message"), turns),
        *speeds(run, _members(turns)),
        *rest,
    ]


def _cpus(matrix: Matrix) -> list[int]:
    """The compared CPUs, from the names of the rows."""
    found = [_CPU.fullmatch(row) for row in matrix.rows if row in matrix.columns]
    return sorted({int(match[1]) for match in found if match})


def _both(matrix: Matrix, values: list[list[float | None]], pair: Pair) -> list[float]:
    """The known values of a pair in both directions."""
    names = [f"CPU {cpu}" for cpu in pair]
    row, column = [matrix.rows.index(n) for n in names], [matrix.columns.index(n) for n in names]
    known = (values[row[0]][column[1]], values[row[1]][column[0]])
    return [value for value in known if value is not None]


def _together(matrix: Matrix, pair: Pair) -> list[float]:
    """Slowdown of both in each repeat: the geometric mean of their slowdowns.

    A slowdown is a ratio of times. Repeats with one that is not positive are left out: only a
    broken or hostile agent sends such a ratio.
    """
    if not matrix.repeats:
        return []
    names = [f"CPU {cpu}" for cpu in pair]
    row, column = [matrix.rows.index(n) for n in names], [matrix.columns.index(n) for n in names]
    there, back = matrix.repeats[row[0]][column[1]], matrix.repeats[row[1]][column[0]]
    both = zip(there, back, strict=False)
    return [math.sqrt(one) * math.sqrt(other) for one, other in both if one > 0 and other > 0]


def _turns(awake: Matrix, turns: set[Pair]) -> list[Finding]:
    return [
        CpusTakeTurns(cpus=group, times=_times(awake, turns, group), severity="unexpected")
        for group in _groups(turns)
    ]


def _of_kind(machine: Machine, pairs: _Pairs, matrix: Matrix, turns: set[Pair]) -> list[Finding]:
    kind, name = _KINDS[matrix.name], matrix.name
    judged = {pair for work, pair in pairs.found if work == name} - turns
    reported_here = {pair for pair in judged if kind.reported_here(machine, pair)}
    shared = pairs.that_are(name, Slowed.YES) - turns
    apart = pairs.that_are(name, Slowed.NO) - turns
    found: list[Finding] = [
        Sharing(
            cpus=group,
            work=name,
            is_so="yes",
            times=_times(matrix, these, group),
            reported=reported,
            severity="info" if reported else "unexpected",
        )
        for these, reported in ((shared & reported_here, True), (shared - reported_here, False))
        for group in _groups(these)
    ]
    if kind.reported_reliably:
        found += [_unseen(machine, matrix, group) for group in _groups(apart & reported_here)]
    found += _unsure(machine, pairs, name, Slowed.CHANGING, turns)
    return found + _unsure(machine, pairs, name, Slowed.UNKNOWN, turns)


def _unsure(
    machine: Machine, pairs: _Pairs, work: str, is_so: Slowed, turns: set[Pair]
) -> list[Finding]:
    """Slowdowns that came or went during the run, or that the repeats do not decide."""
    is_changing = is_so is Slowed.CHANGING
    return [
        Sharing(
            cpus=group,
            work=work,
            is_so="changing" if is_changing else "unknown",
            times=_spread(pairs, work, group),
            virtual=machine.is_virtual,
            severity="unexpected" if is_changing else "undecided",
        )
        for group in _groups(pairs.that_are(work, is_so) - turns)
    ]


def _unseen(machine: Machine, matrix: Matrix, group: list[int]) -> Finding:
    """CPUs that share something according to the kernel, without a slowdown."""
    is_hosts = matrix.name == "L3" and machine.is_virtual
    return NoSharing(
        cpus=group,
        work=matrix.name,
        times=_times(matrix, combinations(group, 2), group),
        virtual=is_hosts,
        severity="info" if is_hosts else "unexpected",
    )


def _unslowed(pairs: _Pairs, turns: set[Pair]) -> list[Finding]:
    """The kinds of work in which no pair slowed another, in one finding."""
    names, cpus = [], set()
    for kind in _KINDS:
        judged = {pair for name, pair in pairs.found if name == kind} - turns
        if judged and judged <= pairs.that_are(kind, Slowed.NO):
            names.append(kind)
            cpus.update(_members(judged))
    return [NothingShared(cpus=sorted(cpus), work=names)] if names else []


def _messages(message: Matrix | None, turns: set[Pair]) -> list[Finding]:
    ways = {
        pair: values[0]
        for pair in (combinations(_cpus(message), 2) if message else ())
        if message and pair not in turns and (values := _both(message, message.value, pair))
    }
    if not ways or message is None:
        return []
    short, long = min(ways.values()), max(ways.values())
    limit = (short * long) ** 0.5
    far = slowed({pair: _together(message, pair) for pair in ways}, dict.fromkeys(ways, limit))
    near = {pair for pair, is_so in far.items() if is_so is Slowed.NO}
    ns = Range(short, long)
    if long < FAR * short or not near or Slowed.YES not in far.values():
        return [MessageTime(ns=ns)]
    return [MessageTime(ns=ns, near=_groups(near), near_ns=max(ways[pair] for pair in near))]


def _lone(run: Run, cpus: list[int]) -> list[Finding]:
    return [OnlyCpu(cpu=cpus[0], has_others=len(run.machine.cpus) > 1)] if cpus else []


def _described(machine: Machine) -> list[Finding]:
    """The kernel's description of CPUs that are close to each other, if it has one."""
    threads = {tuple(cpu.smt_siblings) for cpu in machine.cpus}
    nodes = {cpu.node for cpu in machine.cpus} - {None}
    together = [
        tuple(cpu.number for cpu in machine.cpus if cpu.node == node)
        for node in sorted(nodes, key=str)
    ]
    reported_here = {
        "core": threads,
        "cluster": {tuple(cpu.cluster) for cpu in machine.cpus} - threads,
    }
    for level in sorted({cache.level for cache in machine.caches if cache.kind != "instruction"}):
        sharers = {
            tuple(cache.shared_by)
            for cache in machine.caches
            if cache.level == level and cache.kind != "instruction"
        }
        reported_here[f"L{level}"] = sharers - {()}
    reported_here["node"] = {*together} if len(together) > 1 else set()
    levels = [
        CpuGroups(level, [[*group] for group in sorted(groups) if len(group) > 1])
        for level, groups in reported_here.items()
        if any(len(group) > 1 for group in groups)
    ]
    levels += _described_unlike(machine)
    return [ReportedTopology(levels=levels)] if levels else []


def _described_unlike(machine: Machine) -> list[CpuGroups]:
    """The kernel's description of CPUs of several kinds and capacities."""
    kinds: dict[str, list[int]] = {}
    capacities: dict[str, list[int]] = {}
    for cpu in machine.cpus:
        if cpu.online:
            kinds.setdefault(f"{cpu.kind}", []).append(cpu.number)
            capacities.setdefault(f"{cpu.capacity}", []).append(cpu.number)
    reported_here = {"kind": kinds, "capacity": capacities}
    return [CpuGroups(level, groups) for level, groups in reported_here.items() if len(groups) > 1]


def unmeasured(machine: Machine, cpus: list[int]) -> list[Finding]:
    """CPUs that the run does not cover."""
    offline = [cpu.number for cpu in machine.cpus if not cpu.online]
    left_out = [c.number for c in machine.cpus if c.online and c.number not in cpus] if cpus else []
    return [
        CpusNotMeasured(cpus=numbers, offline=numbers is offline)
        for numbers in (offline, left_out)
        if numbers
    ]


def _members(pairs: Iterable[Pair]) -> list[int]:
    return sorted({cpu for pair in pairs for cpu in pair})


def _groups(pairs: Iterable[Pair]) -> list[list[int]]:
    """The pairs as groups in which all CPUs are paired; a CPU may be in several."""
    left = set(pairs)
    groups: list[list[int]] = []
    for pair in sorted(left):
        if any(set(pair) <= set(group) for group in groups):
            continue
        group = list(pair)
        for cpu in _members(left):
            if cpu not in group and all(_ordered(cpu, other) in left for other in group):
                group.append(cpu)
        groups.append(sorted(group))
    return groups


def _ordered(one: int, other: int) -> Pair:
    return (one, other) if one < other else (other, one)


def _spread(pairs: _Pairs, kind: str, group: list[int]) -> Range:
    """The range of four of five repeats of the group's pairs."""
    known = [
        spread(repeats)
        for (name, pair), repeats in pairs.repeats.items()
        if name == kind and set(pair) <= set(group)
    ]
    return Range(min(low for low, _ in known), max(high for _, high in known))


def _times(matrix: Matrix, pairs: Iterable[Pair], group: list[int]) -> Range:
    """The range of the group's pairs."""
    inside = [pair for pair in pairs if set(pair) <= set(group)]
    known = [value for pair in inside for value in _both(matrix, matrix.value, pair)]
    return Range(min(known), max(known))
