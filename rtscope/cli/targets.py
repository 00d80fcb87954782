# SPDX-License-Identifier: GPL-2.0-only
"""Targets by name, with a word where reaching one takes a while."""

import sys

from rtscope.engine.interrupt import ended_by_signals
from rtscope.engine.targets import target_of
from rtscope.report.terminal.streams import note
from rtscope.target.agent import Target


def connecting(*names: str) -> None:
    """Tell, on a terminal, of the boards among these; nothing moves, for ssh may ask there."""
    if sys.stderr.isatty():
        for name in dict.fromkeys(names):
            if name.startswith("ssh:"):
                note(f"connecting to {name}")


def reached(name: str) -> Target:
    """The target of this name. Raises RtscopeError."""
    connecting(name)
    with ended_by_signals():
        return target_of(name)
