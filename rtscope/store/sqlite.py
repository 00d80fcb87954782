# SPDX-License-Identifier: GPL-2.0-only
"""A store in one SQLite file. A row holds the run file (column record) and a Summary's columns."""

import os
import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from datetime import datetime
from pathlib import Path
from typing import Final

import msgspec

from rtscope.model.errors import RtscopeError, StoreError
from rtscope.model.histogram import Histogram
from rtscope.model.run import Run
from rtscope.store.runfile import decode_run, encode_run, storable
from rtscope.store.runname import MOST_SHOWN, parse_name, the_one
from rtscope.store.search import Search
from rtscope.store.searchable import same_metrics, searchable_metrics
from rtscope.store.summary import Damage, Summary, summary_of

SCHEMA_VERSION: Final = 3
BUSY_SECONDS = 5.0
"""how long to wait for another rtscope that writes"""

_APPLICATION_ID: Final = 0x72747363
"""SQLite's mark of whose file it is: "rtsc" """
_TABLE: Final = """runs (
    saved INTEGER PRIMARY KEY,
    id TEXT NOT NULL UNIQUE,
    created TEXT NOT NULL,
    host TEXT,
    kernel TEXT,
    probe TEXT NOT NULL,
    load TEXT NOT NULL,
    status TEXT NOT NULL,
    count INTEGER NOT NULL,
    max_ns INTEGER,
    source TEXT NOT NULL,
    experiment TEXT NOT NULL DEFAULT '',
    cell TEXT NOT NULL DEFAULT '',
    record BLOB NOT NULL
)"""
_BY_EXPERIMENT: Final = "CREATE INDEX experiments ON runs (experiment)"
_NAMES: Final = """names (
    kind TEXT NOT NULL,
    name TEXT NOT NULL,
    run INTEGER NOT NULL REFERENCES runs ON DELETE CASCADE,
    PRIMARY KEY (kind, name, run)
) WITHOUT ROWID"""
"""by which a run is found: the name of its machine, and tags"""
_METRICS: Final = """metrics (
    name TEXT NOT NULL,
    value REAL NOT NULL,
    run INTEGER NOT NULL REFERENCES runs ON DELETE CASCADE,
    PRIMARY KEY (name, value, run)
) WITHOUT ROWID"""
_INDEXES: Final = (
    f"CREATE TABLE {_NAMES}",
    f"CREATE TABLE {_METRICS}",
    "CREATE INDEX names_of_runs ON names (run)",
    "CREATE INDEX metrics_of_runs ON metrics (run)",
    "CREATE TABLE unindexed (run INTEGER PRIMARY KEY REFERENCES runs ON DELETE CASCADE)",
    "CREATE INDEX starts ON runs (created)",
)
_AT_ONCE: Final = 100
"""runs to index while other writers wait"""
_SHOWN: Final = (
    "id, created, host, kernel, probe, load, status, count, max_ns, source, experiment, cell"
)
_FULL: Final = frozenset({sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR, sqlite3.SQLITE_TOOBIG})
_DAMAGED: Final = frozenset({sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB})
_LOCKED: Final = frozenset({sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED, sqlite3.SQLITE_PROTOCOL})
_REFUSED: Final = frozenset(
    {sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_READONLY, sqlite3.SQLITE_PERM, sqlite3.SQLITE_AUTH}
)


