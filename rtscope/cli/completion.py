# SPDX-License-Identifier: GPL-2.0-only
"""Completion of `--option=value`, which zsh and fish pass on as one word.

typer completes the value alone. These shells replace the whole word, so they would discard it.
"""

import io
import os
import re
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stdout
from typing import Final

_SHELL: Final = "_RTSCOPE_COMPLETE"
_LINE: Final = "_TYPER_COMPLETE_ARGS"
_JOINED: Final = re.compile(r"(.*\s)(--[a-z][a-z-]*)=(\S*)", re.DOTALL)
_IGNORE_OPTION: Final = "compset -P '*=';"
"""makes zsh complete the part of the word after the sign"""


@contextmanager
def joined_values_completed() -> Iterator[None]:
    """Let typer complete the value of `--option=value`, and put the option before it again."""
    shell, joined = os.environ.get(_SHELL, ""), _JOINED.fullmatch(os.environ.get(_LINE, ""))
    if not joined or shell not in ("complete_zsh", "complete_fish"):
        yield
        return
    before, option, value = joined.groups()
    os.environ[_LINE] = f"{before}{option} {value}"
    found = io.StringIO()
    try:
        with redirect_stdout(found):
            yield
    finally:
        if shell == "complete_zsh":
            print(_IGNORE_OPTION, found.getvalue())
        else:
            for line in filter(None, found.getvalue().splitlines()):
                print(f"{option}={line}")
