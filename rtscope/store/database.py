# SPDX-License-Identifier: GPL-2.0-only
"""The store of this user's runs: the SQLite file $XDG_DATA_HOME/rtscope/runs.sqlite by default.

RTSCOPE_STORE names another one. Functions take it as `store`; None stands for the user's.
"""

import os
import secrets
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Protocol

import platformdirs

from rtscope.model.errors import RtscopeError
from rtscope.model.run import Run
from rtscope.store.runfile import write_run
from rtscope.store.sqlite import SqliteStore
from rtscope.store.summary import Summary


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

    def loaded(self, ids: Iterable[str]) -> Iterator[Run]:
        """The runs of these ids in order, without those that are gone. Raises RtscopeError."""
        ...

    def list_runs(self, limit: int | None = None, experiment: str = "") -> list[Summary]:
        """The runs, the one saved last first; at most `limit`.

        With `experiment` only those of experiments whose id begins with it.
        """
        ...

    def remove(self, names: Sequence[str]) -> list[str]:
        """Remove runs, named as for load: all of them, or none and RtscopeError. Their full ids."""
        ...


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
    """The path of the report of a run or an experiment, next to the default store."""
    return default_path().parent / "reports" / f"{name}.html"


def opened(store: Path | None = None) -> Store:
    """The store in this place. Nothing is read or written yet."""
    return SqliteStore(store or default_path())


def save(run: Run, store: Path | None = None) -> bool:
    """Keep a run. One with the same id is replaced; False when it was there already, the same.

    Raises StoreError; the run is then as it was before: not in the store, or in its older form.
    """
    return opened(store).save(run)


def held(run: Run, store: Path | None = None) -> bool | None:
    """Whether the store holds a run of this id: None if not, True if the same, False if another.

    Raises StoreError.
    """
    return opened(store).held(run)


def load(name: str, store: Path | None = None) -> Run:
    """The run whose id begins with `name`; "last" is the one saved last, "last~1" the one before.

    Raises RtscopeError, StoreError among them.
    """
    return opened(store).load(name)


def list_runs(
    limit: int | None = None, store: Path | None = None, experiment: str = ""
) -> list[Summary]:
    """The runs, the one saved last first; at most `limit`. Raises StoreError.

    With `experiment` only those of experiments whose id begins with it.
    """
    return opened(store).list_runs(limit, experiment)


def remove(names: Sequence[str], store: Path | None = None) -> list[str]:
    """Remove runs, named as for load: all of them, or none and RtscopeError. Their full ids."""
    return opened(store).remove(names)


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