class SqliteStore:
    """The runs in one SQLite file; an absent file is an empty store."""

    def __init__(self, path: Path, *, read_only: bool = False) -> None:
        """Nothing is opened yet. With `read_only`, methods that write raise StoreError."""
        self._path = path
        self._read_only = read_only

    def __str__(self) -> str:
        """The path."""
        return str(self._path)

    def save(self, run: Run) -> bool:
        """See Store."""
        record = encode_run(run)
        row = (*msgspec.structs.astuple(summary_of(run)), record)
        marks = ", ".join("?" * len(row))
        with self._writing() as database:
            held = database.execute("SELECT record FROM runs WHERE id = ?", (run.id,)).fetchone()
            if held is not None and held[0] == record:
                return False
            database.execute("DELETE FROM runs WHERE id = ?", (run.id,))
            saved = database.execute(
                f"INSERT INTO runs ({_SHOWN}, record) VALUES ({marks})",  # noqa: S608
                row,
            ).lastrowid
            _index(database, saved, run)
        return True

    def held(self, run: Run) -> bool | None:
        """See Store."""
        if not self._path.exists():
            return None
        with self._reading() as database:
            row = database.execute("SELECT record FROM runs WHERE id = ?", (run.id,)).fetchone()
        return None if row is None else bool(row[0] == encode_run(run))

    def load(self, name: str) -> Run:
        """See Store."""
        with self._reading() as database:
            found = _find(database, name)
            row = database.execute("SELECT record FROM runs WHERE id = ?", (found,)).fetchone()
        run = self._read(found, row[0])
        if isinstance(run, RtscopeError):
            raise run
        return run

    def read(self, ids: Iterable[str]) -> Iterator[tuple[str, Run | RtscopeError]]:
        """See Store."""
        with self._reading() as database:
            for one in ids:
                row = database.execute("SELECT record FROM runs WHERE id = ?", (one,)).fetchone()
                if row is not None:
                    yield one, self._read(one, row[0])

    def histograms(self, ids: Iterable[str]) -> Iterator[tuple[str, list[Histogram]]]:
        """See Store."""
        for one, run in self.read(ids):
            if isinstance(run, RtscopeError):
                raise run
            yield one, [thread.histogram for thread in run.threads]

    def found(self, search: Search) -> list[Summary]:
        """See Store. The first search by machine, tag or metric indexes a store of format 2."""
        named = search.machine or search.tags or search.without_tags or search.metrics
        if named and not self._read_only:
            self._index_the_rest()
        where, values = _where(search)
        with self._reading() as database:
            rows = database.execute(
                f"SELECT {_SHOWN} FROM runs WHERE {where} "  # noqa: S608
                "ORDER BY saved DESC LIMIT ?",
                (*values, -1 if search.limit is None else search.limit),
            ).fetchall()
        return [Summary(*row) for row in rows]

    def remove(self, names: Sequence[str]) -> list[Summary]:
        """See Store."""
        with self._reading() as database:
            ids = dict.fromkeys(_find(database, name) for name in dict.fromkeys(names))
        with self._writing() as database:
            removed = [
                database.execute(
                    f"DELETE FROM runs WHERE id = ? RETURNING {_SHOWN}",  # noqa: S608
                    (one,),
                ).fetchall()
                for one in ids
            ]
        return [Summary(*row) for rows in removed for row in rows]

    def prune(self, search: Search) -> list[Summary]:
        """See Store."""
        if not self._path.exists():
            return []
        self._index_the_rest()
        where, values = _where(search)
        with self._writing() as database:
            rows = database.execute(
                f"DELETE FROM runs WHERE {where} RETURNING {_SHOWN}",  # noqa: S608
                values,
            ).fetchall()
        return [Summary(*row) for row in rows]

    def check(self) -> Iterator[Damage]:
        """See Store."""
        with self._reading() as database:
            for (text,) in database.execute("PRAGMA integrity_check").fetchall():
                if text != "ok":
                    yield Damage("", f"the store {self}: SQLite finds {text}")
            indexed = _version(database) == SCHEMA_VERSION
            rows = database.execute(
                f"SELECT saved, record, {_SHOWN} FROM runs ORDER BY saved"  # noqa: S608
            )
            for saved, record, *shown in rows:
                summary = Summary(*shown)
                run = self._read(summary.id, record)
                if isinstance(run, RtscopeError):
                    yield Damage(summary.id, str(run))
                    continue
                text = ""
                if summary_of(run) != summary:
                    text = "the list shows other values than its record has"
                elif indexed and not _is_indexed(database, saved, run):
                    text = "it is found by other values than its record has"
                if text:
                    yield Damage(summary.id, f"run {summary.id} in the store {self}: {text}")

    def remove_same(self, run: Run) -> None:
        """Remove a run unless it has been replaced by another of the same id. Raises StoreError."""
        with self._writing() as database:
            database.execute(
                "DELETE FROM runs WHERE id = ? AND record = ?", (run.id, encode_run(run))
            )

    def migrate(self) -> tuple[int | None, int]:
        """See Store."""
        before = None
        if self._path.exists():
            with self._reading() as database:
                before = _version(database) or None
        with self._writing():
            pass
        self._index_the_rest()
        return before, SCHEMA_VERSION

    def _reading(self) -> AbstractContextManager[sqlite3.Connection]:
        return _reading(self._path, read_only=self._read_only)

    def _writing(self) -> AbstractContextManager[sqlite3.Connection]:
        if self._read_only:
            raise StoreError(f"the store {self} is opened read-only")
        return _writing(self._path)

    def _index_the_rest(self) -> None:
        """Index runs that an older rtscope saved. Raises StoreError."""
        while self._has_unindexed():
            with self._writing() as database:
                rows = database.execute(
                    "SELECT saved, record FROM unindexed JOIN runs ON run = saved LIMIT ?",
                    (_AT_ONCE,),
                ).fetchall()
                for saved, record in rows:
                    with suppress(RtscopeError, TypeError, AttributeError):  # check reports it
                        _index(database, saved, decode_run(record))
                    database.execute("DELETE FROM unindexed WHERE run = ?", (saved,))

    def _has_unindexed(self) -> bool:
        if not self._path.exists():
            return False
        with self._reading() as database:
            if _version(database) != SCHEMA_VERSION:
                return True
            (count,) = database.execute("SELECT count(*) FROM unindexed").fetchone()
            return bool(count)

    def _read(self, run_id: str, record: bytes) -> Run | RtscopeError:
        try:
            return decode_run(record)
        except (RtscopeError, TypeError, AttributeError) as error:
            return RtscopeError(f"run {run_id} in the store {self}: {error}")


