# SPDX-License-Identifier: GPL-2.0-only
"""A gate by facts where the runs are exact, and by a test where they are not."""

from collections.abc import Sequence

from rtscope.model.run import Run
from rtscope.statistics.gate.exact import exact_gate, repeat_exactly
from rtscope.statistics.gate.verdict import Gate, tested_gate


def gate(baseline: Sequence[Run], candidate: Sequence[Run], margin: float) -> Gate:
    """Compare a candidate's runs with a baseline's.

    Raises RtscopeError for a side with one run that is not exact, and for runs that cannot be
    compared.
    """
    if repeat_exactly(baseline, candidate):
        return exact_gate(baseline, candidate, margin)
    return tested_gate(baseline, candidate, margin)
