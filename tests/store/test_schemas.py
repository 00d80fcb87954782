# SPDX-License-Identifier: GPL-2.0-only
"""Stores of all formats end up with the same tables, and both kinds have the same columns."""

import sqlite3
from contextlib import closing
from pathlib import Path

import msgspec
import pytest
import sqlalchemy
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext

from rtscope.store.address import Server
from rtscope.store.database import found, load, opened, save
from rtscope.store.postgresql.connecting import connected
from rtscope.store.postgresql.tables import SCHEMA, runs
from rtscope.store.search import Search
from rtscope.store.sqlite import SCHEMA_VERSION
from rtscope.store.summary import Summary, summary_of
from tests.measured import run_of, thread_of

RUN = run_of(thread_of([1000] * 1000), tags=["nightly"])
SHOWN = set(Summary.__struct_fields__)
# As they were written once: not to be changed.
FORMAT_1 = (
    "CREATE TABLE runs (saved INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, created TEXT NOT NULL, "
    "host TEXT, kernel TEXT, probe TEXT NOT NULL, load TEXT NOT NULL, status TEXT NOT NULL, "
    "count INTEGER NOT NULL, max_ns INTEGER, source TEXT NOT NULL, record BLOB NOT NULL)",
)
FORMATS = {
    1: FORMAT_1,
    2: (
        *FORMAT_1,
        "ALTER TABLE runs ADD COLUMN experiment TEXT NOT NULL DEFAULT ''",
        "ALTER TABLE runs ADD COLUMN cell TEXT NOT NULL DEFAULT ''",
        "CREATE INDEX experiments ON runs (experiment)",
    ),
}


def tables_of(path: Path) -> dict[str, object]:
    """Columns of each table without their order, and the columns of each index."""
    with closing(sqlite3.connect(path)) as database:
        names = database.execute("SELECT type, name FROM sqlite_master").fetchall()
        return {
            name: sorted(row[1:] for row in database.execute(f"PRAGMA table_xinfo({name})"))
            if kind == "table"
            else [row[2] for row in database.execute(f"PRAGMA index_info({name})")]
            for kind, name in names
        }


@pytest.mark.parametrize("number", FORMATS)
def test_an_older_file_is_migrated_to_the_tables_of_a_new_one(tmp_path: Path, number: int) -> None:
    old, new = tmp_path / "old.sqlite", tmp_path / "new.sqlite"
    shown = summary_of(RUN)
    lacking = () if number > 1 else ("experiment", "cell")
    columns = [name for name in Summary.__struct_fields__ if name not in lacking]
    with closing(sqlite3.connect(old)) as database:
        for statement in FORMATS[number]:
            database.execute(statement)
        database.execute(
            f"INSERT INTO runs ({', '.join(columns)}, record) "
            f"VALUES ({', '.join('?' * len(columns))}, ?)",
            [*(getattr(shown, name) for name in columns), msgspec.json.encode(RUN)],
        )
        database.execute("PRAGMA application_id = 1920234339")
        database.execute(f"PRAGMA user_version = {number}")
        database.commit()
    assert opened(old).migrate() == (number, SCHEMA_VERSION)
    save(RUN, new)
    assert tables_of(old) == tables_of(new)
    assert load(RUN.id, old) == RUN
    assert found(Search(machine="board", tags=["nightly"]), old) == [shown]
    assert not list(opened(old).check())


def test_both_kinds_of_store_have_the_columns_of_a_list(server: Server, tmp_path: Path) -> None:
    file = tmp_path / "runs.sqlite"
    save(RUN, file)
    with closing(sqlite3.connect(file)) as database:
        rows = database.execute("PRAGMA table_info(runs)").fetchall()
    here = {name: bool(not_null) for _, name, _, not_null, *_ in rows if name in SHOWN}
    with connected(server) as connection:
        columns = sqlalchemy.inspect(connection).get_columns("runs", SCHEMA)
    there = {one["name"]: not one["nullable"] for one in columns if one["name"] in SHOWN}
    assert here == there
    assert here.keys() == SHOWN


def test_the_tables_in_code_are_those_of_the_migrations(server: Server) -> None:
    with connected(server) as connection:
        context = MigrationContext.configure(
            connection, opts={"include_schemas": True, "compare_type": True}
        )
        found = compare_metadata(context, runs.metadata)
    # Indexes are in the migrations alone, as is alembic's own table.
    differing = [
        one for one in found
        if not (isinstance(one, tuple) and one[0] in ("remove_index", "remove_table"))
    ]  # fmt: skip
    assert not differing
