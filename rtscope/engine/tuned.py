# SPDX-License-Identifier: GPL-2.0-only
"""What of a tuning profile is in effect while a run is measured: the agent applies it and takes it
back, and tells what became of each change."""

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
"""codes of warnings that are about the profile, and lessen no figure"""
_LOST: Final = BROKEN | {"left"}
"""states after the measuring that tell of a change which was not there until its end"""


class HeardChanges(msgspec.Struct):
    """The agent's `change` lines, the last of each change."""

    made: dict[tuple[str, str], Change] = {}
    """before the measuring, by kind and place"""
    taken_back: dict[tuple[str, str], Change] = {}
    """after it"""
    notes: list[str] = []
    """what the agent said of the profile, which lessens no figure"""

    def take(self, change: Change, *, measured: bool) -> None:
        """Take in a line."""
        known = self.taken_back if measured else self.made
        if len(known) < _MOST_CHANGES:
            known[change.kind, change.where] = change

    def note(self, text: str) -> None:
        """Take in a warning that is about the profile alone."""
        if len(self.notes) < _MOST_NOTES:
            self.notes.append(text)


def rules_of(step: TuningStep, machine: Machine) -> list[str]:
    """The rules that the agent gets for this machine.

    Raises RtscopeError where the CPUs do not exist or are offline.
    """
    return filled_rules(_applied(step), step.cpus, machine)


def filled(request: Request, machine: Machine) -> Request:
    """The request as the agent gets it: the rules of its tuning have this machine's CPUs.

    Raises RtscopeError where the CPUs do not exist or are offline.
    """
    step = request.tuning
    if step is None:
        return request
    rules = rules_of(step, machine)
    return msgspec.structs.replace(request, tuning=msgspec.structs.replace(step, rules=rules))


def measurable(steps: Sequence[TuningStep]) -> list[TuningStep]:
    """The steps of a profile that a measurement can tell from the one before."""
    return [
        step
        for place, step in enumerate(steps)
        if not place or _applied(step) != _applied(steps[place - 1])
    ]


def tuning_of(step: TuningStep | None, machine: Machine, heard: HeardChanges) -> Tuning | None:
    """What became of the step; None where nothing was to be changed."""
    if step is None:
        return None
    left_out = [rule for rule in step.rules if rule.startswith(NEEDS_BOOT)]
    lost = {key: change for key, change in heard.taken_back.items() if change.state in _LOST}
    final = heard.made | {key: change for key, change in lost.items() if key in heard.made}
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
        notes=heard.notes,
    )


def _applied(step: TuningStep) -> list[str]:
    return [rule for rule in step.rules if not rule.startswith(NEEDS_BOOT)]


def _filled_cpus(step: TuningStep, machine: Machine) -> str:
    """The profile's CPUs; as booted they need not be there."""
    try:
        return step.cpus and filled_rules(["{cpus}"], step.cpus, machine)[0]
    except RtscopeError:
        if step.rules:
            raise
        return ""
