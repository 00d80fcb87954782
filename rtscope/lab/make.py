# SPDX-License-Identifier: GPL-2.0-only
"""Run the kernel's make reproducibly, and end it reliably."""

import contextlib
import os
import re
import signal
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Final

from rtscope.lab.lifetime import bound_to_parent
from rtscope.model.errors import RtscopeError, SourceError

SAME_EVERYWHERE: Final = {
    "KBUILD_BUILD_TIMESTAMP": "2026-01-01 00:00:00 UTC",
    "KBUILD_BUILD_USER": "rtscope",
    "KBUILD_BUILD_HOST": "lab",
    "KBUILD_BUILD_VERSION": "1",
    "LOCALVERSION": "",
    "LC_ALL": "C",
}
"""so that the same content gives the same bits, independent of the user's environment"""

_ENVIRONMENT: Final = ("PATH", "HOME", "TMPDIR")
_PACKAGE_OF_FILE: Final = {"elf.h": "libelf-dev", "openssl/": "libssl-dev"}
_ERROR: Final = re.compile(
    r"(?:.*No space left on device|.*\berror: |.*undefined reference|.*\*\*\* )"
)
_FULL: Final = "No space left on device"
_END_S: Final = 10.0


def run_make(
    words: list[str], what: str, log: Path, on_line: Callable[[str], None] = lambda line: None
) -> None:
    """Run make to build `what`, append its output to `log` and pass each line to `on_line`. It
    ends when this process ends. Raises RtscopeError with its first error, which is a SourceError
    if it is in the source.
    """
    environment = {name: os.environ[name] for name in _ENVIRONMENT if name in os.environ}
    error = ""
    with (
        log.open("a") as file,
        subprocess.Popen(
            bound_to_parent(["make", *words], "TERM"),
            env=environment | SAME_EVERYWHERE,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            start_new_session=True,
        ) as process,
    ):
        try:
            assert process.stdout is not None
            for line in process.stdout:
                file.write(line)
                on_line(line)
                error = error or (line.strip() if _ERROR.match(line) else "")
            status = process.wait()
        except BaseException:
            _end(process)
            raise
    if status:
        package = next((one for file, one in _PACKAGE_OF_FILE.items() if file in error), "")
        hint = f" (the package {package} has it)" if package else ""
        # The rest has nothing to do with the source.
        kind = RtscopeError if package or _FULL in error or status < 0 else SourceError
        raise kind(
            f"{what} could not be built: {error or f'make ended with status {status}'}{hint}; "
            f"see {log}"
        )


def _end(process: subprocess.Popen[str]) -> None:
    for number in (signal.SIGTERM, signal.SIGKILL):
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, number)
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(_END_S)
