# SPDX-License-Identifier: GPL-2.0-only
"""measure --explain: the run again with a witness, so that its worst samples can be told."""

from rtscope.cli.interrupt import Interrupt
from rtscope.cli.streams import complain
from rtscope.cli.waiting import status
from rtscope.engine.explain import Heard, explained
from rtscope.model.errors import RtscopeError
from rtscope.model.request import Request
from rtscope.model.run import Run
from rtscope.target.agent import Target


def with_explanations(
    run: Run,
    heard: Heard,
    request: Request,
    target: Target,
    count: int,
    interrupt: Interrupt,
    *,
    quiet: bool,
) -> tuple[Run, bool]:
    """The run with its `count` worst samples explained, and whether that could be done.

    Where it could not, the run is as it was and the reason is told.
    """
    if not any(thread.count for thread in run.threads) or interrupt.signal is not None:
        return run, False
    try:
        with status("the same run again, with QEMU's plugin as a witness", quiet=quiet):
            told = explained(run, heard, request, target, count, interrupt.watch)
    except RtscopeError as error:
        why = "interrupted" if interrupt.signal is not None else str(error)
        complain(f"the worst samples are not explained: {why}")
        return run, False
    finally:
        interrupt.agent = None
    return told, True
