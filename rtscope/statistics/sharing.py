# SPDX-License-Identifier: GPL-2.0-only
"""Which CPUs share something, by the probe topology, against what the kernel says of them.

Two CPUs share what a kind of work needs where that takes more than a tenth longer beside each
other: in each repeat the geometric mean of the two. All pairs and kinds of a run are tested
together (slowed.py).
"""

import math
import re
from collections.abc import Callable, Iterable
from itertools import combinations
from typing import Final

import msgspec

from rtscope.model.cpulist import cpus_named
from rtscope.model.machine import Machine
from rtscope.model.run import Matrix, Run
from rtscope.statistics.finding import Finding
from rtscope.statistics.slowed import SHARED, Slowed, slowed, spread, too_few
from rtscope.statistics.speeds import speeds

TURNS: Final = 1.3
"""slower because another CPU is only awake"""
FAR: Final = 1.5
"""between the shortest and the longest way of a message"""

Pair = tuple[int, int]
_CPU: Final = re.compile(r"CPU (0|[1-9][0-9]{0,4})")


class _Pairs(msgspec.Struct, frozen=True):
    """What the repeats of a run say of each pair in each kind of work, "awake" among them."""

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
    """A kind of work, and what two CPUs share that slow each other in it."""

    resource: str
    told: Callable[[Machine, Pair], bool]
    """whether the kernel says that the two share it"""
    told_surely: bool = True
    """what the kernel says must show: two do not wait for a bandwidth that is enough for both"""


def _siblings(machine: Machine, pair: Pair) -> bool:
    return any(set(pair) <= set(cpu.smt_siblings) for cpu in machine.cpus)


def _cache(level: int) -> Callable[[Machine, Pair], bool]:
    def told(machine: Machine, pair: Pair) -> bool:
        return any(
            cache.level == level and cache.kind != "instruction" and set(pair) <= {*cache.shared_by}
            for cache in machine.caches
        )

    return told


def _node(machine: Machine, pair: Pair) -> bool:
    nodes = {cpu.node for cpu in machine.cpus if cpu.number in pair}
    return len(nodes) == 1


_KINDS: Final = {
    "scalar": _Kind("units of scalar arithmetic", _siblings),
    "vector": _Kind("a vector unit", _siblings),
    "L1": _Kind("an L1 cache", _cache(1)),
    "L2": _Kind("an L2 cache", _cache(2)),
    "L3": _Kind("an L3 cache", _cache(3)),
    "memory": _Kind("the bandwidth of memory", _node, told_surely=False),
}
_LIMITS: Final = {"awake": TURNS} | dict.fromkeys(_KINDS, SHARED)


def sharing(run: Run) -> list[Finding]:
    """What the run of the probe topology found."""
    matrices = {matrix.name: matrix for matrix in run.matrices}
    awake = matrices.get("awake")
    cpus = _cpus(awake) if awake else []
    rest = [*_described(run.machine), *unmeasured(run.machine, cpus)]
    if awake is None or len(cpus) < 2:
        return [*_lone(run, cpus), *rest]
    if run.lab:
        text = (
            "an emulated machine's CPUs share what the host's threads do: nothing is said of them"
        )
        return [Finding(text), *speeds(run), *rest]
    pairs = _Pairs.of(matrices.values())
    if few := too_few(pairs.repeats.values()):
        return [few, *rest]
    turns = pairs.that_are("awake", Slowed.YES)
    found = _turns(awake, turns) + _changing(run.machine, pairs, "awake", "a CPU", set())
    for name in (kind for kind in _KINDS if kind in matrices):
        found += _of_kind(run.machine, pairs, matrices[name], turns)
    return [
        *sorted(found, key=lambda finding: not finding.disagrees),
        *_unslowed(pairs, turns),
        *_messages(matrices.get("message"), turns),
        *speeds(run, _members(turns)),
        *rest,
    ]


def _cpus(matrix: Matrix) -> list[int]:
    """The CPUs that are compared, as its rows name them."""
    found = [_CPU.fullmatch(row) for row in matrix.rows if row in matrix.columns]
    return sorted({int(match[1]) for match in found if match})


