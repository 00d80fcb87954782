# SPDX-License-Identifier: GPL-2.0-only
"""Differences in the CPUs' own speed, measured by the probe topology and reported by the kernel.

The work of each CPU in a repeat is compared with that of the fastest in the same repeat, for each
kind of work that needs only the CPU. All CPUs and kinds are tested together (slowed.py).
"""

import math
import re
from collections.abc import Collection, Mapping
from typing import Final

import msgspec
import numpy as np

from rtscope.model.finding import (
    Certainty,
    CpusEquallyFast,
    CpusIdle,
    CpusNotSlower,
    CpusSlower,
    Finding,
    Range,
    ReportedSpeed,
)
from rtscope.model.machine import Machine
from rtscope.model.run import Run
from rtscope.model.speeds import is_lesser_kind, reported_speed, reported_speeds
from rtscope.statistics.slowed import SHARED, Slowed, slowed, spread, too_few

_CPU: Final = re.compile(r"CPU (0|[1-9][0-9]{0,4})")


class _Speeds(msgspec.Struct, frozen=True):
    """Time of each CPU relative to the fastest, for each kind of work."""

    times: dict[tuple[str, int], list[float]]
    """in each repeat; including the fastest itself"""
    fastest: dict[str, int]
    """for each kind of work"""
    found: dict[tuple[str, int], Slowed]
    """of all other CPUs"""
    reported: dict[int, float]
    """speed reported by the kernel, 1 for the fastest; empty if it reports none"""
    as_reported: dict[tuple[str, int], Slowed]
    """of CPUs reported as slower: whether they are by at least half of that, as a power"""

    def kinds(self, cpu: int, verdict: Slowed) -> tuple[str, ...]:
        """The kinds of work for which this holds for the CPU."""
        return tuple(
            kind for (kind, one), is_so in self.found.items() if (one, is_so) == (cpu, verdict)
        )

    def cpus(self) -> list[int]:
        """All measured CPUs."""
        return sorted({cpu for _, cpu in self.times})

    def reported_slower(self, cpu: int, kinds: Collection[str] = ()) -> bool:
        """Whether the kernel says that another of them is faster by a tenth; with `kinds` of work,
        that those are which are the fastest at it."""
        return any(one == cpu for _, one in self.as_reported) and all(
            self.reported.get(self.fastest[kind], 0.0) > SHARED * self.reported[cpu]
            for kind in kinds
        )

    def reported_wrongly(self, cpu: int) -> bool:
        """Whether it is surely not as slow as that in any work."""
        said = {is_so for (_, one), is_so in self.as_reported.items() if one == cpu}
        return said == {Slowed.NO}

    def apart_from(self, cpus: Collection[int], kinds: Collection[str]) -> list[int]:
        """The CPUs that are not slower in any of these works."""
        slow = {
            cpu
            for (kind, cpu), is_so in self.found.items()
            if kind in kinds and is_so is not Slowed.NO
        }
        return [cpu for cpu in self.cpus() if cpu not in slow and cpu not in cpus]


class _Verdict(msgspec.Struct, frozen=True):
    """The conclusion about a CPU; CPUs with equal ones are reported together."""

    is_so: Slowed
    kinds: tuple[str, ...]
    """kinds of work for which it holds"""
    reported: ReportedSpeed | None
    """why the kernel expects it; None if it does not"""


def speeds(run: Run, left_out: Collection[int] = ()) -> list[Finding]:
    """Findings on the CPUs' own speeds, except for those left out.

    The speed of emulated CPUs is the host's: only the kernel's description of them is checked.
    """
    rates = _rates(run, left_out)
    stuck = [] if run.lab else _stuck({cpu for (_, cpu), one in rates.items() if min(one) <= 0})
    measured = _measured(run, {key: one for key, one in rates.items() if min(one) > 0})
    judged = [cpu for cpu in measured.cpus() if not run.lab or measured.reported_wrongly(cpu)]
    if not measured.found or not judged:
        return stuck
    if few := too_few([measured.times[key] for key in measured.found]):
        return [few, *stuck]
    groups: dict[_Verdict, list[int]] = {}
    for cpu in judged:
        if verdict := _verdict(run, measured, cpu):
            groups.setdefault(verdict, []).append(cpu)
    if not groups:
        return [*stuck, CpusEquallyFast(cpus=judged, work=[*measured.fastest])]
    found = stuck + [
        _finding(run.machine, measured, verdict, cpus) for verdict, cpus in groups.items()
    ]
    return sorted(found, key=lambda finding: finding.severity != "unexpected")


def _rates(run: Run, left_out: Collection[int]) -> dict[tuple[str, int], list[float]]:
    """Work of each kind and CPU, by repeat; 0 if the CPU did nothing."""
    matrix = next((one for one in run.matrices if one.name == "speed" and one.repeats), None)
    if matrix is None:
        return {}
    return {
        (kind, int(cpu[1])): rates
        for row, cpu in enumerate(map(_CPU.fullmatch, matrix.rows))
        if cpu and int(cpu[1]) not in left_out
        for kind, rates in zip(matrix.columns, matrix.repeats[row], strict=True)
        if rates
    }


