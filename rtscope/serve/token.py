# SPDX-License-Identifier: GPL-2.0-only
"""The token that opens the pages: read from a file, compared in constant time.

A browser keeps a proof of it in a cookie instead of the token itself. Scripts send the token:
`Authorization: Bearer TOKEN`.
"""

import hashlib
import hmac
import os
import stat
from pathlib import Path
from typing import Final

from rtscope.model.errors import RtscopeError

COOKIE: Final = "rtscope"
LEAST: Final = 16
"""characters of a token"""
_MOST_BYTES: Final = 1000
_OTHERS: Final = 0o077


class Token:
    """A token."""

    def __init__(self, text: str) -> None:
        """Take the token's characters."""
        self._bytes = text.encode()
        self.proof = hmac.new(self._bytes, b"rtscope serve", hashlib.sha256).hexdigest()
        """what a browser's cookie holds"""

    def is_token(self, given: str) -> bool:
        """Whether this is the token, in a time that does not depend on where they differ."""
        return hmac.compare_digest(given.encode(errors="replace"), self._bytes)

    def is_proof(self, given: str) -> bool:
        """Whether this is the proof, as is_token."""
        return hmac.compare_digest(given.encode(errors="replace"), self.proof.encode())


def read_token(path: Path) -> Token:
    """Read the first line of a file that only its owner can read. Raises RtscopeError."""
    try:
        file = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
        try:
            state = os.fstat(file)
            data = os.read(file, _MOST_BYTES + 1) if stat.S_ISREG(state.st_mode) else b""
        finally:
            os.close(file)
    except OSError as error:
        raise RtscopeError(f"--token-file {path} cannot be read: {error.strerror}") from None
    if not stat.S_ISREG(state.st_mode):
        raise RtscopeError(f"--token-file {path} is not a file")
    if state.st_mode & _OTHERS:
        raise RtscopeError(
            f"--token-file {path} has mode {stat.S_IMODE(state.st_mode):04o}, so that other users "
            f"may use it: run 'chmod 600 {path}', and make a new token if somebody may have read it"
        )
    if state.st_uid not in (os.geteuid(), 0):
        raise RtscopeError(f"--token-file {path} belongs to another user: make one of your own")
    return Token(_checked(path, data))


def _checked(path: Path, data: bytes) -> str:
    line = data.split(b"\n", 1)[0].strip()
    try:
        text = line.decode("ascii")
    except UnicodeDecodeError:
        text = ""
    if not (len(text) >= LEAST and len(data) <= _MOST_BYTES and text.isprintable()) or " " in text:
        raise RtscopeError(
            f"--token-file {path} has no token of {LEAST} or more letters and digits in its first "
            f"line: make one with 'umask 077; openssl rand -hex 32 > {path}'"
        )
    return text
