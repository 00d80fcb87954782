# SPDX-License-Identifier: GPL-2.0-only
"""The worst paths of two exact runs: which functions one has and the other has not.

A path is what the CPU executed between the deadline and the sample, as the emulator's plugin saw
it. In the exact lab its latency is a number of instructions, so the differences of all functions
add up to the difference of the latencies.
"""

from typing import Literal

import msgspec

from rtscope.model.errors import RtscopeError
from rtscope.model.run import Run
from rtscope.model.timeline import Call, Explanation

Change = Literal["entered", "left", "longer", "shorter", "same"]


class Path(msgspec.Struct, frozen=True):
    """The worst explained sample of one run."""

    run: str
    """id"""
    kernel: str
    """its name in the lab"""
    seed: int
    instructions: int
    """from the deadline to the sample"""
    cause: list[str]
    """functions of the call chain with most of the time, outermost first"""


class FunctionChange(msgspec.Struct, frozen=True):
    """One function in both paths, without its callees."""

    function: str
    change: Change
    """entered: only B has it; left: only A"""
    a: int
    """instructions"""
    b: int

    @property
    def difference(self) -> int:
        """Instructions that B has more."""
        return self.b - self.a


class PathComparison(msgspec.Struct, frozen=True):
    """The worst path of A and that of B."""

    a: Path
    b: Path
    functions: list[FunctionChange]
    """the largest difference first; their sum is the difference of the paths"""


def compared_paths(a: Run, b: Run) -> PathComparison:
    """Compare the worst explained samples. Raises RtscopeError where a run has no exact path."""
    left, right = _worst(a), _worst(b)
    before, after = _instructions(a, left), _instructions(b, right)
    functions = [
        FunctionChange(
            name,
            _change(before.get(name), after.get(name)),
            before.get(name, 0),
            after.get(name, 0),
        )
        for name in before | after
    ]
    functions.sort(key=lambda one: (-abs(one.difference), one.function))
    return PathComparison(_path(a, left), _path(b, right), functions)


def _worst(run: Run) -> Explanation:
    exact = run.lab is not None and run.lab.mode == "exact"
    found = [one for one in run.explanations if one.functions]
    if not exact or not found:
        why = "has no explained sample" if exact else "is not of an exact VM"
        raise RtscopeError(
            f"run {run.id} {why}: paths are those of runs that rtscope measure --target vm:KERNEL "
            "--explain 1 made"
        )
    return max(found, key=lambda one: one.latency_ns)


def _instructions(run: Run, sample: Explanation) -> dict[str, int]:
    assert run.lab
    mips = run.lab.mips or 1000
    counts: dict[str, int] = {}
    for one in sample.functions:
        counts[one.function] = counts.get(one.function, 0) + round(one.ns * mips / 1000)
    return counts


def _path(run: Run, sample: Explanation) -> Path:
    assert run.lab
    instructions = round(sample.latency_ns * (run.lab.mips or 1000) / 1000)
    return Path(run.id, run.lab.kernel, run.lab.seed, instructions, _names(sample.cause))


def _names(calls: list[Call]) -> list[str]:
    return [call.function for call in calls]


def _change(a: int | None, b: int | None) -> Change:
    if a is None:
        return "entered"
    if b is None:
        return "left"
    return "same" if a == b else "longer" if b > a else "shorter"
