# SPDX-License-Identifier: GPL-2.0-only
"""The samples file of an agent on a board: written there, and fetched when the agent has ended."""

import secrets
import subprocess
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Final

import msgspec

from rtscope.model.errors import RtscopeError
from rtscope.model.request import AgentRequest, Request
from rtscope.target.connection import Connection
from rtscope.target.protocol import AgentWarning

_MAKE: Final = """umask 077 && : >"$1" """
_SIZE: Final = r"""printf "\nrtscope: %s\n" "$(wc -c <"$1")" """
_READ: Final = """exec cat "$1" """
_REMOVE: Final = """rm -f "$1" """


class Samples:
    """The file, if the request names one."""

    def __init__(self, connection: Connection, folder: str, request: AgentRequest) -> None:
        """Create it in the board's `folder`, owned by the user even if the agent runs as root."""
        self._connection = connection
        self._transfer: subprocess.Popen[bytes] | None = None
        self._given_up = False
        self._file: Path | None = None
        self.path = ""
        """on the board; "" for none"""
        self.request = request
        """the request, with the file on the board"""
        if isinstance(request, Request) and request.samples_file is not None:
            self._file = Path(request.samples_file)
            self.path = f"{folder}/samples-{secrets.token_hex(4)}"
            self.request = msgspec.structs.replace(request, samples_file=self.path)
            connection.run(_MAKE, self.path)

    def fetched(self) -> Iterator[AgentWarning]:
        """Fetch the complete file, or return a warning."""
        if not self._file:
            return
        part = self._file
        if self._file.is_file() or not self._file.exists():
            part = self._file.with_name(f".{self._file.name[:200]}.{secrets.token_hex(4)}.part")
        why = ""
        try:
            why = self._copy(part)
            if part != self._file and not why:
                part.replace(self._file)
        except OSError as error:
            why = f"{self._file} cannot be written: {error.strerror}"
        except RtscopeError as error:
            why = str(error)
        finally:
            if part != self._file:
                part.unlink(missing_ok=True)
        if why:
            left, self.path = self.path, ""
            yield AgentWarning(
                "samples-file-failed", f"{why}; the samples are on the board in {left}"
            )

    def _copy(self, part: Path) -> str:
        """The reason of a failure; "" on success."""
        size = self._connection.run(_SIZE, self.path).answers
        with part.open("wb") as file:
            self._transfer = subprocess.Popen(
                self._connection.command(_READ, self.path),
                stdin=subprocess.DEVNULL,
                stdout=file,
                stderr=subprocess.DEVNULL,
                start_new_session=True,
            )
            if self._given_up:
                self._transfer.kill()
            self._transfer.wait()
            came = file.seek(0, 2) if file.seekable() else None
        if self._given_up:
            return "the transfer of the samples file was interrupted"
        if self._transfer.returncode or (came is not None and size != [str(came)]):
            return "the samples file could not be fetched from the board"
        return ""

    def give_up(self) -> None:
        """End a transfer."""
        self._given_up = True
        if self._transfer and self._transfer.poll() is None:
            self._transfer.kill()

    def remove(self) -> None:
        """Remove it from the board, unless it could not be fetched."""
        if self.path:
            with suppress(RtscopeError):
                self._connection.run(_REMOVE, self.path)
