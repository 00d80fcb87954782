# SPDX-License-Identifier: GPL-2.0-only
"""The sentence on any finding."""

import msgspec

from rtscope.model.finding import CpuDiffers, Finding, Severity
from rtscope.model.run import Run
from rtscope.statistics.findings import advice_of, findings_of
from rtscope.wording.cpus import cpus_sentence
from rtscope.wording.memory import memory_sentence
from rtscope.wording.placements import placement_sentence
from rtscope.wording.plain import plain
from rtscope.wording.threadorder import thread_sentence


class Sentence(msgspec.Struct, frozen=True):
    """A finding as a reader gets it."""

    text: str
    severity: Severity = "info"
    cpu: int | None = None
    """the CPU that differs from the rest"""


def sentence(found: Finding) -> Sentence:
    """The finding in words."""
    text = (
        cpus_sentence(found)
        or memory_sentence(found)
        or plain(placement_sentence(found) or thread_sentence(found))
    )
    return Sentence(text, found.severity, found.cpu if isinstance(found, CpuDiffers) else None)


def sentences_of(run: Run) -> list[Sentence]:
    """A run's findings in words, most important first; empty for the probes that only measure."""
    return [sentence(found) for found in (*advice_of(run), *findings_of(run))]
