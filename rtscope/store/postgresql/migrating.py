# SPDX-License-Identifier: GPL-2.0-only
"""Creates a store in a database, or brings one to the format of this version, with alembic."""

from pathlib import Path

from alembic import command
from alembic.config import Config
from sqlalchemy import text

from rtscope.model.errors import StoreError
from rtscope.store.address import Server
from rtscope.store.postgresql.connecting import connected, format_of, newer_format
from rtscope.store.postgresql.tables import FORMAT, SCHEMA


def migrate(server: Server) -> int | None:
    """Return the format that the store had before; None if there was none. Raises StoreError.

    It is one transaction, and one at a time: afterwards the store is migrated, or as it was.
    """
    config = Config()
    place = str(Path(__file__).with_name("migrations"))
    config.set_main_option("script_location", place.replace("%", "%%"))
    with connected(server) as connection:
        connection.execute(text("SELECT pg_advisory_xact_lock(hashtext(:name))"), {"name": SCHEMA})
        before = format_of(connection)
        if before is not None and before > FORMAT:
            raise StoreError(newer_format(server, before))
        if before == FORMAT:
            return before
        if before is None:
            connection.execute(text(f"CREATE SCHEMA IF NOT EXISTS {SCHEMA}"))
        config.attributes["connection"] = connection
        command.upgrade(config, str(FORMAT))
    return before
