# SPDX-License-Identifier: GPL-2.0-only
"""Standard output and error as they are found: closed, full, without a reader, poor in letters."""

import errno
import io
import os
import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from rtscope.wording.plain import plain


def ready_streams() -> None:
    """Replace streams that the caller closed, and let none of them refuse a character."""
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            setattr(sys, name, Path(os.devnull).open(mode, encoding="utf-8"))  # noqa: SIM115
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="replace")


def abandon_output() -> None:
    """Discard unwritten output: Python would try to write it on exit, and print an error."""
    null = os.open(os.devnull, os.O_WRONLY)
    os.dup2(null, sys.stdout.fileno())
    os.close(null)


def output_written(show: Callable[[], None]) -> bool:
    """Write results with `show`; False, and a sentence on standard error, where that fails.

    A reader that goes away, such as head(1), has enough, which is no failure.
    """
    try:
        show()
        sys.stdout.flush()
    except OSError as error:
        abandon_output()
        if error.errno == errno.EPIPE:
            return True
        complain(why_not_written(error))
        return False
    return True


def why_not_written(error: OSError) -> str:
    """A sentence for a failed write."""
    where = f"{error.filename}" if error.filename else "standard output"
    return f"{where} cannot be written: {error.strerror or error}"


def note(text: str) -> None:
    """Print a line on standard error, if it is still open."""
    with suppress(OSError):
        print(plain(text), file=sys.stderr, flush=True)


def complain(text: str) -> None:
    """Tell of something that does not end the command."""
    with suppress(OSError):
        for line in text.split("\n"):
            print(f"rtscope: {plain(line)}", file=sys.stderr, flush=True)
