# SPDX-License-Identifier: GPL-2.0-only
"""Run by alembic: migrates over the connection that migrating.py gives it."""

from alembic import context

from rtscope.store.postgresql.tables import SCHEMA

context.configure(connection=context.config.attributes["connection"], version_table_schema=SCHEMA)
with context.begin_transaction():
    context.run_migrations()
