# SPDX-License-Identifier: GPL-2.0-only
"""The sentence on any finding."""

import msgspec

from rtscope.model.finding import CpuDiffers, Finding, Severity
from rtscope.wording.cpus import cpus_sentence
from rtscope.wording.memory import memory_sentence


class Sentence(msgspec.Struct, frozen=True):
    """A finding as a reader gets it."""

    text: str
    severity: Severity = "info"
    cpu: int | None = None
    """the CPU that differs from the rest"""


def sentence(found: Finding) -> Sentence:
    """The finding in words."""
    text = cpus_sentence(found) or memory_sentence(found)
    return Sentence(text, found.severity, found.cpu if isinstance(found, CpuDiffers) else None)
