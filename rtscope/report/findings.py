# SPDX-License-Identifier: GPL-2.0-only
"""What a run found out about the machine, for the probes that look for something."""

from collections.abc import Callable
from typing import Final

from rtscope.model.run import Run
from rtscope.report.differing import differing
from rtscope.report.scaling import sweep_findings
from rtscope.statistics.finding import Finding
from rtscope.statistics.reach import reach
from rtscope.statistics.sharing import sharing

_FINDERS: Final[dict[str, Callable[[Run], list[Finding]]]] = {
    "cyclic": differing,
    "interfere": sweep_findings,
    "memory": reach,
    "scale": sweep_findings,
    "topology": sharing,
}


def findings_of(run: Run) -> list[Finding]:
    """The sentences, most important first; empty for the probes that only measure."""
    finder = _FINDERS.get(run.probe)
    return finder(run) if finder else []
