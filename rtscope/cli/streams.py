# SPDX-License-Identifier: GPL-2.0-only
"""Standard output and error as they are found: closed, full, without a reader, poor in letters."""

import errno
import io
import os
import re
import sys
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext, suppress
from pathlib import Path

_STEERING = re.compile(
    "[\x7f-\x9f\xad\u0600-\u0605\u061c\u06dd\u070f\u08e2\u180e\u200b-\u200f\u2028-\u202e"
    "\u2060-\u206f\ufeff\ufff9-\ufffb\U000110bd\U000110cd\U00013430-\U0001343f"
    "\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0001-\U000e007f]"
)
"""Unicode categories Cc beyond C0, Cf, Zl and Zp"""


def ready_streams() -> None:
    """Replace streams that the caller closed, and let none of them refuse a character."""
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            setattr(sys, name, Path(os.devnull).open(mode, encoding="utf-8"))  # noqa: SIM115
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="replace")


def abandon_output() -> None:
    """Let what is still to be written go nowhere: Python would try, and complain, on exit."""
    null = os.open(os.devnull, os.O_WRONLY)
    os.dup2(null, sys.stdout.fileno())
    os.close(null)


def json_line(value: object) -> str:
    """The value as one line of JSON that cannot steer the terminal it is printed to.

    Names in it come from targets and files. C0 controls are escaped in any JSON; C1 controls,
    format characters such as U+202E, and line separators are escaped here.
    """
    import msgspec

    text = value if isinstance(value, bytes) else msgspec.json.encode(value, enc_hook=int)
    return _STEERING.sub(_escaped, text.decode().strip())


def print_json(value: object) -> None:
    """Print a value, or JSON that is already encoded, as one line on standard output."""
    print(json_line(value))


def _escaped(match: re.Match[str]) -> str:
    code_units = match[0].encode("utf-16-be").hex()
    return "".join(f"\\u{code_units[at : at + 4]}" for at in range(0, len(code_units), 4))


def told(show: Callable[[], None]) -> bool:
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


def status(text: str, *, quiet: bool = False) -> AbstractContextManager[object]:
    """Within the block, what is being done, where standard error is a terminal."""
    from rtscope.report.terminal.console import output_console

    console = output_console(sys.stderr)
    return console.status(text) if console.is_terminal and not quiet else nullcontext()


def note(text: str) -> None:
    """A line on standard error, for whoever still looks."""
    from rtscope.wording.values import plain

    with suppress(OSError):
        print(plain(text), file=sys.stderr, flush=True)


def complain(text: str) -> None:
    """Tell of something that does not end the command."""
    from rtscope.wording.values import plain

    with suppress(OSError):
        for line in text.split("\n"):
            print(f"rtscope: {plain(line)}", file=sys.stderr, flush=True)
