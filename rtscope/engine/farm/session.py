# SPDX-License-Identifier: GPL-2.0-only
"""The measurements on one board, from its lease to its release."""

from collections.abc import Callable, Sequence
from contextlib import ExitStack
from functools import partial
from threading import Lock
from typing import Final

import msgspec

from rtscope.engine.experiment import checked_plan, measure_plan
from rtscope.engine.farm.interrupt import FarmInterrupt
from rtscope.engine.farm.observer import BoardObserver
from rtscope.engine.farm.quiet import NotQuietError, await_quiet
from rtscope.engine.farm.state import FarmState
from rtscope.engine.observer import Observer, Observers
from rtscope.engine.planfile import PlanFile
from rtscope.engine.targets import held
from rtscope.farm.board import Board, HereBoard, SshBoard
from rtscope.farm.farmfile import BoardSpec, FarmFile
from rtscope.farm.leasing import Leases
from rtscope.model.errors import BootError, RtscopeError
from rtscope.statistics.cells import CellResult

_POLL_S: Final = 0.5


class BoardResult(msgspec.Struct, frozen=True):
    """The results of one board."""

    name: str
    target: str
    """with the place that labgrid chose"""
    results: list[CellResult]
    failure: str = ""
    """why not everything is measured"""
    refused: bool = False
    """that is because the farm file, the plan or the board is not as it should be"""

    @property
    def verdict(self) -> str:
        """One word for all cells and the board."""
        verdicts = {result.verdict for result in self.results}
        if self.failure or "failed" in verdicts or "not begun" in verdicts:
            return "failed"
        worst = [one for one in ("fail", "inconclusive") if one in verdicts]
        if worst or any(result.is_bad for result in self.results):
            return worst[0] if worst else "failed"
        return "pass" if "pass" in verdicts else "measured"


class Work(msgspec.Struct, frozen=True):
    """What is measured on every board."""

    file: FarmFile
    plans: list[PlanFile]
    scale: float
    fresh: bool
    tags: Sequence[str]
    observer_of: Callable[[str], Observer]
    """for a board's name, the observer that stores and prints its runs"""


class BoardSession:
    """One board; run() is called in a thread of its own."""

    def __init__(
        self,
        number: int,
        work: Work,
        state: FarmState,
        interrupt: FarmInterrupt,
        leases: Leases,
        here: Lock,
    ) -> None:
        """`here` is held by what uses this computer's own CPUs."""
        self._number = number
        self._spec: BoardSpec = work.file.farm.board[number]
        self._work = work
        self._interrupt = interrupt
        self._leases = leases
        self._here = here
        self._change = partial(state.change, number)
        self._results: dict[tuple[int, str], CellResult] = {}
        self._target = self._spec.target
        self._recoveries = 0
        self._done = 0

    def run(self) -> BoardResult:
        """Measure all plans and return the results, whatever happens."""
        failure, refused = "", False
        try:
            with ExitStack() as stack:
                board = self._board(stack)
                self._target = board.name
                self._measure(board)
                self._change(state="releasing", text="", progress=None)
        except (BootError, NotQuietError) as error:
            failure = str(error)
        except RtscopeError as error:
            failure, refused = str(error), True
        result = BoardResult(
            self._spec.title, self._target, list(self._results.values()), failure, refused
        )
        ended = "failed" if result.verdict == "failed" else "done"
        self._change(state=ended, text=failure, progress=None)
        return result

    def _board(self, stack: ExitStack) -> Board:
        """The board, which the stack releases."""
        spec, is_over = self._spec, self._interrupt.is_set
        board: Board
        if spec.is_labgrid:
            self._change(state="leasing", text="")
            board = stack.enter_context(
                self._leases.leased(
                    self._number, lambda text: self._change(state="queued", text=text), is_over
                )
            )
        elif spec.target.startswith("ssh:"):
            board = SshBoard(spec, is_over)
        else:
            self._take_this_computer(stack)
            board = HereBoard(spec)
        stack.callback(board.close)
        return board

    def _take_this_computer(self, stack: ExitStack) -> None:
        if not self._here.acquire(blocking=False):
            text = "waits for this computer, which measures another board"
            self._change(state="queued", text=text)
            while not self._here.acquire(timeout=_POLL_S):
                if self._interrupt.is_set():
                    raise BootError("interrupted")
        stack.callback(self._here.release)

    def _measure(self, board: Board) -> None:
        """Boot, and measure one plan after the other; recover the board where it is lost."""
        self._change(state="booting", text="")
        lost = self._tried(board.boot)
        number = 0
        while number < len(self._work.plans):
            if self._interrupt.is_set():
                raise BootError("interrupted")
            if lost:
                self._recover(board, lost)
            lost = self._tried(partial(self._plan, board, number))
            if not lost:
                number += 1

    def _tried(self, act: Callable[[], object]) -> str:
        """Why the board is lost after this; "" if it is not."""
        try:
            return str(act() or "")
        except BootError as error:
            if self._interrupt.is_set() or not self._spec.recoveries:
                raise
            return str(error)

    def _recover(self, board: Board, lost: str) -> None:
        if not board.is_ours or self._recoveries == self._spec.recoveries:
            raise BootError(lost)
        self._recoveries += 1
        self._change(state="recovering", text=lost, progress=None)
        what = board.recover()
        self._change(state="recovering", text=f"{lost}; {what}")

    def _plan(self, board: Board, number: int) -> str:
        """Measure what is left of a plan; return why the board was lost, "" if it was not."""
        work = self._work
        target = board.reach()
        interrupt = self._interrupt.of_board()
        with held(target):
            if self._spec.quiet and not target.capabilities.exact_time:
                self._change(state="checking", text="")
                await_quiet(
                    target,
                    self._spec.quiet_wait / 1e9,
                    self._interrupt.is_set,
                    lambda text: self._change(state="checking", text=text),
                )
            self._change(state="measuring", text="")
            plan = checked_plan(work.plans[number].with_changes(targets=[target.name]), work.scale)
            watcher = BoardObserver(board, interrupt, self._change, self._done)
            observers = Observers([work.observer_of(self._spec.title), watcher])
            again = work.fresh and not self._results.keys() & {
                (number, one.name) for one in plan.cells
            }
            results = measure_plan(plan, observers, interrupt, fresh=again, tags=work.tags)
        for result in results:
            self._results[number, result.name] = result
        if interrupt.lost:
            return interrupt.lost
        self._done += len(plan.cells)
        return ""
