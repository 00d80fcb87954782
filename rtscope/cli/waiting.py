# SPDX-License-Identifier: GPL-2.0-only
"""A status line on the terminal while a command waits."""

import sys
from contextlib import AbstractContextManager, nullcontext

from rtscope.report.terminal.console import output_console


def status(text: str, *, quiet: bool = False) -> AbstractContextManager[object]:
    """Show the current activity within the block, if standard error is a terminal."""
    console = output_console(sys.stderr)
    return console.status(text) if console.is_terminal and not quiet else nullcontext()
