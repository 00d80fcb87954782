# SPDX-License-Identifier: GPL-2.0-only
"""Baselines: runs under a name, with which others are compared; one file each beside the store."""

import re
from pathlib import Path
from typing import Final, Literal

import msgspec

from rtscope.model.errors import RtscopeError
from rtscope.model.run import Run
from rtscope.store import database
from rtscope.store.address import default_path
from rtscope.store.files import write_file

_NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")


class Baseline(msgspec.Struct, frozen=True):
    """Runs under a name."""

    name: str
    created: str
    """ISO 8601 in UTC"""
    plan: str
    """title of the plan that measured them"""
    runs: list[str]
    """their ids"""
    format: Literal["rtscope-baseline"] = "rtscope-baseline"
    version: Literal[1] = 1


def baseline_names() -> list[str]:
    """The names of the baselines, sorted."""
    return sorted(path.stem for path in _directory().glob("*.json"))


def check_name(name: str, *, force: bool) -> None:
    """Refuse what cannot be a name and, without `force`, one in use. Raises RtscopeError."""
    if not _NAME.fullmatch(name):
        raise RtscopeError(
            f"'{name[:80]}' cannot be a baseline's name: letters, digits, '.', '_' and '-', such "
            "as v6.12-rt"
        )
    if _path(name).exists() and not force:
        raise RtscopeError(
            f"there is a baseline '{name}' already: give another name, or --force to replace it"
        )


def save_baseline(baseline: Baseline) -> Path:
    """Write a baseline, whole or not at all, and return its file. Raises RtscopeError."""
    path = _path(baseline.name)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise RtscopeError(f"{path.parent} cannot be made: {error.strerror}") from None
    data = msgspec.json.format(msgspec.json.encode(baseline)) + b"\n"
    write_file(data, path, f"the baseline {baseline.name}", overwrite=True)
    return path


def baseline_runs(name: str) -> list[Run]:
    """The runs of a baseline. Raises RtscopeError."""
    path = _path(name)
    try:
        found = msgspec.json.decode(path.read_bytes(), type=Baseline)
    except FileNotFoundError:
        known = baseline_names()
        has = f"there are {', '.join(known)}" if known else "there is none yet"
        raise RtscopeError(
            f"there is no baseline '{name[:80]}', {has}: rtscope gate --calibrate --plan PLAN "
            "--baseline NAME measures one"
        ) from None
    except OSError as error:
        raise RtscopeError(f"{path} cannot be read: {error.strerror}") from None
    except msgspec.MsgspecError as error:
        raise RtscopeError(f"{path} is not a baseline: {error}") from None
    try:
        return [database.load(run) for run in found.runs]
    except RtscopeError as error:
        raise RtscopeError(f"the baseline {name} lacks a run: {error}") from None


def _path(name: str) -> Path:
    return _directory() / f"{name.replace('/', '_')}.json"


def _directory() -> Path:
    return default_path().parent / "baselines"
