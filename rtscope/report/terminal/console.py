# SPDX-License-Identifier: GPL-2.0-only
"""The console that results are printed to."""

import errno
import os
import sys
from typing import TYPE_CHECKING, TextIO

from rich.console import Console

if TYPE_CHECKING:
    pass

PIPED_WIDTH = 120


class _Console(Console):
    """Rich's, but a reader that went away is an error as any other, not the end of the program."""

    def on_broken_pipe(self) -> None:
        """Rich's protocol."""
        raise BrokenPipeError(errno.EPIPE, os.strerror(errno.EPIPE))


def output_console(file: TextIO | None = None) -> Console:
    """A console for results: as wide as the terminal, or 120 columns and no colours in a pipe."""
    stream = file or sys.stdout
    piped = not stream.isatty() and "COLUMNS" not in os.environ
    return _Console(file=stream, width=PIPED_WIDTH if piped else None, highlight=False)
