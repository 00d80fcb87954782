# SPDX-License-Identifier: GPL-2.0-only
"""A gate of exact runs: the same seeds on both sides, so that each difference is a fact.

In the exact lab a run repeats to the bit: what differs between two runs of one seed comes from what
differs between the systems, and from nothing else. There is no error to test for. What remains is
that a change of one instruction shifts all that follows, as another seed does: the verdict is
therefore about the mean of the seeds, and a few seeds say little about others.
"""

import math
from collections.abc import Sequence
from typing import Final

import numpy as np

from rtscope.model.errors import RtscopeError
from rtscope.model.run import Run
from rtscope.statistics.gate.sides import Cell, cells_of_sides, common_percents, percentiles_ns
from rtscope.statistics.gate.verdict import (
    Gate,
    Outcome,
    Row,
    settings_apart,
    untested,
    verdict_of,
    warnings_of_cells,
)
from rtscope.statistics.metrics import percent_name

FEW_SEEDS: Final = 8
"""with fewer, the seeds' own differences are a large part of the mean"""

BySeed = dict[int, dict[float, float]]
"""percentiles in ns by seed"""


def repeat_exactly(baseline: Sequence[Run], candidate: Sequence[Run]) -> bool:
    """Whether all runs are of exact VMs that count time alike, with the same seeds on both sides in
    each cell."""
    runs = [*baseline, *candidate]
    if not all(run.lab and run.lab.mode == "exact" for run in runs):
        return False
    if len({(run.lab.mips, run.lab.cpus) for run in runs if run.lab}) > 1:
        return False
    try:
        cells = cells_of_sides(baseline, candidate)
    except RtscopeError:
        return False
    return all(_seeds(cell.baseline) == _seeds(cell.candidate) for cell in cells)


def exact_gate(baseline: Sequence[Run], candidate: Sequence[Run], margin: float) -> Gate:
    """Compare exact runs seed by seed. Raises RtscopeError for runs that cannot be compared."""
    cells = cells_of_sides(baseline, candidate)
    rows: list[Row] = []
    percents = {}
    for cell in cells:
        left, right = _by_seed(cell.baseline), _by_seed(cell.candidate)
        percents[cell.name] = common_percents([*left.values(), *right.values()])
        rows += [_row(cell, percent, left, right, margin) for percent in percents[cell.name]]
    return Gate(
        verdict_of(rows),
        margin,
        [run.id for run in baseline],
        [run.id for run in candidate],
        rows,
        untested(percents),
        settings_apart(baseline[0], candidate[0]),
        seeds=sorted({seed for run in baseline for seed in _seeds([run])}),
        warnings=warnings_of_cells(cells),
        runs_a_side=min(len(_seeds(cell.baseline)) for cell in cells),
    )


def _row(cell: Cell, percent: float, left: BySeed, right: BySeed, margin: float) -> Row:
    seeds = sorted(left)
    a, b = (np.log([side[seed][percent] for seed in seeds]) for side in (left, right))
    apart = b - a
    ratio = math.exp(float(apart.mean()))
    outcome: Outcome = "fail" if ratio > 1 + margin else "pass"
    return Row(
        percent_name(percent),
        "exact",
        math.exp(float(a.mean())),
        math.exp(float(b.mean())),
        ratio,
        math.exp(float(apart.min())),
        math.exp(float(apart.max())),
        0.0,
        0.0,
        outcome,
        cell=cell.name,
        seeds=len(seeds),
        slower_seeds=int((apart > 0).sum()),
    )


def _seeds(runs: Sequence[Run]) -> list[int]:
    """The seeds of the runs and of the members of ensembles, sorted."""
    return sorted(
        seed
        for run in runs
        if run.lab
        for seed in ([member.seed for member in run.members] or [run.lab.seed])
    )


def _by_seed(runs: Sequence[Run]) -> BySeed:
    found: BySeed = {}
    for run in runs:
        assert run.lab
        if run.members:
            found |= {one.seed: percentiles_ns(run, one.threads) for one in run.members}
        else:
            found[run.lab.seed] = percentiles_ns(run)
    return found
