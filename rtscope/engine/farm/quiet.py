# SPDX-License-Identifier: GPL-2.0-only
"""Wait for a board to be quiet before it is measured."""

import time
from collections.abc import Callable
from typing import Final

from rtscope.farm.quiet import disturbances
from rtscope.model.errors import BootError, RtscopeError
from rtscope.model.request import MachineRequest
from rtscope.target.agent import Target
from rtscope.target.bounds import Span
from rtscope.target.fingerprint.files import Files
from rtscope.target.protocol import files_of

_BETWEEN_S: Final = 3.0
_SILENCE_S: Final = 90.0


class NotQuietError(RtscopeError):
    """A board is not quiet. A restart would not help."""


def _activity(target: Target) -> Files:
    with target.started_agent(MachineRequest(activity=True)) as agent:
        return files_of(agent.lines(_SILENCE_S, Span(prompt=True)))


def await_quiet(
    target: Target, wait_s: float, is_over: Callable[[], bool], waits: Callable[[str], None]
) -> None:
    """Return once the board is quiet; `waits` gets what disturbs it meanwhile.

    Raises NotQuietError after `wait_s` seconds, and BootError once `is_over`.
    """
    until = time.monotonic() + wait_s
    before = _activity(target)
    while True:
        time.sleep(_BETWEEN_S)
        after = _activity(target)
        found = "; ".join(disturbances(before, after))
        if not found:
            return
        waits(found)
        if is_over():
            raise BootError("interrupted")
        if time.monotonic() > until:
            raise NotQuietError(
                f"{target.name} is not quiet after {wait_s:.0f} s: {found}; end what runs there, "
                "or set quiet = false in the farm file"
            )
        before = after
