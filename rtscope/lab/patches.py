# SPDX-License-Identifier: GPL-2.0-only
"""Patch series, and their application to a kernel's source."""

import filecmp
import hashlib
import os
import re
import subprocess
from pathlib import Path
from typing import Final

import msgspec

from rtscope.model.errors import RtscopeError, SourceError

_FILE: Final = re.compile(r"^(?:patching|checking) file '?([^'\n]+?)'?$", re.MULTILINE)
_HUNK: Final = re.compile(r"^Hunk #(\d+) FAILED at (\d+)", re.MULTILINE)
_MISSING: Final = re.compile(r"^\|(?:---|\+\+\+) (?:[^/\s]+/)?(\S+)", re.MULTILINE)
_SECONDS: Final = 300


class Series(msgspec.Struct, frozen=True):
    """Patches in the order in which they apply."""

    directory: Path
    files: list[str]
    sha256: str

    def __str__(self) -> str:
        """Its name, its size, and its hash."""
        patches = f"{len(self.files)} patch{'' if len(self.files) == 1 else 'es'}"
        return f"{self.directory.name}: {patches}, sha256 {self.sha256}"


def read_series(directory: Path) -> Series:
    """The patches of a directory with their content. Raises RtscopeError."""
    files = series_files(directory)
    content = hashlib.sha256()
    try:
        for name in files:
            data = (directory / name).read_bytes()
            content.update(f"{name} {len(data)}\n".encode() + data)
    except OSError as error:
        raise _unreadable(directory, error) from None
    return Series(directory, files, content.hexdigest())


def series_files(directory: Path) -> list[str]:
    """The patches that the file `series` in `directory` lists, or all *.patch by name.

    Raises RtscopeError.
    """
    if not directory.is_dir():
        raise RtscopeError(f"there is no directory {directory} with patches")
    series = directory / "series"
    try:
        if series.exists():
            lines = [line.split("#")[0].strip() for line in series.read_text().splitlines()]
            files = [line for line in lines if line]
        else:
            files = sorted(path.name for path in directory.glob("*.patch"))
    except (OSError, UnicodeDecodeError) as error:
        raise _unreadable(directory, error) from None
    if not files:
        raise RtscopeError(f"{directory} contains no patches: neither a file 'series' nor *.patch")
    return files


def _unreadable(directory: Path, error: Exception) -> RtscopeError:
    return RtscopeError(f"the patches in {directory} cannot be read: {error}")


def apply_series(series: Series, tree: Path, source: str) -> None:
    """Apply each patch to the tree without fuzz; line offsets are allowed. `source` describes
    the tree in the SourceError if a patch does not apply.
    """
    for name in series.files:
        done = subprocess.run(
            ["patch", "-p1", "--forward", "--batch", "--fuzz=0", "--no-backup-if-mismatch",
             "--reject-file=-", f"--input={series.directory / name}"],
            cwd=tree,
            env={**os.environ, "LC_ALL": "C"},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            check=False,
            timeout=_SECONDS,
        )  # fmt: skip
        if done.returncode:
            raise SourceError(
                f"the patch {series.directory / name} does not apply to {source}: "
                f"{_reason(done.stdout + done.stderr)}"
            )


def keep_unchanged(old: Path, new: Path) -> None:
    """Set the times of the files in `new` for make, which has built in `old`. Both are patched
    copies of one source, and share its unpatched files. A file that is unchanged since `old`
    keeps its time; any other gets the current time, including one that is no longer patched.
    Raises OSError.
    """
    for directory, _, names in os.walk(new):
        before = old / Path(directory).relative_to(new)
        for path, was in ((Path(directory, name), before / name) for name in names):
            if path.is_symlink() or (was.exists() and path.samefile(was)):
                continue
            if was.is_file() and filecmp.cmp(was, path, shallow=False):
                path.unlink()
                os.link(was, path)
            elif path.stat().st_nlink > 1:
                content, mode = path.read_bytes(), path.stat().st_mode
                path.unlink()
                path.write_bytes(content)
                path.chmod(mode)


def _reason(said: str) -> str:
    if "previously applied" in said:
        before, _, _ = said.partition("Reversed (or previously applied)")
        return f"{_last_file(before)} already has the change"
    if missing := "can't find file to patch" in said and _MISSING.search(said):
        return f"there is no file {missing[1]}"
    if hunk := _HUNK.search(said):
        place = _last_file(said[: hunk.start()])
        return f"{place}, hunk #{hunk[1]} at line {hunk[2]}, does not match"
    lines = [line for line in said.splitlines() if line.startswith("patch:")] or said.splitlines()
    return lines[-1].removeprefix("patch: **** ") if lines else "patch failed"


def _last_file(said: str) -> str:
    files = _FILE.findall(said)
    return str(files[-1]) if files else "the source"
