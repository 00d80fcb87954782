# SPDX-License-Identifier: GPL-2.0-only
"""The store: every run of this user in one SQLite file, $XDG_DATA_HOME/rtscope/runs.sqlite.

A row holds the run file (column record) and the columns of a list of runs.
"""

import os
import re
import secrets
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import msgspec
import platformdirs

from rtscope.model.errors import RtscopeError
from rtscope.model.run import Run
from rtscope.model.units import LONGEST_NS
from rtscope.store.runfile import decode_run, encode_run, write_run

SCHEMA_VERSION: Final = 2
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
_INDEX: Final = "CREATE INDEX experiments ON runs (experiment)"
_SHOWN: Final = (
    "id, created, host, kernel, probe, load, status, count, max_ns, source, experiment, cell"
)
_FULL: Final = frozenset({sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR, sqlite3.SQLITE_TOOBIG})
_DAMAGED: Final = frozenset({sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB})
_LOCKED: Final = frozenset({sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED, sqlite3.SQLITE_PROTOCOL})
_REFUSED: Final = frozenset(
    {sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_READONLY, sqlite3.SQLITE_PERM, sqlite3.SQLITE_AUTH}
)


class StoreError(RtscopeError):
    """The store cannot be used. A run that was to be saved is not lost yet: see rescue."""


class Summary(msgspec.Struct, frozen=True):
    """A run as a list shows it, without its histograms."""

    id: str
    created: str
    host: str | None
    kernel: str | None
    probe: str
    load: str
    status: str
    count: int
    """samples of all threads"""
    max_ns: int | None
    """of all threads"""
    source: str
    experiment: str = ""
    """id of the experiment it is of; "" for a run of its own"""
    cell: str = ""
    """of the experiment's plan, in words"""


def new_run_id() -> str:
    """Sixteen hexadecimal digits that no other run has."""
    return secrets.token_hex(8)


def default_path() -> Path:
    """Where the store is: $XDG_DATA_HOME (or ~/.local/share) /rtscope/runs.sqlite."""
    return Path(platformdirs.user_data_dir("rtscope", appauthor=False)) / "runs.sqlite"


def by_sudo() -> bool:
    """Whether root runs it for another user, whose store is another one."""
    return os.geteuid() == 0 and os.environ.get("SUDO_USER") not in (None, "", "root")


def report_path(name: str) -> Path:
    """The path of the report of a run or an experiment, next to the store."""
    return default_path().parent / "reports" / f"{name}.html"


def save(run: Run, store: Path | None = None) -> bool:
    """Keep a run. One with the same id is replaced; False when it was there already, the same.

    Raises StoreError; the run is then as it was before: not in the store, or in its older form.
    """
    record = encode_run(run)
    shown = [_storable(value) for value in msgspec.structs.astuple(summary_of(run))]
    row = (*shown, record)
    marks = ", ".join("?" * len(row))
    with _writing(store or default_path()) as database:
        held = database.execute("SELECT record FROM runs WHERE id = ?", (run.id,)).fetchone()
        if held is not None and held[0] == record:
            return False
        database.execute(
            f"INSERT OR REPLACE INTO runs ({_SHOWN}, record) VALUES ({marks})",  # noqa: S608
            row,
        )
    return True


def held(run: Run, store: Path | None = None) -> bool | None:
    """Whether the store holds a run of this id: None if not, True if the same, False if another.

    Raises StoreError.
    """
    path = store or default_path()
    if not path.exists():
        return None
    with _reading(path) as database:
        row = database.execute("SELECT record FROM runs WHERE id = ?", (run.id,)).fetchone()
    return None if row is None else bool(row[0] == encode_run(run))


def load(name: str, store: Path | None = None) -> Run:
    """The run whose id begins with `name`; "last" is the one saved last, "last~1" the one before.

    Raises RtscopeError, StoreError among them.
    """
    path = store or default_path()
    with _reading(path) as database:
        found = _find(database, name)
        row = database.execute("SELECT record FROM runs WHERE id = ?", (found,)).fetchone()
    try:
        return decode_run(row[0])
    except (RtscopeError, TypeError) as error:
        raise RtscopeError(f"run {found} in the store {path}: {error}") from None


def list_runs(
    limit: int | None = None, store: Path | None = None, experiment: str = ""
) -> list[Summary]:
    """The runs, the one saved last first; at most `limit`. Raises StoreError.

    With `experiment` only those of experiments whose id begins with it.
    """
    with _reading(store or default_path()) as database:
        rows = database.execute(
            f"SELECT {_SHOWN} FROM runs WHERE experiment >= ? AND experiment < ? "  # noqa: S608
            "ORDER BY saved DESC LIMIT ?",
            (experiment, f"{experiment}\U0010ffff", -1 if limit is None else limit),
        ).fetchall()
    return [Summary(*row) for row in rows]


