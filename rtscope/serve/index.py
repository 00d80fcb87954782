# SPDX-License-Identifier: GPL-2.0-only
"""The index: an SQLite file in the cache with an Entry for each run of a store.

The pages read the index, and of the store single runs alone: so they are as fast with 100,000 runs
as with ten, and the store is never written. The index may be deleted at any time; `indexer.py`
fills it again.
"""

import hashlib
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

import msgspec
import platformdirs

from rtscope.model.errors import RtscopeError
from rtscope.serve.entry import ChangeEntry, Entry, Indexed
from rtscope.statistics.history import Key
from rtscope.store.address import Place, Server

_FORMAT: Final = 1
_TABLES: Final = (
    """CREATE TABLE series (
        number INTEGER PRIMARY KEY, key TEXT NOT NULL UNIQUE, machine TEXT NOT NULL,
        runs INTEGER NOT NULL DEFAULT 0,
        newest TEXT NOT NULL DEFAULT '', stale INTEGER NOT NULL DEFAULT 1
    )""",
    "CREATE INDEX series_of_machines ON series (machine)",
    """CREATE TABLE runs (
        id TEXT PRIMARY KEY, stamp TEXT NOT NULL, created TEXT NOT NULL, machine TEXT NOT NULL,
        series INTEGER, entry BLOB NOT NULL, heat BLOB NOT NULL
    )""",
    "CREATE INDEX runs_by_time ON runs (created)",
    "CREATE INDEX runs_of_machines ON runs (machine, created)",
    "CREATE INDEX runs_of_series ON runs (series, created)",
    """CREATE TABLE changes (
        series INTEGER NOT NULL, machine TEXT NOT NULL, created TEXT NOT NULL,
        worse INTEGER NOT NULL, change BLOB NOT NULL
    )""",
    "CREATE INDEX changes_by_time ON changes (worse, created)",
    "CREATE INDEX changes_of_series ON changes (series)",
    "CREATE TABLE state (runs INTEGER NOT NULL, missing INTEGER NOT NULL, trouble TEXT NOT NULL)",
    "INSERT INTO state VALUES (0, -1, '')",
)


class SeriesEntry(msgspec.Struct, frozen=True):
    """Runs that measured the same on the same machine, and the newest of them."""

    number: int
    key: Key
    runs: int
    newest: Entry


class State(msgspec.Struct, frozen=True):
    """How far the index is."""

    runs: int
    """that it has"""
    missing: int
    """runs of the store that it has not yet; -1 before the first look at the store"""
    trouble: str = ""
    """why the store cannot be read now"""


def index_path(place: Place) -> Path:
    """The file of a store's index: $XDG_CACHE_HOME (or ~/.cache) /rtscope/serve-KEY.sqlite."""
    text = place.url if isinstance(place, Server) else str(place.absolute())
    key = hashlib.sha256(text.encode()).hexdigest()[:16]
    cache = Path(platformdirs.user_cache_dir("rtscope", appauthor=False))
    return cache / f"serve-{key}.sqlite"


