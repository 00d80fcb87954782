# SPDX-License-Identifier: GPL-2.0-only
"""What an experiment says about a cause: outliers with and without it."""

from typing import Literal

import msgspec

from rtscope.model.timeline import TermKind

Verdict = Literal["fewer", "more", "undecided", "no-outliers", "not-changed"]
"""undecided: the limits of the ratio contain 1; not-changed: the change was not in effect"""


class Arm(msgspec.Struct, frozen=True):
    """All blocks with the change on, or off."""

    outliers: int
    samples: int


class Proof(msgspec.Struct, frozen=True, tag_field="type", tag="proof"):
    """Outliers with the change that removes a cause, and without it."""

    kind: TermKind
    name: str
    """of the cause"""
    profile: str
    rules: list[str]
    """of the change, as the agent got them"""
    above_ns: int
    """samples above it are outliers"""
    rounds: int
    off: Arm
    on: Arm
    verdict: Verdict
    ratio: float | None
    """rate of outliers with the change on, relative to off; None: off had none"""
    low: float | None
    """limits of the ratio, of 95 % confidence"""
    high: float | None
    dispersion: float
    """how much more blocks differ than independent outliers would: 1 or more"""
    runs: list[str] = []
    """ids"""
    problems: list[str] = []
    """changes that were not in effect, as sentences"""
