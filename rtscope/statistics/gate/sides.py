# SPDX-License-Identifier: GPL-2.0-only
"""The runs of a gate's two sides, sorted into cells that were measured in the same way."""

import re
from collections.abc import Mapping, Sequence
from typing import Final

import msgspec

from rtscope.model.errors import RtscopeError
from rtscope.model.run import Run, Thread
from rtscope.model.units import counted
from rtscope.statistics.alike import differences
from rtscope.statistics.metrics import PERCENTS, quantile_ns
from rtscope.statistics.response import Responses, responses_of_run

_REPETITION: Final = re.compile(r"(^|, )repetition [0-9]+$")
_HAS_TO_BE_ALIKE: Final = ("load", "interval", "policy", "CPUs", "measuring tool")


class Cell(msgspec.Struct, frozen=True):
    """The runs of both sides that measured the same."""

    name: str
    """what they measured; "" where the gate has one cell"""
    baseline: list[Run]
    candidate: list[Run]


def cells_of_sides(baseline: Sequence[Run], candidate: Sequence[Run]) -> list[Cell]:
    """Sort the runs into cells. Raises RtscopeError for runs that cannot be compared."""
    _check_usable([*baseline, *candidate])
    left, right = _by_cell(baseline), _by_cell(candidate)
    if len(left) <= 1 and len(right) <= 1:
        check_alike([*baseline, *candidate])
        return [Cell("", list(baseline), list(candidate))]
    for side, one, other in (("candidate", left, right), ("baseline", right, left)):
        missing = [name for name in one if name not in other]
        if missing:
            raise RtscopeError(
                f"the {side} has no run of: {'; '.join(missing[:3])}"
                f"{' and others' if len(missing) > 3 else ''}: measure both sides by the same plan"
            )
    for name in left:
        check_alike([*left[name], *right[name]])
    return [Cell(name, left[name], right[name]) for name in left]


def cells_of_runs(runs: Sequence[Run]) -> dict[str, list[Run]]:
    """Sort the runs of one system into cells by name. Raises RtscopeError as cells_of_sides."""
    _check_usable(runs)
    cells = _by_cell(runs)
    for of_cell in cells.values():
        check_alike(of_cell)
    return cells if len(cells) > 1 else {"": list(runs)}


def check_alike(runs: Sequence[Run]) -> None:
    """Refuse runs that were not measured in the same way. Raises RtscopeError."""
    first = runs[0]
    for run in runs:
        if run.probe != first.probe:
            raise RtscopeError(
                f"runs {first.id} ({first.probe}) and {run.id} ({run.probe}) cannot be compared: "
                "a gate takes runs of one probe, and no placement series"
            )
        options = {*first.asked.options, *run.asked.options}
        for one in differences(first, run):
            if one.kind == "setting" and (one.of in _HAS_TO_BE_ALIKE or one.of in options):
                raise RtscopeError(
                    f"runs {first.id} and {run.id} differ in the {one.of}, {one.a} and {one.b}: "
                    "a gate takes runs that were measured in the same way"
                )


def check_several(runs: Sequence[Run], of: str) -> None:
    """Refuse a side with one run. Raises RtscopeError."""
    if len(runs) < 2:
        raise RtscopeError(
            f"{of} has {counted(len(runs), 'run')}: one run does not show how much runs "
            "differ; give at least 2, better 10, as `rtscope run` measures with "
            "repetitions = 10 in the plan"
        )


def percentiles_ns(run: Run, threads: Sequence[Thread] | None = None) -> dict[float, float]:
    """The percentiles of a run's response times; of its samples where those are unknown.

    `threads` are others of the same request: those of one seed. A percentile for which there are
    too few samples is left out.
    """
    measured = run.threads if threads is None else list(threads)
    response = responses_of_run(run, measured)
    if not isinstance(response, Responses):
        response = responses_of_run(
            msgspec.structs.replace(run, threads=[]),
            [msgspec.structs.replace(thread, missed=0) for thread in measured],
        )
    assert isinstance(response, Responses)
    maxima = [thread.max_ns for thread in measured if thread.max_ns is not None]
    quantiles = {
        percent: quantile_ns(response.histogram, percent, max(maxima, default=None))
        for percent in PERCENTS
    }
    return {
        percent: float(max(one.value_ns, 1))
        for percent, one in quantiles.items()
        if one.value_ns is not None and not one.at_least
    }


def common_percents(sides: Sequence[Mapping[float, float]]) -> list[float]:
    """The percentiles that all runs have. Raises RtscopeError where there is none."""
    percents = [percent for percent in PERCENTS if all(percent in one for one in sides)]
    if not percents:
        raise RtscopeError("the runs have too few samples for any percentile: measure longer")
    return percents


def _check_usable(runs: Sequence[Run]) -> None:
    if len({run.id for run in runs}) < len(runs):
        raise RtscopeError("a run is named twice: each run counts once")
    for run in runs:
        if run.status != "complete":
            raise RtscopeError(
                f"run {run.id} ended early ({run.status}): leave it out, or measure it again"
            )
        if run.placement_series:
            raise RtscopeError(
                f"run {run.id} is a placement series: a gate takes runs of one probe"
            )


def _by_cell(runs: Sequence[Run]) -> dict[str, list[Run]]:
    """The runs by their cells of the plan; runs of no plan are of one cell."""
    cells: dict[str, list[Run]] = {}
    for run in runs:
        cells.setdefault(_name(run), []).append(run)
    return cells


def _name(run: Run) -> str:
    """The name of its cell in the plan, without the repetition."""
    return _REPETITION.sub("", run.cell)
