"""Which CPUs share something, by the probe topology, against what the kernel says of them.

A slowdown is the ratio of a median: two CPUs share something when the lower limit of one of the
pair's two slowdowns is above SHARED, they do not when both upper limits are below it, and between
the two nothing is said but that more repeats would tell.
"""

import re
from collections.abc import Callable, Iterable
from itertools import combinations
from typing import Final

import msgspec

from rtscope.model.cpulist import format_cpu_list
from rtscope.model.machine import Machine
from rtscope.model.run import Matrix, Run
from rtscope.statistics.finding import Finding

SHARED: Final = 1.1
"""a tenth slower"""
TURNS: Final = 1.3
"""slower because another CPU is only awake"""
UNLIKE: Final = 1.15
"""between the CPUs of a machine, in what they do alone"""
FAR: Final = 1.5
"""between the shortest and the longest way of a message"""

Pair = tuple[int, int]
_CPU: Final = re.compile(r"CPU (0|[1-9][0-9]{0,4})")
_FACTS: Final = ("scalar_operations_per_s", "vector_operations_per_s")


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
        return [Finding(text), *rest]
    turns = {pair for pair in combinations(cpus, 2) if _slower(awake, pair)[0] > TURNS}
    found = _turns(awake, turns)
    measured = {name: matrices[name] for name in _KINDS if name in matrices}
    for name, matrix in measured.items():
        found += _of_kind(run.machine, _KINDS[name], matrix, turns)
    return [
        *sorted(found, key=lambda finding: not finding.disagrees),
        *_unslowed(measured, turns),
        *_messages(matrices.get("message"), turns),
        *_unlike(run),
        *rest,
    ]


def shared_pairs(matrix: Matrix) -> dict[Pair, bool | None]:
    """Whether each pair slows each other; None where that cannot be told."""
    found: dict[Pair, bool | None] = {}
    for pair in combinations(_cpus(matrix), 2):
        low, high = _slower(matrix, pair)
        if high:
            found[pair] = True if low > SHARED else False if high < SHARED else None
    return found


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


def _slower(matrix: Matrix, pair: Pair) -> tuple[float, float]:
    """Limits of the greater slowdown of the two; 0 where they were not measured."""
    low = max(_both(matrix, matrix.low, pair), default=0.0)
    return low, max(_both(matrix, matrix.high, pair), default=0.0)


def _turns(awake: Matrix, turns: set[Pair]) -> list[Finding]:
    return [
        Finding(
            f"{_name(group)} take turns on one CPU: a thread is {_times(awake, turns, group)} "
            "slower as soon as another of them is only awake, so what they share besides cannot "
            "be told",
            disagrees=True,
        )
        for group in _groups(turns)
    ]


def _of_kind(machine: Machine, kind: _Kind, matrix: Matrix, turns: set[Pair]) -> list[Finding]:
    judged = {pair: is_so for pair, is_so in shared_pairs(matrix).items() if pair not in turns}
    told = {pair for pair in judged if kind.told(machine, pair)}
    shared = {pair for pair, is_so in judged.items() if is_so}
    apart = {pair for pair, is_so in judged.items() if is_so is False}
    unclear = judged.keys() - shared - apart
    found = [
        Finding(
            f"{_name(group)} share {kind.resource}, as the kernel says: the same work takes "
            f"{_times(matrix, shared, group)} as long beside each other"
        )
        for group in _groups(shared & told)
    ]
    found += [
        Finding(
            f"{_name(group)} share {kind.resource}, of which the kernel says nothing: the same "
            f"work takes {_times(matrix, shared, group)} as long beside each other",
            disagrees=True,
        )
        for group in _groups(shared - told)
    ]
    if kind.told_surely:
        found += [_unseen(machine, kind, matrix, group) for group in _groups(apart & told)]
    found += [_undecided(machine, kind, matrix, group) for group in _groups(unclear)]
    return found


def _undecided(machine: Machine, kind: _Kind, matrix: Matrix, group: list[int]) -> Finding:
    """Repeats that contradict each other, or too few of them."""
    slower = [_slower(matrix, pair) for pair in combinations(group, 2)]
    low, high = max(low for low, _ in slower), max(high for _, high in slower)
    limits = f"{low:.2f} to {high:.2f} times as long beside each other"
    if high < TURNS:
        return Finding(
            f"whether {_name(group)} share {kind.resource} cannot be told: {limits}; more "
            "--samples tell"
        )
    text = f"{_name(group)} share {kind.resource} at times only: {limits} in repeats of the same"
    if machine.virtualisation not in (None, "none"):
        text += "; the host of a virtual machine may move its CPUs from core to core"
    return Finding(text, disagrees=True)


