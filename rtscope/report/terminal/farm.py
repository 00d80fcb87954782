# SPDX-License-Identifier: GPL-2.0-only
"""A farm's boards on the terminal: what each does, what a check found, and their results."""

from collections.abc import Sequence

from rtscope.engine.farm.check import BoardCheck
from rtscope.engine.farm.session import BoardResult
from rtscope.model.farm import Board
from rtscope.report.tables.column import Column
from rtscope.report.terminal.table import FittedTable
from rtscope.wording.plain import plain


def state_line(board: Board) -> str:
    """A board's new state in one line."""
    done = f" {board.done}/{board.cells}" if board.state == "measuring" else ""
    text = f": {plain(board.text)}" if board.text else ""
    return f"{plain(board.name)}: {board.state}{done}{text}"


def check_table(checks: Sequence[BoardCheck]) -> FittedTable:
    """What a check found."""
    return FittedTable(
        [
            Column("board", 0, [plain(one.name) for one in checks], left=True),
            Column("target", 2, [plain(one.target) for one in checks], left=True),
            Column("state", 1, [_state(one) for one in checks], left=True),
        ]
    )


def result_table(results: Sequence[BoardResult]) -> FittedTable:
    """The results of a farm run."""
    return FittedTable(
        [
            Column("board", 0, [plain(one.name) for one in results], left=True),
            Column("target", 3, [plain(one.target) for one in results], left=True),
            Column("measured", 2, [_measured(one) for one in results]),
            Column("verdict", 1, [one.verdict for one in results], left=True),
        ]
    )


def state_table(boards: Sequence[Board]) -> FittedTable:
    """What boards do, as a farm run has written it."""
    return FittedTable(
        [
            Column("board", 0, [plain(one.name) for one in boards], left=True),
            Column("target", 4, [plain(one.address) for one in boards], left=True),
            Column("state", 1, [one.state for one in boards], left=True),
            Column("measured", 2, [f"{one.done}/{one.cells}" for one in boards]),
            Column("verdict", 3, [one.verdict for one in boards], left=True),
            Column("since (UTC)", 6, [plain(one.time)[:19] for one in boards], left=True),
            Column("", 5, [plain(one.text)[:60] for one in boards], left=True),
        ]
    )


def _state(check: BoardCheck) -> str:
    return "not usable" if check.problem else "in use" if check.held else "ready"


def _measured(result: BoardResult) -> str:
    runs = sum(one.run is not None and one.verdict != "failed" for one in result.results)
    return f"{runs}/{len(result.results)}"
