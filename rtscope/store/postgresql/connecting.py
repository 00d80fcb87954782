# SPDX-License-Identifier: GPL-2.0-only
"""Transactions on a server, and its errors as sentences."""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any, Final

import psycopg
from psycopg.conninfo import conninfo_to_dict
from sqlalchemy import Connection, Engine, NullPool, create_engine, text
from sqlalchemy.exc import DBAPIError, SQLAlchemyError

from rtscope.model.errors import RefusedError, StoreError, UnreachableError
from rtscope.store.address import Server
from rtscope.store.postgresql.tables import FORMAT, SCHEMA

_WAIT: Final = {
    "connect_timeout": 5,
    "tcp_user_timeout": 10_000,
    "keepalives_idle": 5,
    "keepalives_interval": 5,
    "keepalives_count": 2,
}
"""seconds, but tcp_user_timeout is in ms; a URL may have others. They find a dead link in 15 s"""
_LOCK_TIMEOUT: Final = "SET lock_timeout = '15s'"
_GONE: Final = ("08", "53", "55P", "57P")
"""SQLSTATEs of a server that cannot be used now: connection, resources, locks, shutdown"""
_REFUSED: Final = ("22", "23", "54")
"""SQLSTATEs of bad data: values, constraints, limits"""
_DENIED: Final = frozenset({"25006", "42501"})
_LONGEST: Final = 400
_HINT: Final = re.compile(r"\n\tIs the server running .*")


@contextmanager
def transaction(server: Server, *, read_only: bool = False) -> Iterator[Connection]:
    """A transaction on a store of this version's format: committed at the end, or rolled back.

    The server refuses whatever writes in a `read_only` one. Raises StoreError.
    """
    with connected(server) as connection:
        if read_only:
            connection.execute(text("SET TRANSACTION READ ONLY"))
        found = format_of(connection)
        if found != FORMAT:
            raise StoreError(_other_format(server, found))
        yield connection


@contextmanager
def connected(server: Server) -> Iterator[Connection]:
    """A transaction whatever the format of the store. Raises StoreError."""
    try:
        with _engine(server.url).begin() as connection:
            yield connection
    except (SQLAlchemyError, psycopg.Error) as error:
        raise _explained(error, server) from None


def format_of(connection: Connection) -> int | None:
    """The format of the store; None if there is no store."""
    exists = text("SELECT to_regclass(:table) IS NOT NULL")
    if not connection.scalar(exists, {"table": f"{SCHEMA}.alembic_version"}):
        return None
    found = connection.scalar(text(f"SELECT version_num FROM {SCHEMA}.alembic_version"))  # noqa: S608
    return int(found) if found else None


def newer_format(server: Server, found: int) -> str:
    """The message for a store that a newer rtscope has made or migrated."""
    return (
        f"the store {server} was migrated by a newer rtscope (format {found}); this one knows up "
        f"to {FORMAT}: update rtscope"
    )


def _other_format(server: Server, found: int | None) -> str:
    if found is None:
        return f"the database {server} has no store yet: create it with 'rtscope store migrate'"
    if found > FORMAT:
        return newer_format(server, found)
    return (
        f"the store {server} has the older format {found}, this rtscope writes {FORMAT}: "
        "'rtscope store migrate' migrates it"
    )


@cache
def _engine(url: str) -> Engine:
    """Connections are opened for each transaction: a board that measures for hours holds none."""

    def connect() -> psycopg.Connection[Any]:
        given = conninfo_to_dict(url)
        wait: dict[str, Any] = {name: value for name, value in _WAIT.items() if name not in given}
        connection = psycopg.connect(url, **wait)
        connection.execute(_LOCK_TIMEOUT)
        connection.commit()
        return connection

    return create_engine("postgresql+psycopg://", creator=connect, poolclass=NullPool)


def _explained(error: Exception, server: Server) -> StoreError:
    cause = error.orig if isinstance(error, DBAPIError) else error
    words = " ".join(_HINT.sub("", str(cause)).split())[:_LONGEST]
    state = getattr(cause, "sqlstate", None) or ""
    if state in _DENIED:
        return StoreError(
            f"the store {server} cannot be used by this user ({words}): GRANT the user the rights "
            f"on the tables of the schema {SCHEMA}"
        )
    if state.startswith(_GONE) or (not state and isinstance(cause, psycopg.OperationalError)):
        return UnreachableError(
            f"the store {server} cannot be reached: {words}; check the server and the URL"
        )
    if state.startswith(_REFUSED):
        return RefusedError(f"the store {server} does not take this run: {words}")
    return StoreError(f"the store {server} cannot be used: {words}")