def _both(matrix: Matrix, figures: list[list[float | None]], pair: Pair) -> list[float]:
    """The known figures of a pair: of the one beside the other, and the other way round."""
    names = [f"CPU {cpu}" for cpu in pair]
    row, column = [matrix.rows.index(n) for n in names], [matrix.columns.index(n) for n in names]
    known = (figures[row[0]][column[1]], figures[row[1]][column[0]])
    return [figure for figure in known if figure is not None]


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
        Finding(
            f"{cpus_named(group)} take turns on one CPU: a thread is {_times(awake, turns, group)} "
            "slower as soon as another of them is only awake, so what they share besides cannot "
            "be told",
            disagrees=True,
        )
        for group in _groups(turns)
    ]


def _of_kind(machine: Machine, pairs: _Pairs, matrix: Matrix, turns: set[Pair]) -> list[Finding]:
    kind = _KINDS[matrix.name]
    judged = {pair for name, pair in pairs.found if name == matrix.name} - turns
    told = {pair for pair in judged if kind.told(machine, pair)}
    shared = pairs.that_are(matrix.name, Slowed.YES) - turns
    apart = pairs.that_are(matrix.name, Slowed.NO) - turns
    found = [
        Finding(
            f"{cpus_named(group)} share {kind.resource}, as the kernel says: the same work takes "
            f"{_times(matrix, shared, group)} as long beside each other"
        )
        for group in _groups(shared & told)
    ]
    found += [
        Finding(
            f"{cpus_named(group)} share {kind.resource}, of which the kernel says nothing: the "
            f"same work takes {_times(matrix, shared, group)} as long beside each other",
            disagrees=True,
        )
        for group in _groups(shared - told)
    ]
    if kind.told_surely:
        found += [_unseen(machine, kind, matrix, group) for group in _groups(apart & told)]
    found += _changing(machine, pairs, matrix.name, kind.resource, turns)
    found += [
        Finding(
            f"whether {cpus_named(group)} share {kind.resource} cannot be told: "
            f"{_spread(pairs, matrix.name, group)} as long beside each other; more --samples may "
            "tell"
        )
        for group in _groups(pairs.that_are(matrix.name, Slowed.UNKNOWN) - turns)
    ]
    return found


def _changing(
    machine: Machine, pairs: _Pairs, kind: str, resource: str, turns: set[Pair]
) -> list[Finding]:
    """Slowdowns that came or went while they were measured."""
    return [
        Finding(
            f"{cpus_named(group)} share {resource} at times only: {_spread(pairs, kind, group)} as "
            "long in repeats of the same"
            + "; the host of a virtual machine may move its CPUs from core to core"
            * machine.is_virtual,
            disagrees=True,
        )
        for group in _groups(pairs.that_are(kind, Slowed.CHANGING) - turns)
    ]


def _unseen(machine: Machine, kind: _Kind, matrix: Matrix, group: list[int]) -> Finding:
    """What the kernel says is shared, and did not show."""
    text = (
        f"the kernel says that {cpus_named(group)} share {kind.resource}, but none slowed another "
        f"there: {_times(matrix, combinations(group, 2), group)} as long beside each other"
    )
    if kind.resource == "an L3 cache" and machine.is_virtual:
        return Finding(
            f"{text}; a virtual machine is told its host's whole cache and has what others leave"
        )
    return Finding(text, disagrees=True)


def _unslowed(pairs: _Pairs, turns: set[Pair]) -> list[Finding]:
    """The kinds of work in which no pair slowed another, in one sentence."""
    names, cpus = [], set()
    for kind in _KINDS:
        judged = {pair for name, pair in pairs.found if name == kind} - turns
        if judged and judged <= pairs.that_are(kind, Slowed.NO):
            names.append(kind)
            cpus.update(_members(judged))
    if not names:
        return []
    works = " and ".join([", ".join(names[:-1]), names[-1]] if names[1:] else names)
    return [
        Finding(
            f"{cpus_named(sorted(cpus))} slow each other by less than a tenth in work on {works}"
        )
    ]


def _messages(message: Matrix | None, turns: set[Pair]) -> list[Finding]:
    ways = {
        pair: figures[0]
        for pair in (combinations(_cpus(message), 2) if message else ())
        if message and pair not in turns and (figures := _both(message, message.value, pair))
    }
    if not ways or message is None:
        return []
    short, long = min(ways.values()), max(ways.values())
    limit = (short * long) ** 0.5
    far = slowed({pair: _together(message, pair) for pair in ways}, dict.fromkeys(ways, limit))
    near = {pair for pair, is_so in far.items() if is_so is Slowed.NO}
    if long < FAR * short or not near or Slowed.YES not in far.values():
        between = f"{short:.3g} ns" if short == long else f"{short:.3g} to {long:.3g} ns"
        return [Finding(f"a message takes {between} from each of these CPUs to each other")]
    groups = ", ".join(cpus_named(group) for group in _groups(near))
    within = max(ways[pair] for pair in near)
    return [
        Finding(
            f"a message takes up to {within:.3g} ns within {groups}, elsewhere up to {long:.3g} ns"
        )
    ]


