# SPDX-License-Identifier: GPL-2.0-only
"""Changes to a system's settings, and the part of a profile in effect during a run."""

from typing import Annotated, Final, Literal

import msgspec

Word = Annotated[str, msgspec.Meta(max_length=4096)]

ChangeState = Literal[
    "planned",
    "applied",
    "not-held",
    "failed",
    "immovable",
    "restored",
    "left",
    "gone",
    "stale",
    "in-effect",
    "set-back",
]
BROKEN: Final = frozenset({"not-held", "failed", "set-back"})
"""states of a change that is not as it was asked for, though the kernel can do it"""
AS_BOOTED: Final = "as booted"
"""the name of step 0 of every profile"""


class Change(msgspec.Struct, frozen=True, tag_field="type", tag="change"):
    """One `change` line (docs/reference/protocol.md)."""

    profile: Word
    kind: Annotated[str, msgspec.Meta(max_length=64)]
    """thread-policy, thread-cpus, interrupt, file, partition, irqbalance, boot, latency,
    side-effect"""
    what: Word
    """such as "irq/24-eth0 (tid 123)" """
    where: Word
    """a path, or the thread's id"""
    old: Word
    new: Word
    state: ChangeState
    why: Word = ""
    """the reason, as a sentence, if the change is not in effect"""
    rule: Word = ""
    """the rule that requests it; empty for a change from the journal"""


class TuningStep(msgspec.Struct, frozen=True):
    """A profile up to one of its steps, before the system's CPUs are filled in."""

    profile: str
    step: int
    """number of steps; 0: as booted"""
    name: str
    """the last one's"""
    cpus: str
    """as it was asked for: 1-3, 1-N; empty where the profile is for no chosen CPUs"""
    rules: list[str]
    """with {cpus} and {others} in them"""
    round: int = 1


class Tuning(msgspec.Struct, frozen=True):
    """What of a profile was in effect while a run was measured."""

    profile: str
    step: int
    """number of steps; 0: as booted"""
    name: str
    """the last one's"""
    cpus: str = ""
    """for which it kept others away; empty where it is for no chosen CPUs"""
    round: int = 1
    """the rounds of an experiment go through all steps again"""
    rules: list[str] = []
    """as the agent got them"""
    left_out: list[str] = []
    """those that a measurement does not apply, because they need a boot"""
    held: int = 0
    """changes that were made, and were there until the end"""
    exceptions: list[Change] = []
    """those that were not, at most 1000"""
    notes: list[str] = []
    """what the agent said of the profile: rules that matched nothing, threads that cannot move"""
