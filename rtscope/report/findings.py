# SPDX-License-Identifier: GPL-2.0-only
"""A run's findings in words."""

from rtscope.model.run import Run
from rtscope.report.scaling import sweep_sentences
from rtscope.statistics.findings import findings_of
from rtscope.wording.findings import Sentence, sentence


def sentences_of(run: Run) -> list[Sentence]:
    """The sentences, most important first; empty for the probes that only measure."""
    if run.sweep:
        return [Sentence(text) for told in sweep_sentences(run) for text in told]
    return [sentence(found) for found in findings_of(run)]
