# SPDX-License-Identifier: GPL-2.0-only
"""Commands that end with rtscope, however it ends."""

import shutil
from typing import Literal


def bound_to_parent(command: list[str], signal: Literal["KILL", "TERM"]) -> list[str]:
    """Wrap `command` so that it gets the signal when the thread that started it ends. Without
    setpriv(1) of util-linux it is unchanged.
    """
    wrapper = ["setpriv", f"--pdeathsig={signal}", "--"] if shutil.which("setpriv") else []
    return [*wrapper, *command]
