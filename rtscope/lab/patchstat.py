# SPDX-License-Identifier: GPL-2.0-only
"""How much patches change, and where in the kernel's source: by architecture and subsystem."""

import os
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Final

import msgspec

from rtscope.lab.patches import series_files
from rtscope.lab.patchfile import FileChange, Patch, read_patch
from rtscope.lab.recipes import kernel_folder
from rtscope.model.errors import RtscopeError

_DIVIDED: Final = ("arch", "include")
"""areas of which each part is told too"""
_TOP: Final = "top level"
"""the area of the files that are in no folder"""


class Area(msgspec.Struct, frozen=True):
    """A part of the kernel's source."""

    name: str
    files: int
    """that are changed, new, deleted or renamed"""
    new: int
    deleted: int
    renamed: int
    binary: int
    added: int
    """lines"""
    removed: int
    """lines"""
    bytes: int
    """of the patches that are about it"""
    parts: list["Area"]
    """of arch and include: arch/powerpc, include/linux"""


class PatchStat(msgspec.Struct, frozen=True):
    """What a patch, or the patches of a series together, change."""

    name: str
    patches: int
    bytes: int
    """unpacked, with descriptions"""
    total: Area
    areas: list[Area]
    """the largest first, as their parts"""
    files: list[FileChange]
    """each once, by its path"""


def patchstat(name: str, strip: int = 1) -> PatchStat:
    """Of a patch's file, - for standard input, a folder with a series, or one of kernel/patches.

    `strip` parts are taken from the front of each path. Raises RtscopeError.
    """
    if name == "-":
        with os.fdopen(0, "rb", closefd=False) as stream:
            patches = [read_patch(stream, "standard input", strip)]
    else:
        path = Path(name)
        path = path if path.exists() else _own_series(name)
        files = [path / file for file in series_files(path)] if path.is_dir() else [path]
        patches = [_read(file, strip) for file in files]
    changes = [change for patch in patches for change in patch.changes]
    return _stat(name, len(patches), sum(patch.bytes for patch in patches), changes)


def together(stats: Sequence[PatchStat]) -> PatchStat:
    """All of them as if they were one series."""
    changes = [change for stat in stats for change in stat.files]
    patches, size = sum(stat.patches for stat in stats), sum(stat.bytes for stat in stats)
    return _stat(", ".join(stat.name for stat in stats), patches, size, changes)


def _stat(name: str, patches: int, size: int, changes: Iterable[FileChange]) -> PatchStat:
    files: dict[str, FileChange] = {}
    for change in changes:
        before = files.get(change.path)
        files[change.path] = _after(before, change) if before else change
    every = list(files.values())
    return PatchStat(name, patches, size, _area("total", every), _areas(every), every)


def _areas(changes: Iterable[FileChange], depth: int = 1) -> list[Area]:
    inside: dict[str, list[FileChange]] = {}
    for change in changes:
        folders = change.path.split("/")
        area = "/".join(folders[:depth]) if len(folders) > 1 else _TOP
        inside.setdefault(area, []).append(change)
    areas = [_area(area, held) for area, held in inside.items()]
    return sorted(areas, key=lambda area: (-area.bytes, area.name))


def _area(name: str, changes: Sequence[FileChange]) -> Area:
    return Area(
        name,
        len(changes),
        sum(change.kind == "new" for change in changes),
        sum(change.kind == "deleted" for change in changes),
        sum(change.kind == "renamed" for change in changes),
        sum(change.binary for change in changes),
        sum(change.added for change in changes),
        sum(change.removed for change in changes),
        sum(change.bytes for change in changes),
        _areas(changes, 2) if name in _DIVIDED else [],
    )


def _after(before: FileChange, change: FileChange) -> FileChange:
    """Two changes of one file as one."""
    return FileChange(
        change.path,
        before.kind if change.kind == "changed" else change.kind,
        before.added + change.added,
        before.removed + change.removed,
        before.bytes + change.bytes,
        before.binary or change.binary,
    )


def _own_series(name: str) -> Path:
    folder = kernel_folder() / "patches"
    own = {path.name: path for path in sorted(folder.glob("*/*")) if path.is_dir()}
    own |= {f"{path.parent.name}/{path.name}": path for path in own.values()}
    if name not in own:
        known = ", ".join(one for one in own if "/" not in one)
        raise RtscopeError(
            f"there is no file or folder {name}, and no series of that name comes with rtscope: "
            f"it has {known}"
        )
    return own[name]


def _read(path: Path, strip: int) -> Patch:
    try:
        with path.open("rb") as stream:
            return read_patch(stream, str(path), strip)
    except OSError as error:
        raise RtscopeError(f"{path} cannot be read: {error.strerror}") from None