def _index(database: sqlite3.Connection, saved: int | None, run: Run) -> None:
    """Note by what a run is found."""
    database.executemany(
        "INSERT INTO names VALUES (?, ?, ?)", [(*name, saved) for name in sorted(_names_of(run))]
    )
    database.executemany(
        "INSERT INTO metrics VALUES (?, ?, ?)",
        [(name, value, saved) for name, value in _metrics_of(run).items()],
    )


def _is_indexed(database: sqlite3.Connection, saved: int, run: Run) -> bool:
    """Whether a run is found by what its record has, or is still to be indexed."""
    if database.execute("SELECT 1 FROM unindexed WHERE run = ?", (saved,)).fetchone():
        return True
    names = database.execute("SELECT kind, name FROM names WHERE run = ?", (saved,)).fetchall()
    metrics = database.execute("SELECT name, value FROM metrics WHERE run = ?", (saved,)).fetchall()
    return set(names) == _names_of(run) and same_metrics(dict(metrics), _metrics_of(run))


def _names_of(run: Run) -> set[tuple[str, str]]:
    names = {("tag", storable(tag)) for tag in run.tags}
    if run.machine_name:
        names.add(("machine", storable(run.machine_name)))
    return names


def _metrics_of(run: Run) -> dict[str, float]:
    return {storable(name): value for name, value in searchable_metrics(run).items()}


def _where(search: Search) -> tuple[str, list[str | float]]:
    conditions = list(_conditions(search))
    where = " AND ".join(["TRUE", *(text for text, _ in conditions)])
    return where, [value for _, values in conditions for value in values]


def _conditions(search: Search) -> Iterator[tuple[str, tuple[str | float, ...]]]:
    """SQL and its values."""
    if search.experiment:
        yield "experiment >= ? AND experiment < ?", _range(search.experiment)
    if search.kernel:
        yield "kernel >= ? AND kernel < ?", _range(search.kernel)
    if search.machine:
        yield (
            "saved IN (SELECT run FROM names WHERE kind = 'machine' AND name >= ? AND name < ?)",
            _range(search.machine),
        )
    for tag in search.tags:
        yield "saved IN (SELECT run FROM names WHERE kind = 'tag' AND name = ?)", (tag,)
    for tag in search.without_tags:
        yield "saved NOT IN (SELECT run FROM names WHERE kind = 'tag' AND name = ?)", (tag,)
    for one in search.metrics:
        yield (
            "saved IN (SELECT run FROM metrics WHERE name = ? "  # noqa: S608
            f"AND value {one.comparison} ?)",
            (one.metric, one.value),
        )
    if search.since:
        yield "created >= ?", (_moment(search.since),)
    if search.before:
        yield "created < ?", (_moment(search.before),)


def _range(beginning: str) -> tuple[str, str]:
    return beginning, f"{beginning}\U0010ffff"


def _moment(moment: datetime) -> str:
    """As runs write it, but without a zone: so it sorts before all of that second."""
    return moment.strftime("%Y-%m-%dT%H:%M:%S")


def _find(database: sqlite3.Connection, name: str) -> str:
    """The id that `name` stands for."""
    wanted = parse_name(name)
    if isinstance(wanted, int):
        rows = database.execute(
            "SELECT id, created, probe, load FROM runs ORDER BY saved DESC LIMIT 1 OFFSET ?",
            (wanted,),
        ).fetchall()
    else:
        rows = database.execute(
            "SELECT id, created, probe, load FROM runs WHERE id >= ? AND id < ? "
            "ORDER BY saved DESC LIMIT ?",
            (*_range(wanted), MOST_SHOWN + 1),
        ).fetchall()
    return the_one(name, rows)


