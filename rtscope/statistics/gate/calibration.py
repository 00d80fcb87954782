# SPDX-License-Identifier: GPL-2.0-only
"""What a gate can find on one system: how much its runs differ, and whether they drift."""

import math
from collections.abc import Sequence
from typing import Final

import msgspec
import numpy as np

from rtscope.model.errors import RtscopeError
from rtscope.model.run import Run, RunWarning
from rtscope.model.units import counted
from rtscope.statistics.distributions import chi_square_quantile
from rtscope.statistics.gate.permutation import fewest_runs
from rtscope.statistics.gate.power import ERROR, runs_needed, smallest_difference
from rtscope.statistics.gate.sides import cells_of_runs, common_percents, percentiles_ns
from rtscope.statistics.gate.verdict import Row, tested_gate, warnings_of_runs
from rtscope.statistics.metrics import percent_name

FEWEST: Final = 5
NUMBERS: Final = (5, 10, 20, 50)
_SURE: Final = 0.9
"""probability that runs do not differ more than is assumed for `runs_to_find`"""


class CalibrationRow(msgspec.Struct, frozen=True):
    """How much one metric differs from run to run, and what a gate would find."""

    metric: str
    median_ns: float
    spread: float
    """standard deviation of the runs, as a part of their mean"""
    found: list[float | None]
    """the smallest ratio found, for each of `numbers`; None where so few runs find none"""
    runs_to_find: int | None
    """runs a side that find `change`, for the upper limit of `spread` with 90 % confidence; None
    where that takes more than 10,000, or the change is not above the margin"""
    cell: str = ""
    """the cell of the plan; "" where there is one"""


class Calibration(msgspec.Struct, frozen=True):
    """What a gate can find on one system."""

    runs: int
    """of each cell, in the cell with the fewest"""
    margin: float
    change: float
    """to be found, as a part: 0.1 for 10 % slower"""
    numbers: list[int]
    """runs a side"""
    rows: list[CalibrationRow]
    drifted: list[Row] = []
    """metrics in which the second half of the runs differs from the first: gates of this system
    would give false alarms"""
    warnings: list[RunWarning] = []
    """of the runs, each once"""


def calibrated(runs: Sequence[Run], margin: float, change: float) -> Calibration:
    """The smallest changes that a gate finds with POWER, by runs a side, as far as these runs of
    one system show how much its runs differ. Raises RtscopeError as gate does.
    """
    cells = cells_of_runs(runs)
    fewest = min(len(of_cell) for of_cell in cells.values())
    if fewest < FEWEST:
        raise RtscopeError(
            f"{counted(fewest, 'run')} do not show how much runs differ: measure at least "
            f"{FEWEST} of one system, better 20"
        )
    metrics = {name: [percentiles_ns(run) for run in of_cell] for name, of_cell in cells.items()}
    percents = {name: common_percents(of_cell) for name, of_cell in metrics.items()}
    tests = 2 * sum(map(len, percents.values()))
    least = fewest_runs(ERROR / tests)
    rows = []
    for name, of_cell in metrics.items():
        for percent in percents[name]:
            logs = np.log([one[percent] for one in of_cell])
            spread = float(np.std(logs, ddof=1))
            found = [
                (1 + margin) * math.exp(smallest_difference(spread, tests, number))
                if number >= least
                else None
                for number in NUMBERS
            ]
            needed = runs_needed(
                math.log1p(change) - math.log1p(margin), _upper_limit(spread, len(logs)), tests
            )
            needed = None if needed is None else max(needed, least)
            median = math.exp(float(np.median(logs)))
            rows.append(
                CalibrationRow(
                    percent_name(percent), median, math.expm1(spread), found, needed, name
                )
            )
    return Calibration(
        fewest,
        margin,
        change,
        [*NUMBERS],
        rows,
        _drifted(list(cells.values())),
        warnings_of_runs(runs),
    )


def _upper_limit(spread: float, runs: int) -> float:
    """The upper confidence limit of a standard deviation, where runs differ normally."""
    freedom = runs - 1
    return spread * math.sqrt(freedom / chi_square_quantile(freedom, 1 - _SURE))


def _drifted(cells: Sequence[Sequence[Run]]) -> list[Row]:
    """The metrics in which the halves of the runs, in order of time, differ either way."""
    ordered = [sorted(runs, key=lambda run: run.created) for runs in cells]
    first = [run for runs in ordered for run in runs[: len(runs) // 2]]
    second = [run for runs in ordered for run in runs[len(runs) // 2 :]]
    if min(len(runs) // 2 for runs in ordered) < 2:
        return []
    return [
        row
        for one, other in ((first, second), (second, first))
        for row in tested_gate(one, other, 0.0).rows
        if row.outcome == "fail"
    ]
