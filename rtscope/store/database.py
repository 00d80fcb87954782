# SPDX-License-Identifier: GPL-2.0-only
"""The store of this user's runs: the SQLite file $XDG_DATA_HOME/rtscope/runs.sqlite by default.

RTSCOPE_STORE names another one. Functions take it as `store`; None stands for the user's.

Runs that a server does not take are kept on this computer (unsent.py). Each function sends them
before it asks the server anything, so that they are seen as if they had been saved there at once.
"""

import os
import secrets
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Protocol

from rtscope.model.errors import NotSentError, RtscopeError, StoreError, UnreachableError
from rtscope.model.histogram import Histogram
from rtscope.model.run import Run
from rtscope.store.address import Place, Server, default_path, user_place
from rtscope.store.runfile import write_run
from rtscope.store.search import Search
from rtscope.store.sqlite import SqliteStore
from rtscope.store.summary import Damage, Summary
from rtscope.store.unsent import Unsent, unsent_path


class Store(Protocol):
    """Runs by their ids. All methods raise StoreError where the store cannot be used."""

    def save(self, run: Run) -> bool:
        """Keep a run, replacing one with the same id; False when the same was there already."""
        ...

    def held(self, run: Run) -> bool | None:
        """Whether a run of this id is held: None if not, True if the same, False if another."""
        ...

    def load(self, name: str) -> Run:
        """The run of this name (runname.py). Raises RtscopeError, StoreError among them."""
        ...

    def read(self, ids: Iterable[str]) -> Iterator[tuple[str, Run | RtscopeError]]:
        """Each run of these ids in order, or its damage; without those that are gone."""
        ...

    def found(self, search: Search) -> list[Summary]:
        """The runs of a search, the one saved last first."""
        ...

    def histograms(self, ids: Iterable[str]) -> Iterator[tuple[str, list[Histogram]]]:
        """The histograms of the threads of each run of these ids, as read. Raises RtscopeError."""
        ...

    def remove(self, names: Sequence[str]) -> list[Summary]:
        """Remove runs, named as for load: all of them, or none and RtscopeError."""
        ...

    def prune(self, search: Search) -> list[Summary]:
        """Remove the runs of a search, whatever its limit: all of them, or none and StoreError."""
        ...

    def check(self) -> Iterator[Damage]:
        """Read everything and compare it with itself."""
        ...

    def migrate(self) -> tuple[int | None, int]:
        """Create the store, or bring it to the format of this version. Raises StoreError.

        Returns its format before, None if there was none, and now. Interrupted, it is as it was.
        """
        ...


def new_run_id() -> str:
    """Sixteen hexadecimal digits that no other run has."""
    return secrets.token_hex(8)


def by_sudo() -> bool:
    """Whether root runs it for another user, whose store is another one."""
    return os.geteuid() == 0 and os.environ.get("SUDO_USER") not in (None, "", "root")


def report_path(name: str) -> Path:
    """The path of the report of a run or an experiment, next to the default store."""
    return default_path().parent / "reports" / f"{name}.html"


def opened(place: Place, *, read_only: bool = False) -> Store:
    """The store in this place. Nothing is read or written yet.

    With `read_only`, methods that write raise StoreError.

    A store on a server holds no connection while it is not used. Raises RtscopeError where Python
    packages for it are missing.
    """
    if isinstance(place, Path):
        return SqliteStore(place, read_only=read_only)
    try:
        from rtscope.store.postgresql.store import PostgresqlStore
    except ImportError as error:
        raise RtscopeError(
            f"the store {place} needs the Python package {error.name}: "
            "pip install 'rtscope[fleet]' installs it"
        ) from None
    return PostgresqlStore(place, read_only=read_only)


def check_place() -> None:
    """Refuse a RTSCOPE_STORE that cannot be used on this computer. Raises RtscopeError."""
    opened(user_place())


def save(run: Run, store: Place | None = None) -> bool:
    """Keep a run. One with the same id is replaced; False when it was there already, the same.

    Raises NotSentError where the server did not take it; it is then sent later. Raises StoreError
    else; the run is then as it was before: not in the store, or in its older form.
    """
    place = store or user_place()
    try:
        return with_sent(place).save(run)
    except StoreError as error:
        if isinstance(place, Path):
            raise
        _keep(run, place, error)
        raise


def _keep(run: Run, server: Server, error: StoreError) -> None:
    """Keep a run that the server did not take. Raises NotSentError, StoreError if it cannot."""
    unsent = Unsent(server)
    try:
        unsent.runs.save(run)
    except StoreError as second:
        raise StoreError(f"{error}; {second}") from None
    raise NotSentError(
        f"{error}; run {run.id} is kept in {unsent.path}, and the next rtscope that reaches the "
        "store sends it"
    ) from None


def held(run: Run, store: Place | None = None) -> bool | None:
    """Whether the store holds a run of this id: None if not, True if the same, False if another.

    Raises StoreError.
    """
    return with_sent(store).held(run)


def load(name: str, store: Place | None = None) -> Run:
    """The run whose id begins with `name`; "last" is the one saved last, "last~1" the one before.

    Without the server, a run that waits for it is found by its whole id. Raises RtscopeError,
    StoreError among them.
    """
    place = store or user_place()
    try:
        return with_sent(place).load(name)
    except UnreachableError:
        waiting = _waiting(place)
        if name not in {run.id for run in waiting.found(Search())}:
            raise
        return waiting.load(name)


def loaded(ids: Iterable[str], store: Place | None = None) -> Iterator[Run]:
    """The runs of these ids in order, without those that are gone. Raises RtscopeError."""
    for _, run in with_sent(store).read(ids):
        if isinstance(run, RtscopeError):
            raise run
        yield run


def list_runs(
    limit: int | None = None, store: Place | None = None, experiment: str = ""
) -> list[Summary]:
    """The runs, the one saved last first; at most `limit`. Raises StoreError.

    With `experiment` only those of experiments whose id begins with it.
    """
    return found(Search(experiment=experiment, limit=limit), store)


def found(search: Search, store: Place | None = None) -> list[Summary]:
    """The runs of a search, the one saved last first. Raises StoreError."""
    return with_sent(store).found(search)


def list_reachable(experiment: str, store: Place | None = None) -> list[Summary]:
    """As list_runs of an experiment; without the server, only the runs that wait for it."""
    place = store or user_place()
    try:
        return list_runs(store=place, experiment=experiment)
    except UnreachableError:
        return _waiting(place).found(Search(experiment=experiment))


def refused_runs(place: Place) -> list[Damage]:
    """The runs that still wait after with_sent, because the server refuses them."""
    if isinstance(place, Path):
        return []
    waiting = _waiting(place)
    return [
        Damage(run.id, f"run {run.id} waits in {waiting}: the server refuses it")
        for run in waiting.found(Search())
    ]


def _waiting(place: Place) -> SqliteStore:
    """The runs that wait for a server."""
    return SqliteStore(place if isinstance(place, Path) else unsent_path(place))


def remove(names: Sequence[str], store: Place | None = None) -> list[Summary]:
    """Remove runs, named as for load: all of them, or none and RtscopeError."""
    return with_sent(store).remove(names)


def with_sent(store: Place | None) -> Store:
    """The store, after it has got the runs that wait for it. Raises StoreError."""
    place = store or user_place()
    reached = opened(place)
    if isinstance(place, Server):
        Unsent(place).send(reached)
    return reached


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