@contextmanager
def _writing(path: Path) -> Iterator[sqlite3.Connection]:
    """A write transaction: committed at the end, rolled back on any error."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise StoreError(
            f"the store's directory {path.parent} cannot be made: {error.strerror}; "
            "set XDG_DATA_HOME to a directory that can be written"
        ) from None
    with _connected(path, "mode=rwc") as database:
        _is_new(database, path)
        _prefer_wal(database)
        database.execute("PRAGMA foreign_keys = ON")
        database.execute("BEGIN IMMEDIATE")
        if _is_new(database, path):
            database.execute(f"CREATE TABLE {_TABLE}")
            for statement in (_BY_EXPERIMENT, *_INDEXES):
                database.execute(statement)
            database.execute(f"PRAGMA application_id = {_APPLICATION_ID}")
            database.execute(f"PRAGMA user_version = {SCHEMA_VERSION}")
        else:
            _upgrade(database)
        yield database
        database.execute("COMMIT")


def _upgrade(database: sqlite3.Connection) -> None:
    """Bring an older store to this format, in little time: its runs are indexed later."""
    before = _version(database)
    if before == 1:
        for column in ("experiment", "cell"):
            database.execute(f"ALTER TABLE runs ADD COLUMN {column} TEXT NOT NULL DEFAULT ''")
        database.execute(_BY_EXPERIMENT)
    if before < SCHEMA_VERSION:
        for statement in _INDEXES:
            database.execute(statement)
        database.execute("INSERT INTO unindexed SELECT saved FROM runs")
        database.execute(f"PRAGMA user_version = {SCHEMA_VERSION}")


@contextmanager
def _reading(path: Path, *, read_only: bool = False) -> Iterator[sqlite3.Connection]:
    """One view of the store; an absent one is seen as empty and stays absent."""
    mode = _mode_to_read(path)
    with _connected(path, "mode=ro" if read_only and mode == "mode=rw" else mode) as database:
        database.execute("BEGIN")
        if _is_new(database, path):
            database.execute(f"CREATE TEMP TABLE {_TABLE}")
        elif _version(database) == 1:
            database.execute(
                "CREATE TEMP VIEW runs AS SELECT *, '' AS experiment, '' AS cell FROM main.runs"
            )
        yield database


def _mode_to_read(path: Path) -> str:
    """How to open the file: where it has no side files and none can be made, without them."""
    try:
        path.stat()
    except (FileNotFoundError, NotADirectoryError):
        return "mode=memory"
    except OSError as error:
        raise StoreError(f"the store {path} cannot be read: {error.strerror}") from None
    if os.access(path.parent, os.W_OK):
        return "mode=rw"
    return "mode=ro" if Path(f"{path}-wal").exists() else "mode=ro&immutable=1"


@contextmanager
def _connected(path: Path, mode: str) -> Iterator[sqlite3.Connection]:
    database = None
    try:
        address = f"{path.absolute().as_uri()}?{mode}"
        database = sqlite3.connect(address, timeout=BUSY_SECONDS, isolation_level=None, uri=True)
        yield database
    except sqlite3.Error as error:
        raise StoreError(_explained(error, path)) from None
    finally:
        if database is not None:
            database.close()


def _is_new(database: sqlite3.Connection, path: Path) -> bool:
    """True for a file without content; refuses one that is not ours. Raises StoreError."""
    version, application, tables = database.execute(  # one statement: one state of the file
        "SELECT user_version, application_id, (SELECT count(*) FROM sqlite_master) "
        "FROM pragma_user_version, pragma_application_id"
    ).fetchone()
    if (version, application, tables) == (0, 0, 0):
        return True
    if application != _APPLICATION_ID:
        raise StoreError(
            f"{path} is not an rtscope store but another program's database: move it away, or set "
            "XDG_DATA_HOME to another directory"
        )
    if version > SCHEMA_VERSION:
        raise StoreError(
            f"the store {path} was written by a newer rtscope (format {version}); this one reads "
            f"up to {SCHEMA_VERSION}: get a newer rtscope, or set XDG_DATA_HOME elsewhere"
        )
    return False


def _version(database: sqlite3.Connection) -> int:
    """The format of the store: 1 has no experiments."""
    return int(database.execute("PRAGMA user_version").fetchone()[0])


def _prefer_wal(database: sqlite3.Connection) -> None:
    """Let readers go on while one writes. Some network file systems cannot: then they wait."""
    try:
        (journal,) = database.execute("PRAGMA journal_mode").fetchone()
        if journal != "wal":
            database.execute("PRAGMA journal_mode = WAL")
    except sqlite3.OperationalError:
        return


def _explained(error: sqlite3.Error, path: Path) -> str:
    code = getattr(error, "sqlite_errorcode", 0) & 0xFF
    if code in _LOCKED:
        return (
            f"the store {path} is locked by another rtscope; wait until that one has ended and "
            "try again (fuser shows who holds it)"
        )
    if code in _FULL:
        return f"the store {path} could not be written: {error}; free some space on its disk"
    if code in _DAMAGED:
        return (
            f"the store {path} is damaged ({error}): move it away, and rtscope begins a new one; "
            "the sqlite3 command's .recover may bring back its runs"
        )
    if code in _REFUSED:
        return (
            f"the store {path} cannot be opened or written ({error}): check the permissions of "
            "its directory, or set XDG_DATA_HOME to another one"
        )
    return f"the store {path} cannot be used: {error}"