def remove(names: Sequence[str], store: Path | None = None) -> list[str]:
    """Remove runs, named as for load: all of them, or none and RtscopeError. Their full ids."""
    path = store or default_path()
    with _reading(path) as database:
        ids = [_find(database, name) for name in dict.fromkeys(names)]
    with _writing(path) as database:
        database.executemany("DELETE FROM runs WHERE id = ?", [(found,) for found in ids])
    return list(dict.fromkeys(ids))


def rescue(run: Run) -> Path:
    """Write a run that the store did not take as a file: here, or in $TMPDIR.

    Raises RtscopeError when no place takes it.
    """
    refusals = []
    for directory in (Path(), Path(os.environ.get("TMPDIR") or "/tmp")):  # noqa: S108 - its default
        for name in (f"rtscope-{run.id}.json", f"rtscope-{run.id}-{secrets.token_hex(2)}.json"):
            try:
                write_run(run, directory / name)
            except RtscopeError as error:
                refusals.append(str(error))
                continue
            return directory / name
    raise RtscopeError(
        f"run {run.id} could not be saved anywhere and is lost when rtscope ends: "
        + "; ".join(dict.fromkeys(refusals))
    )


def summary_of(run: Run) -> Summary:
    """What a list shows of a run."""
    maxima = [thread.max_ns for thread in run.threads if thread.max_ns is not None]
    return Summary(
        id=run.id,
        created=run.created,
        host=run.machine.hostname,
        kernel=run.machine.kernel_release,
        probe=run.probe,
        load=run.load,
        status=run.status,
        count=min(sum(thread.count for thread in run.threads), LONGEST_NS),
        max_ns=max(maxima, default=None),
        source=run.source,
        experiment=run.experiment,
        cell=run.cell,
    )


def _storable(value: str | int | None) -> str | int | None:
    """Undecodable bytes of arguments and host names as SQLite can hold them."""
    return value.encode(errors="backslashreplace").decode() if isinstance(value, str) else value


def _find(database: sqlite3.Connection, name: str) -> str:
    """The id that `name` stands for."""
    last = re.fullmatch(r"last(?:~([0-9]{1,9}))?", name, re.ASCII)
    if last:
        row = database.execute(
            "SELECT id FROM runs ORDER BY saved DESC LIMIT 1 OFFSET ?", (int(last[1] or 0),)
        ).fetchone()
        if row is None:
            raise RtscopeError(f"the store has no run '{name}': rtscope list shows what it has")
        return str(row[0])
    prefix = name.lower()
    if not 1 <= len(prefix) <= 16 or not set(prefix) <= set("0123456789abcdef"):
        raise RtscopeError(
            f"{name[:80]!r} names no run: give the first digits of its id, which rtscope list "
            "shows, or 'last', or 'last~1' for the one before"
        )
    rows = database.execute(
        "SELECT id, created, probe, load FROM runs WHERE substr(id, 1, ?) = ? "
        "ORDER BY saved DESC LIMIT 11",
        (len(prefix), prefix),
    ).fetchall()
    if not rows:
        raise RtscopeError(f"no run's id begins with '{prefix}': rtscope list shows the runs")
    if len(rows) > 1:
        shown = ", ".join(f"{id_} ({probe} {load}, {at})" for id_, at, probe, load in rows[:10])
        more = " and more" if len(rows) > 10 else ""
        raise RtscopeError(f"'{prefix}' is the beginning of several runs' ids: {shown}{more}")
    return str(rows[0][0])


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
        database.execute("BEGIN IMMEDIATE")
        if _is_new(database, path):
            database.execute(f"CREATE TABLE {_TABLE}")
            database.execute(_INDEX)
            database.execute(f"PRAGMA application_id = {_APPLICATION_ID}")
            database.execute(f"PRAGMA user_version = {SCHEMA_VERSION}")
        elif _version(database) == 1:
            for column in ("experiment", "cell"):
                database.execute(f"ALTER TABLE runs ADD COLUMN {column} TEXT NOT NULL DEFAULT ''")
            database.execute(_INDEX)
            database.execute(f"PRAGMA user_version = {SCHEMA_VERSION}")
        yield database
        database.execute("COMMIT")


@contextmanager
def _reading(path: Path) -> Iterator[sqlite3.Connection]:
    """One view of the store; an absent one is seen as empty and stays absent."""
    with _connected(path, _mode_to_read(path)) as database:
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