def _measured(run: Run, rates: Mapping[tuple[str, int], list[float]]) -> _Speeds:
    times: dict[tuple[str, int], list[float]] = {}
    fastest: dict[str, int] = {}
    for kind in dict.fromkeys(kind for kind, _ in rates):
        of_kind = {cpu: one for (name, cpu), one in rates.items() if name == kind}
        first = max(of_kind, key=lambda cpu: float(np.median(of_kind[cpu])))
        fastest[kind] = first
        for cpu, one in of_kind.items():
            times[kind, cpu] = [a / b for a, b in zip(of_kind[first], one, strict=False)]
    others = {(kind, cpu): one for (kind, cpu), one in times.items() if fastest[kind] != cpu}
    reported = reported_speeds(run.machine)
    most = max((reported.get(cpu, 0.0) for _, cpu in times), default=0.0)
    halves = {(k, cpu): math.sqrt(most / reported[cpu]) for k, cpu in times if reported.get(cpu)}
    slow = {key: times[key] for key, half in halves.items() if half * half > SHARED}
    return _Speeds(
        times,
        fastest,
        slowed(others, dict.fromkeys(others, SHARED)),
        reported,
        slowed(slow, halves),
    )


def _stuck(cpus: Collection[int]) -> list[Finding]:
    """CPUs that did nothing in a repeat; they are not judged."""
    return [CpusIdle(cpus=sorted(cpus), severity="unexpected")] if cpus else []


def _verdict(run: Run, measured: _Speeds, cpu: int) -> _Verdict | None:
    machine = run.machine
    reported = reported_speed(machine, cpu) if measured.reported_slower(cpu) else None
    kinds = measured.kinds(cpu, Slowed.YES)
    if measured.reported_wrongly(cpu):
        return None if run.lab and kinds else _Verdict(Slowed.NO, tuple(measured.fastest), reported)
    if kinds:
        why = reported if measured.reported_slower(cpu, kinds) else None
        return _Verdict(Slowed.YES, kinds, why or _of_another_kind(machine, measured, cpu, kinds))
    for is_so in (Slowed.CHANGING, Slowed.UNKNOWN):
        if kinds := measured.kinds(cpu, is_so):
            return _Verdict(is_so, kinds, None)
    return None


def _of_another_kind(
    machine: Machine, measured: _Speeds, cpu: int, works: Collection[str]
) -> ReportedSpeed | None:
    """The kind of core, if the fastest in these kinds of work are of other kinds."""
    kinds = {one.number: one.kind for one in machine.cpus}
    others = {kinds.get(measured.fastest[work]) for work in works}
    return ReportedSpeed(core=kinds[cpu]) if is_lesser_kind(kinds.get(cpu), others) else None


_CERTAINTY: Final[dict[Slowed, Certainty]] = {
    Slowed.YES: "yes",
    Slowed.CHANGING: "changing",
    Slowed.UNKNOWN: "unknown",
}


def _finding(machine: Machine, measured: _Speeds, verdict: _Verdict, cpus: list[int]) -> Finding:
    if verdict.is_so is Slowed.NO:
        assert verdict.reported is not None
        return CpusNotSlower(
            cpus=cpus,
            than=[cpu for cpu in measured.cpus() if not measured.reported_slower(cpu)],
            times=_medians(measured, verdict, cpus),
            reported=verdict.reported,
            partly=any(measured.kinds(cpu, Slowed.YES) for cpu in cpus),
            severity="unexpected",
        )
    is_sure = verdict.is_so is Slowed.YES
    return CpusSlower(
        cpus=cpus,
        than=measured.apart_from(cpus, verdict.kinds),
        is_so=_CERTAINTY[verdict.is_so],
        times=(_medians if is_sure else _spreads)(measured, verdict, cpus),
        reported=verdict.reported,
        virtual=machine.is_virtual,
        severity="undecided"
        if verdict.is_so is Slowed.UNKNOWN
        else "info"
        if verdict.reported
        else "unexpected",
    )


def _medians(measured: _Speeds, verdict: _Verdict, cpus: list[int]) -> dict[str, Range]:
    """The lowest and the highest median of the CPUs, by kind of work."""
    each = {
        kind: [float(np.median(measured.times[kind, cpu])) for cpu in cpus]
        for kind in verdict.kinds
    }
    return {kind: Range(min(one), max(one)) for kind, one in each.items()}


def _spreads(measured: _Speeds, verdict: _Verdict, cpus: list[int]) -> dict[str, Range]:
    """The range of four of five repeats, by kind of work."""
    each = {
        kind: [spread(measured.times[kind, cpu]) for cpu in cpus if (kind, cpu) in measured.times]
        for kind in verdict.kinds
    }
    return {
        kind: Range(min(low for low, _ in one), max(high for _, high in one))
        for kind, one in each.items()
    }
