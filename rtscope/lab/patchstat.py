# SPDX-License-Identifier: GPL-2.0-only
"""The size of patches by architecture and subsystem of the kernel's source."""

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
"""areas whose parts are listed too"""
_TOP: Final = "top level"
"""the area of files in the top directory"""


class Area(msgspec.Struct, frozen=True):
    """A part of the kernel's source."""

    name: str
    files: int
    """number of changed, new, deleted or renamed files"""
    new: int
    deleted: int
    renamed: int
    binary: int
    added: int
    """lines"""
    removed: int
    """lines"""
    bytes: int
    """bytes of its part of the patches"""
    parts: list["Area"]
    """parts of arch and include: arch/powerpc, include/linux"""


class PatchStat(msgspec.Struct, frozen=True):
    """The changes of a patch, or of a whole series."""

    name: str
    patches: int
    bytes: int
    """uncompressed, with descriptions"""
    total: Area
    areas: list[Area]
    """largest first; so are their parts"""
    files: list[FileChange]
    """each file once, by its path"""


def patchstat(name: str, strip: int = 1) -> PatchStat:
    """Count a patch file, - for standard input, a directory with a series, or a series of
    kernel/patches. `strip` leading parts of each path are removed. Raises RtscopeError.
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
    """Count all of them as one series."""
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
    """Merge two changes of one file."""
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
            f"there is no file or directory {name}, and rtscope ships no series of that name: it "
            f"has {known}"
        )
    return own[name]


def _read(path: Path, strip: int) -> Patch:
    try:
        with path.open("rb") as stream:
            return read_patch(stream, str(path), strip)
    except OSError as error:
        raise RtscopeError(f"{path} cannot be read: {error.strerror}") from None
