# SPDX-License-Identifier: GPL-2.0-only
"""All boards of a farm at once, each in a thread of its own."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor, wait
from threading import Lock
from typing import Final

from rtscope.engine.cells import cells_of
from rtscope.engine.farm.interrupt import FarmInterrupt
from rtscope.engine.farm.session import BoardResult, BoardSession, Work
from rtscope.engine.farm.state import FarmState, moment
from rtscope.farm.leasing import Leases
from rtscope.model.farm import Board

_TICK_S: Final = 0.5


def run_farm(
    work: Work, interrupt: FarmInterrupt, changed: Callable[[Board], None]
) -> list[BoardResult]:
    """Measure every plan on every board, and return the results in the order of the farm file.

    `changed` gets each board that enters another state. Raises RtscopeError for a bad plan, before
    anything is leased.
    """
    boards = work.file.farm.board
    cells = sum(len(cells_of(plan.with_changes(targets=["local"]))) for plan in work.plans)
    now = moment()
    plans = ", ".join(plan.plan.title for plan in work.plans)
    state = FarmState(
        f"{work.file.title}: {plans}",
        [Board(one.title, one.target, "queued", now, cells=cells) for one in boards],
        changed,
    )
    leases, here = Leases(work.file), Lock()
    try:
        with interrupt.installed(), ThreadPoolExecutor(len(boards)) as pool:
            sessions = [
                pool.submit(BoardSession(number, work, state, interrupt, leases, here).run)
                for number in range(len(boards))
            ]
            # The main thread stays awake, for it is the one that handles signals.
            while wait(sessions, _TICK_S).not_done:
                state.tick()
            return [session.result() for session in sessions]
    finally:
        leases.close()
        state.end()