class Index:
    """An index. Each method opens the file: threads and processes may share it."""

    def __init__(self, path: Path) -> None:
        """Create or empty the file unless it has this version's format. Raises RtscopeError."""
        self.path = path
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            if self._format() != _FORMAT:
                for side in ("", "-wal", "-shm"):
                    Path(f"{path}{side}").unlink(missing_ok=True)
                with self._writing() as database:
                    for statement in _TABLES:
                        database.execute(statement)
                    database.execute(f"PRAGMA user_version = {_FORMAT}")
                path.chmod(0o600)
        except (OSError, sqlite3.Error) as error:
            raise RtscopeError(
                f"the index {path} cannot be written ({error}): free some space, or set "
                "XDG_CACHE_HOME to a directory that can be written"
            ) from None

    def _format(self) -> int:
        if not self.path.exists():
            return 0
        try:
            with self._reading() as database:
                return int(database.execute("PRAGMA user_version").fetchone()[0])
        except sqlite3.DatabaseError:
            return 0

    @contextmanager
    def _reading(self) -> Iterator[sqlite3.Connection]:
        database = sqlite3.connect(self.path, timeout=10, isolation_level=None)
        try:
            database.execute("BEGIN")
            yield database
        finally:
            database.close()

    @contextmanager
    def _writing(self) -> Iterator[sqlite3.Connection]:
        database = sqlite3.connect(self.path, timeout=30, isolation_level=None)
        try:
            database.execute("PRAGMA journal_mode = WAL")
            database.execute("PRAGMA synchronous = NORMAL")
            database.execute("BEGIN IMMEDIATE")
            yield database
            database.execute("COMMIT")
        finally:
            database.close()

    def state(self) -> State:
        """How far the index is."""
        with self._reading() as database:
            return State(*database.execute("SELECT runs, missing, trouble FROM state").fetchone())

    def set_state(self, missing: int, trouble: str = "") -> None:
        """Note how many runs are missing, and why the store cannot be read."""
        with self._writing() as database:
            database.execute(
                "UPDATE state SET runs = (SELECT count(*) FROM runs), missing = ?, trouble = ?",
                (missing, trouble),
            )

    def stamps(self) -> dict[str, str]:
        """The stamp of each run, by its id."""
        with self._reading() as database:
            return dict(database.execute("SELECT id, stamp FROM runs").fetchall())

    def add(self, found: Sequence[tuple[str, Indexed]]) -> None:
        """Add or replace runs, with their stamps."""
        with self._writing() as database:
            touched = {_forget(database, one.entry.id) for _, one in found}
            for stamp, one in found:
                entry = one.entry
                series = _series_of(database, one.key) if one.key else None
                touched.add(series)
                database.execute(
                    "INSERT INTO runs VALUES (?, ?, ?, ?, ?, ?, ?)",
                    (
                        entry.id, stamp, entry.created, entry.machine, series,
                        msgspec.msgpack.encode(entry), one.heat,
                    ),
                )  # fmt: skip
            _count(database, touched)

    def remove(self, ids: Sequence[str]) -> None:
        """Remove runs that the store has no longer."""
        with self._writing() as database:
            _count(database, {_forget(database, one) for one in ids})

    def stale_series(self) -> list[int]:
        """Series that have changed since their change points were looked for."""
        with self._reading() as database:
            rows = database.execute("SELECT number FROM series WHERE stale").fetchall()
        return [number for (number,) in rows]

    def set_changes(self, series: int, changes: Sequence[ChangeEntry]) -> None:
        """Replace the change points of a series."""
        with self._writing() as database:
            database.execute("DELETE FROM changes WHERE series = ?", (series,))
            database.executemany(
                "INSERT INTO changes VALUES (?, ?, ?, ?, ?)",
                [
                    (
                        series, one.key.machine, one.change.created, one.change.ratio > 1,
                        msgspec.msgpack.encode(one),
                    )
                    for one in changes
                ],
            )  # fmt: skip
            database.execute("UPDATE series SET stale = 0 WHERE number = ?", (series,))

    def changes(
        self, *, better: bool = False, machine: str = "", limit: int = 50, offset: int = 0
    ) -> tuple[list[ChangeEntry], int]:
        """Change points for the worse, or for the better, newest first, and how many there are."""
        where, values = "worse = ?", [int(not better), machine]
        if machine:
            where += " AND machine = ?"
        values = values[: where.count("?")]
        return self._page("change", f"changes WHERE {where}", values, ChangeEntry, limit, offset)

    def changes_of(self, series: int) -> list[ChangeEntry]:
        """All change points of a series, newest first."""
        table = "changes WHERE series = ?"
        return self._page("change", table, [series], ChangeEntry, -1, 0)[0]

    def runs(
        self, *, machine: str = "", series: int | None = None, limit: int = 50, offset: int = 0
    ) -> tuple[list[Entry], int]:
        """Runs, newest first, and how many there are."""
        where = "TRUE"
        values: list[str | int] = []
        if machine:
            where, values = "machine = ?", [machine]
        if series is not None:
            where, values = "series = ?", [series]
        return self._page("entry", f"runs WHERE {where}", values, Entry, limit, offset)

    def _page(
        self, column: str, table: str, values: Sequence[Any], kind: type[Any], limit: int, at: int
    ) -> tuple[list[Any], int]:
        with self._reading() as database:
            rows = database.execute(
                # The rows before the page are skipped in the index alone.
                f"SELECT {column} FROM {table.split(maxsplit=1)[0]} WHERE rowid IN (SELECT rowid "  # noqa: S608
                f"FROM {table} ORDER BY created DESC LIMIT ? OFFSET ?) "
                "ORDER BY created DESC, series",
                (*values, limit, at),
            ).fetchall()
            (count,) = database.execute(f"SELECT count(*) FROM {table}", values).fetchone()  # noqa: S608
        return [msgspec.msgpack.decode(row[0], type=kind) for row in rows], count

    def entry(self, run: str) -> Entry | None:
        """The entry of a run."""
        with self._reading() as database:
            row = database.execute("SELECT entry FROM runs WHERE id = ?", (run,)).fetchone()
        return msgspec.msgpack.decode(row[0], type=Entry) if row else None

    def heats(self, series: int, limit: int) -> list[tuple[Entry, bytes]]:
        """The newest runs of a series with their coarse histograms, in order of time."""
        with self._reading() as database:
            rows = database.execute(
                "SELECT entry, heat FROM runs WHERE series = ? ORDER BY created DESC LIMIT ?",
                (series, limit),
            ).fetchall()
        return [(msgspec.msgpack.decode(entry, type=Entry), heat) for entry, heat in rows[::-1]]

    def all_series(self, machine: str = "", limit: int = -1, offset: int = 0) -> list[SeriesEntry]:
        """The series of a machine, or of all, the one with the newest run first."""
        where, values = ("series.machine = ?", [machine]) if machine else ("TRUE", [])
        with self._reading() as database:
            rows = database.execute(
                "SELECT number, key, series.runs, entry FROM series "  # noqa: S608
                f"JOIN runs ON id = newest WHERE {where} ORDER BY created DESC LIMIT ? OFFSET ?",
                (*values, limit, offset),
            ).fetchall()
        return [
            SeriesEntry(
                number,
                msgspec.json.decode(key, type=Key),
                count,
                msgspec.msgpack.decode(entry, type=Entry),
            )
            for number, key, count, entry in rows
        ]

    def series_count(self) -> int:
        """Number of series that have runs."""
        with self._reading() as database:
            row = database.execute("SELECT count(*) FROM series WHERE runs > 0").fetchone()
        return int(row[0])

    def key(self, series: int) -> Key | None:
        """What the runs of a series have in common."""
        with self._reading() as database:
            row = database.execute("SELECT key FROM series WHERE number = ?", (series,)).fetchone()
        return msgspec.json.decode(row[0], type=Key) if row else None


def _forget(database: sqlite3.Connection, run: str) -> int | None:
    """Remove a run, and return its series."""
    row = database.execute("DELETE FROM runs WHERE id = ? RETURNING series", (run,)).fetchall()
    return row[0][0] if row else None


def _series_of(database: sqlite3.Connection, key: Key) -> int:
    text = msgspec.json.encode(key).decode()
    database.execute(
        "INSERT OR IGNORE INTO series (key, machine) VALUES (?, ?)", (text, key.machine)
    )
    row = database.execute("SELECT number FROM series WHERE key = ?", (text,)).fetchone()
    return int(row[0])


def _count(database: sqlite3.Connection, touched: set[int | None]) -> None:
    """Note the number of each series' runs and its newest one."""
    database.executemany(
        "UPDATE series SET stale = 1, "
        "runs = (SELECT count(*) FROM runs WHERE series = number), "
        "newest = coalesce((SELECT id FROM runs WHERE series = number "
        "ORDER BY created DESC LIMIT 1), '') WHERE number = ?",
        [(series,) for series in touched if series is not None],
    )
