# SPDX-License-Identifier: GPL-2.0-only
"""The tuning profile of a run: the agent applies it, undoes it, and reports each change."""

from collections.abc import Sequence
from typing import Final

import msgspec

from rtscope.model.errors import RtscopeError
from rtscope.model.machine import Machine
from rtscope.model.request import Request
from rtscope.model.tuning import BROKEN, Change, Tuning, TuningStep
from rtscope.tuning.profile import NEEDS_BOOT, filled_rules

_MOST_CHANGES: Final = 100_000
_MOST_KEPT: Final = 1000
_MOST_NOTES: Final = 100
NOTES: Final = frozenset({"rule-unmatched", "threads-bound"})
"""codes of warnings about the profile that do not affect the metrics"""
_LOST: Final = BROKEN | {"left"}
"""states of changes that were not in effect until the end of the run"""


class ReceivedChanges(msgspec.Struct):
    """The agent's `change` lines, the last of each change."""

    made: dict[tuple[str, str], Change] = {}
    """before the measuring, by kind and place"""
    taken_back: dict[tuple[str, str], Change] = {}
    """after it"""
    notes: list[str] = []
    """warnings about the profile that do not affect the metrics"""

    def take(self, change: Change, *, measured: bool) -> None:
        """Add a line."""
        known = self.taken_back if measured else self.made
        if len(known) < _MOST_CHANGES:
            known[change.kind, change.where] = change

    def note(self, text: str) -> None:
        """Add a warning about the profile."""
        if len(self.notes) < _MOST_NOTES:
            self.notes.append(text)


def rules_of(step: TuningStep, machine: Machine) -> list[str]:
    """Return the agent's rules for this system.

    Raises RtscopeError where the CPUs do not exist or are offline.
    """
    return filled_rules(_applied(step), step.cpus, machine)


def filled(request: Request, machine: Machine) -> Request:
    """Return the request with this system's CPUs in its tuning rules.

    Raises RtscopeError where the CPUs do not exist or are offline.
    """
    step = request.tuning
    if step is None:
        return request
    rules = rules_of(step, machine)
    return msgspec.structs.replace(request, tuning=msgspec.structs.replace(step, rules=rules))


def measurable(steps: Sequence[TuningStep]) -> list[TuningStep]:
    """Return the steps of a profile that change something without a boot."""
    return [
        step
        for place, step in enumerate(steps)
        if not place or _applied(step) != _applied(steps[place - 1])
    ]


def tuning_of(step: TuningStep | None, machine: Machine, changes: ReceivedChanges) -> Tuning | None:
    """Return the results of the step; None for a request without tuning."""
    if step is None:
        return None
    left_out = [rule for rule in step.rules if rule.startswith(NEEDS_BOOT)]
    lost = {key: change for key, change in changes.taken_back.items() if change.state in _LOST}
    final = changes.made | {key: change for key, change in lost.items() if key in changes.made}
    exceptions = [change for change in final.values() if change.state != "applied"]
    return Tuning(
        profile=step.profile,
        step=step.step,
        name=step.name,
        cpus=_filled_cpus(step, machine),
        round=step.round,
        rules=rules_of(step, machine),
        left_out=left_out and filled_rules(left_out, step.cpus, machine),
        held=len(final) - len(exceptions),
        exceptions=exceptions[:_MOST_KEPT],
        notes=changes.notes,
    )


def _applied(step: TuningStep) -> list[str]:
    return [rule for rule in step.rules if not rule.startswith(NEEDS_BOOT)]


def _filled_cpus(step: TuningStep, machine: Machine) -> str:
    """Return the profile's CPUs; the machine as booted need not have them."""
    try:
        return step.cpus and filled_rules(["{cpus}"], step.cpus, machine)[0]
    except RtscopeError:
        if step.rules:
            raise
        return ""