def _unseen(machine: Machine, kind: _Kind, matrix: Matrix, group: list[int]) -> Finding:
    """What the kernel says is shared, and did not show."""
    text = (
        f"the kernel says that {_name(group)} share {kind.resource}, but none slowed another "
        f"there: {_times(matrix, combinations(group, 2), group)} as long beside each other"
    )
    if kind.resource == "an L3 cache" and machine.virtualisation not in (None, "none"):
        return Finding(
            f"{text}; a virtual machine is told its host's whole cache and has what others leave"
        )
    return Finding(text, disagrees=True)


def _unslowed(measured: dict[str, Matrix], turns: set[Pair]) -> list[Finding]:
    """The kinds of work in which no pair slowed another, in one sentence."""
    names, cpus = [], set()
    for name, matrix in measured.items():
        judged = {pair: is_so for pair, is_so in shared_pairs(matrix).items() if pair not in turns}
        if judged and not any(is_so is not False for is_so in judged.values()):
            names.append(name)
            cpus.update(_members(judged))
    if not names:
        return []
    works = " and ".join([", ".join(names[:-1]), names[-1]] if names[1:] else names)
    return [
        Finding(f"{_name(sorted(cpus))} slow each other by less than a tenth in work on {works}")
    ]


def _messages(message: Matrix | None, turns: set[Pair]) -> list[Finding]:
    ways = {
        pair: figures[0]
        for pair in (combinations(_cpus(message), 2) if message else ())
        if message and pair not in turns and (figures := _both(message, message.value, pair))
    }
    if not ways:
        return []
    short, long = min(ways.values()), max(ways.values())
    if long < FAR * short:
        between = f"{short:.3g} ns" if short == long else f"{short:.3g} to {long:.3g} ns"
        return [Finding(f"a message takes {between} from each of these CPUs to each other")]
    limit = (short * long) ** 0.5
    near = {pair for pair, ns in ways.items() if ns < limit}
    groups = ", ".join(_name(group) for group in _groups(near))
    within = max(ways[pair] for pair in near)
    return [
        Finding(
            f"a message takes up to {within:.3g} ns within {groups}, elsewhere up to {long:.3g} ns"
        )
    ]


def _unlike(run: Run) -> list[Finding]:
    """CPUs that do less than others on their own, as the small cores of a machine with both."""
    for fact in _FACTS:
        rates = {
            thread.cpu: thread.facts[fact]
            for thread in run.threads
            if thread.cpu is not None and not thread.name and thread.facts.get(fact, 0) > 0
        }
        if rates and max(rates.values()) > UNLIKE * min(rates.values()):
            limit = (max(rates.values()) * min(rates.values())) ** 0.5
            slow = [cpu for cpu, rate in rates.items() if rate < limit]
            fast = [cpu for cpu in rates if cpu not in slow]
            times = max(rates.values()) / min(rates.values())
            return [
                Finding(
                    f"these CPUs are not alike: {_name(fast)} compute{'' if fast[1:] else 's'} up "
                    f"to {times:.2f} times as much in a second as {_name(slow)}"
                )
            ]
    return []


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
        f"{what}: " + ", ".join(_name([*group]) for group in sorted(groups) if len(group) > 1)
        for what, groups in told
        if any(len(group) > 1 for group in groups)
    ]
    return [Finding(f"the kernel says: {'; '.join(parts)}")] if parts else []


def unmeasured(machine: Machine, cpus: list[int]) -> list[Finding]:
    """CPUs of which the run says nothing."""
    offline = [cpu.number for cpu in machine.cpus if not cpu.online]
    left_out = [c.number for c in machine.cpus if c.online and c.number not in cpus] if cpus else []
    found = []
    if offline:
        found.append(Finding(f"{_name(offline)} {'are' if offline[1:] else 'is'} offline"))
    if left_out:
        were = "were" if left_out[1:] else "was"
        found.append(
            Finding(
                f"{_name(left_out)} {were} not measured: not asked for, or outside the cpuset of "
                "this container"
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


def _name(cpus: list[int]) -> str:
    return f"CPU{'s' if len(cpus) > 1 else ''} {format_cpu_list(cpus)}"


def _times(matrix: Matrix, pairs: Iterable[Pair], group: list[int]) -> str:
    """Such as 1.93 times, or 1.52 to 1.93 times, of the group's pairs."""
    inside = [pair for pair in pairs if set(pair) <= set(group)]
    known = [figure for pair in inside for figure in _both(matrix, matrix.value, pair)]
    low, high = f"{min(known):.2f}", f"{max(known):.2f}"
    return f"{low} times" if low == high else f"{low} to {high} times"