def _lone(run: Run, cpus: list[int]) -> list[Finding]:
    if not cpus:
        return []
    more = " of this machine" if len(run.machine.cpus) == 1 else ""
    return [
        Finding(
            f"CPU {cpus[0]} is the only one{more} that was measured: there is none to share with"
        )
    ]


def _described(machine: Machine) -> list[Finding]:
    """What the kernel says of who is near whom, where it says that any are."""
    threads = {tuple(cpu.smt_siblings) for cpu in machine.cpus}
    clusters = {tuple(cpu.cluster) for cpu in machine.cpus} - threads
    nodes = {cpu.node for cpu in machine.cpus} - {None}
    together = [
        tuple(cpu.number for cpu in machine.cpus if cpu.node == node)
        for node in sorted(nodes, key=str)
    ]
    told = [("threads of one core", threads), ("a cluster", clusters)]
    for level in sorted({cache.level for cache in machine.caches if cache.kind != "instruction"}):
        sharers = {
            tuple(cache.shared_by)
            for cache in machine.caches
            if cache.level == level and cache.kind != "instruction"
        }
        told.append((f"sharers of an L{level} cache", sharers - {()}))
    told.append(("a memory node", {*together} if len(together) > 1 else set()))
    parts = [
        f"{what}: " + ", ".join(cpus_named([*group]) for group in sorted(groups) if len(group) > 1)
        for what, groups in told
        if any(len(group) > 1 for group in groups)
    ]
    parts += _described_unlike(machine)
    return [Finding(f"the kernel says: {'; '.join(parts)}")] if parts else []


def _described_unlike(machine: Machine) -> list[str]:
    """What it says of CPUs of several kinds and capacities."""
    kinds: dict[str, list[int]] = {}
    capacities: dict[str, list[int]] = {}
    for cpu in machine.cpus:
        if cpu.online:
            kinds.setdefault(f"{cpu.kind}", []).append(cpu.number)
            capacities.setdefault(f"capacity {cpu.capacity}", []).append(cpu.number)
    return [
        ", ".join(f"{what}: {cpus_named(cpus)}" for what, cpus in told.items())
        for told in (kinds, capacities)
        if len(told) > 1
    ]


def unmeasured(machine: Machine, cpus: list[int]) -> list[Finding]:
    """CPUs of which the run says nothing."""
    offline = [cpu.number for cpu in machine.cpus if not cpu.online]
    left_out = [c.number for c in machine.cpus if c.online and c.number not in cpus] if cpus else []
    found = []
    if offline:
        found.append(Finding(f"{cpus_named(offline)} {'are' if offline[1:] else 'is'} offline"))
    if left_out:
        were = "were" if left_out[1:] else "was"
        found.append(
            Finding(
                f"{cpus_named(left_out)} {were} not measured: not asked for, or outside the "
                "cpuset of this container"
            )
        )
    return found


def _members(pairs: Iterable[Pair]) -> list[int]:
    return sorted({cpu for pair in pairs for cpu in pair})


def _groups(pairs: Iterable[Pair]) -> list[list[int]]:
    """The pairs as groups within which each has a pair with each; a CPU may be of several."""
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


def _spread(pairs: _Pairs, kind: str, group: list[int]) -> str:
    """Such as 1.00 to 2.01 times: four of five repeats of the group's pairs are within."""
    known = [
        spread(repeats)
        for (name, pair), repeats in pairs.repeats.items()
        if name == kind and set(pair) <= set(group)
    ]
    return f"{min(low for low, _ in known):.2f} to {max(high for _, high in known):.2f} times"


def _times(matrix: Matrix, pairs: Iterable[Pair], group: list[int]) -> str:
    """Such as 1.93 times, or 1.52 to 1.93 times, of the group's pairs."""
    inside = [pair for pair in pairs if set(pair) <= set(group)]
    known = [figure for pair in inside for figure in _both(matrix, matrix.value, pair)]
    low, high = f"{min(known):.2f}", f"{max(known):.2f}"
    return f"{low} times" if low == high else f"{low} to {high} times"
