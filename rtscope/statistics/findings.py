# SPDX-License-Identifier: GPL-2.0-only
"""The findings of one run, by its probe."""

from collections.abc import Callable
from typing import Final

from rtscope.model.finding import Finding
from rtscope.model.run import Run
from rtscope.statistics.differing import differing
from rtscope.statistics.reach import reach
from rtscope.statistics.sharing import sharing

_ANALYSES: Final[dict[str, Callable[[Run], list[Finding]]]] = {
    "cyclic": differing,
    "memory": reach,
    "topology": sharing,
}


def findings_of(run: Run) -> list[Finding]:
    """The findings, most important first; empty for the probes that only measure."""
    analysis = _ANALYSES.get(run.probe)
    return analysis(run) if analysis else []
