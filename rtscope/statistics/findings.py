# SPDX-License-Identifier: GPL-2.0-only
"""The findings of one run, by its probe."""

from collections.abc import Callable
from typing import Final

from rtscope.model.finding import Finding
from rtscope.model.placement_series import series_of
from rtscope.model.run import Run
from rtscope.statistics.differing import differing
from rtscope.statistics.placement_findings import advice, placement_findings
from rtscope.statistics.reach import reach
from rtscope.statistics.sharing import sharing

_ANALYSES: Final[dict[str, Callable[[Run], list[Finding]]]] = {
    "cyclic": differing,
    "memory": reach,
    "topology": sharing,
}


def findings_of(run: Run) -> list[Finding]:
    """Return the findings, most important first; empty for the probes that only measure."""
    if run.placement_series:
        return placement_findings(series_of(run))
    analysis = _ANALYSES.get(run.probe)
    return analysis(run) if analysis else []


def advice_of(run: Run) -> list[Finding]:
    """Return what a placement series recommends; empty for other runs."""
    return advice(series_of(run)) if run.placement_series else []
