# SPDX-License-Identifier: GPL-2.0-only
"""Commands that end when rtscope does, however that ends."""

import shutil
from typing import Literal


def tethered(command: list[str], signal: Literal["KILL", "TERM"]) -> list[str]:
    """`command` such that it gets the signal when the thread that starts it is gone.

    Without setpriv(1), of util-linux, it is as it was.
    """
    keeper = ["setpriv", f"--pdeathsig={signal}", "--"] if shutil.which("setpriv") else []
    return [*keeper, *command]
