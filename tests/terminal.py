# SPDX-License-Identifier: GPL-2.0-only
"""Commands on a terminal of their own, and what they show there."""

import fcntl
import os
import pty
import select
import struct
import subprocess
import termios
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

_WAIT_S = 60.0


class OnTerminal:
    """A running command, and the text that it has shown."""

    def __init__(self, process: subprocess.Popen[bytes], screen: int) -> None:
        """Take the process and the other end of its terminal."""
        self.process = process
        self.text = ""
        self._screen = screen

    def read(self) -> bool:
        """Read more of the text; False once the terminal is closed."""
        with suppress(OSError):  # how a terminal reports that
            data = os.read(self._screen, 65536).decode(errors="replace")
            self.text += data
            return bool(data)
        return False

    def wait_for(self, words: str, times: int = 1) -> None:
        """Read until the words were shown so often."""
        until = time.monotonic() + _WAIT_S
        while self.text.count(words) < times and time.monotonic() < until:
            if select.select([self._screen], [], [], 1)[0] and not self.read():
                break
        assert self.text.count(words) >= times, self.text

    def type(self, text: str) -> None:
        """Give the command input."""
        os.write(self._screen, text.encode())

    def end(self) -> int:
        """The exit status, after all text was read."""
        while self.read():
            pass
        return self.process.wait(_WAIT_S)


@contextmanager
def on_terminal(
    command: Sequence[str],
    environment: Mapping[str, str],
    *,
    columns: int = 120,
    rows: int = 24,
    cwd: Path | None = None,
) -> Iterator[OnTerminal]:
    """The command with a terminal of this size; it does not outlive the block."""
    screen, terminal = pty.openpty()
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("4H", rows, columns, 0, 0))
    with subprocess.Popen(
        command, stdin=terminal, stdout=terminal, stderr=terminal, cwd=cwd,
        env={**environment, "TERM": "xterm-256color"},
    ) as process:  # fmt: skip
        os.close(terminal)
        try:
            yield OnTerminal(process, screen)
        finally:
            process.kill()
            os.close(screen)
