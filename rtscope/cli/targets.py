# SPDX-License-Identifier: GPL-2.0-only
"""Targets by name, with a note on a terminal where a connection takes time."""

import sys

from rtscope.engine.interrupt import ended_by_signals
from rtscope.engine.targets import target_of
from rtscope.report.terminal.streams import note
from rtscope.target.agent import Target


def connecting(*names: str) -> None:
    """Print the boards among these targets on a terminal, where ssh may ask for a password."""
    if sys.stderr.isatty():
        for name in dict.fromkeys(names):
            if name.startswith("ssh:"):
                note(f"connecting to {name}")


def reached(name: str) -> Target:
    """Return the target of this name. Raises RtscopeError."""
    connecting(name)
    with ended_by_signals():
        return target_of(name)
