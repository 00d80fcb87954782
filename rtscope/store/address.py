# SPDX-License-Identifier: GPL-2.0-only
"""The place of a store: the path of an SQLite file, or the URL of a PostgreSQL database."""

import hashlib
import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final
from urllib.parse import parse_qsl, urlsplit

import platformdirs

from rtscope.model.errors import RtscopeError

VARIABLE: Final = "RTSCOPE_STORE"
_SCHEMES: Final = ("postgresql", "postgres")


@dataclass(frozen=True)
class Server:
    """A database of a PostgreSQL server. Its text never has a password."""

    url: str = field(repr=False)
    """as libpq reads it"""

    def __str__(self) -> str:
        """The URL with the user, host and database alone."""
        parts = urlsplit(self.url)
        user, at, host = parts.netloc.rpartition("@")
        named = dict(parse_qsl(parts.query)).get("host", "")
        socket = f"?host={named}" if named and not host else ""
        return f"postgresql://{user.partition(':')[0]}{at}{host}{parts.path}{socket}"

    @property
    def key(self) -> str:
        """Eight hexadecimal digits of this server and database, whoever the user is."""
        return hashlib.sha256(str(self).rpartition("@")[2].encode()).hexdigest()[:8]


Place = Path | Server


def default_path() -> Path:
    """The default store: $XDG_DATA_HOME (or ~/.local/share) /rtscope/runs.sqlite."""
    return Path(platformdirs.user_data_dir("rtscope", appauthor=False)) / "runs.sqlite"


def user_place() -> Place:
    """The store that RTSCOPE_STORE names, else the default. Raises RtscopeError."""
    named = os.environ.get(VARIABLE, "")
    return parse_place(named, VARIABLE) if named else default_path()


def parse_place(text: str, what: str) -> Place:
    """Read the place of a store; `what` names the text in a message. Raises RtscopeError."""
    scheme, colon, _ = text.partition("://")
    if not colon:
        return Path(text).expanduser()
    try:
        parts = urlsplit(text)
        _ = parts.port
    except ValueError as error:
        raise RtscopeError(f"{what} is not the URL of a store: {error}") from None
    if scheme not in _SCHEMES:
        raise RtscopeError(
            f"{what} begins with '{scheme[:40]}://': give the path of an SQLite file, or "
            "postgresql://[USER@]HOST[:PORT]/DATABASE"
        )
    if not parts.path.strip("/"):
        raise RtscopeError(
            f"{what} names no database: give postgresql://[USER@]HOST[:PORT]/DATABASE"
        )
    return Server(text)
