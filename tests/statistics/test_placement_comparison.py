# SPDX-License-Identifier: GPL-2.0-only
"""Two series of one machine do not differ; what was made slower between them is found."""

import msgspec
import pytest

from rtscope.model.errors import RtscopeError
from rtscope.model.placement_series import MeasuredSeries
from rtscope.model.run import Run
from rtscope.model.scaling import Placement
from rtscope.report.terminal.console import output_console
from rtscope.report.terminal.placement_comparison import PlacementComparisonTable
from rtscope.statistics.placement_comparison import compare_placements
from rtscope.wording.comparison import difference_sentence, placement_comparison_sentence
from tests.placements import T2080, alike, measured_on, run_of_series


def a_series(seed: int, slower: float = 1.0) -> MeasuredSeries:
    """Of one to eight threads, all of those on CPU 0 alone slower."""
    series = measured_on(T2080, alike, seed=seed, workloads=["scalar"])
    cells = [
        msgspec.structs.replace(cell, medians_ns=[ns * slower for ns in cell.medians_ns])
        if cell.placement.cpus == (0,)
        else cell
        for cell in series.cells
    ]
    return msgspec.structs.replace(series, cells=cells)


def effects(a: MeasuredSeries, b: MeasuredSeries) -> set[str]:
    return {one.effect for one in compare_placements(run_of_series(a), run_of_series(b)).changes}


@pytest.mark.parametrize("seed", range(10))
def test_two_series_of_one_system_do_not_differ(seed: int) -> None:
    assert not effects(a_series(2 * seed), a_series(2 * seed + 1)) & {"faster", "slower"}


def test_one_noisy_round_makes_no_difference_and_two_rounds_are_too_few() -> None:
    series = a_series(2)

    def shaken(rounds: int, times: float) -> MeasuredSeries:
        cells = [
            msgspec.structs.replace(
                cell,
                medians_ns=[*cell.medians_ns[: rounds - 1], times * cell.medians_ns[rounds - 1]],
            )
            for cell in series.cells
        ]
        return msgspec.structs.replace(series, cells=cells, rounds=rounds)

    assert not effects(a_series(1), shaken(5, 3)) & {"faster", "slower"}
    assert effects(a_series(1), shaken(2, 1.5)) == {"unknown"}


def test_a_slower_placement_is_found_and_shown(capsys: pytest.CaptureFixture[str]) -> None:
    a, b = run_of_series(a_series(1)), run_of_series(a_series(2, slower=1.2))
    comparison = compare_placements(a, b)
    assert [one.effect for one in compare_placements(b, a).changes].count("faster") == 1
    [change] = [one for one in comparison.changes if one.effect == "slower"]
    assert change.placement == Placement((0,), 1)
    assert {one.effect for one in comparison.changes} == {"slower", "same"}
    assert change.ratio.low is not None
    assert change.ratio.high is not None
    assert change.ratio.low < 1.2 < change.ratio.high
    output_console().print(PlacementComparisonTable(comparison, a, b))
    shown = capsys.readouterr().out.splitlines()
    [row] = [line for line in shown if line.rstrip().endswith("slower")]
    assert row.startswith(change.name)
    assert shown[0] == placement_comparison_sentence(comparison)
    [how] = [line for line in shown if line.startswith("A  scalar, 5 rounds")]
    assert a.id in how
    assert any(line.rstrip().endswith("the same") for line in shown)


def test_two_versions_of_a_program_are_compared_place_by_place() -> None:
    def of_program(name: str, seed: int) -> Run:
        series = measured_on(T2080, alike, seed=seed, workloads=[name])
        return run_of_series(msgspec.structs.replace(series, program=[name]))

    a, b = of_program("./old", 1), of_program("./new", 2)
    changes = compare_placements(a, b).changes
    assert len(changes) == len(a.threads)
    assert changes[0].name == "1 on (0,), idle"


def test_cells_are_in_the_order_of_threads_and_cpus() -> None:
    a, b = (run_of_series(measured_on(T2080, alike, seed=seed)) for seed in (1, 2))
    changes = compare_placements(a, b).changes
    places = [(one.name[:6], one.placement.threads, one.placement.cpus) for one in changes]
    assert places == sorted(places)


def test_cells_that_only_one_has_are_counted_and_nothing_in_common_is_refused() -> None:
    whole = a_series(1)
    few, rest = (
        run_of_series(msgspec.structs.replace(whole, cells=cells))
        for cells in (whole.cells[:3], whole.cells[3:])
    )
    *_, only = compare_placements(run_of_series(whole), few).differences
    assert (only.kind, only.side, len(only.names)) == ("only", "A", len(whole.cells) - 3)
    assert difference_sentence(only).endswith(f"; and {len(whole.cells) - 3 - 4} more")
    with pytest.raises(RtscopeError, match="no placement and load in common"):
        compare_placements(few, rest)
