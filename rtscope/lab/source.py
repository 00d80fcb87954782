# SPDX-License-Identifier: GPL-2.0-only
"""The source of a kernel: Debian's package, a tarball, or the user's tree."""

import fcntl
import hashlib
import os
import re
import shutil
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import msgspec

from rtscope.lab.kernels import cache_directory
from rtscope.lab.packages import fetch_package, find_package
from rtscope.model.errors import RtscopeError

_VERSION: Final = re.compile(r"^(VERSION|PATCHLEVEL|SUBLEVEL|EXTRAVERSION) *= *(.*)$", re.MULTILINE)


class Source(msgspec.Struct, frozen=True):
    """A kernel's source, not yet unpacked."""

    words: str
    """description for messages and records"""
    identity: str
    """identifies the content; valid as a file name"""
    place: Path | None
    """a tree, or a tarball; None for Debian's package"""
    package: str = ""
    """Debian package, if `place` is None"""
    apt: list[str] = []
    """apt options that make the package available"""
    lineage: str = ""
    """of a tree that rtscope itself moves from commit to commit: the sources of one lineage share
    the times of their unchanged files, and so their objects
    """


def find_source(place: Path | None, package: str) -> Source:
    """The source at `place`, or Debian's `package` if that is None. Raises RtscopeError."""
    if place is None:
        return _debian_source(package)
    place = place.absolute()
    if place.is_dir():
        _check_tree(place)
        return Source(_tree_words(place), f"tree-{_listing_hash(place)}", place)
    try:
        with place.open("rb") as file:
            content = hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        raise RtscopeError(f"the source {place} cannot be read: {error.strerror}") from None
    return Source(f"{place.name}, sha256 {content}", f"tarball-{content[:32]}", place)


def _debian_source(package: str) -> Source:
    lists = cache_directory() / "apt"
    lists.mkdir(parents=True, exist_ok=True)
    try:
        with _locked(lists / "lock"):
            version, options = find_package(package, lists)
    except RtscopeError as error:
        linux = package.replace("linux-source-", "Linux ")
        raise RtscopeError(f"{error}; --source takes a tree or a tarball of {linux}") from None
    return Source(f"debian:{package} {version}", f"{package}_{version}", None, package, options)


def source_tree(source: Source, said: Callable[[str], None]) -> Path:
    """The unpacked source, which must not be changed; cached after it has been unpacked. `said`
    is called with slow steps. Raises RtscopeError.
    """
    if source.place and source.place.is_dir():
        return source.place
    folder = cache_directory() / "sources"
    kept = folder / source.identity
    folder.mkdir(parents=True, exist_ok=True)
    with _locked(folder / "lock"):
        if kept.exists():
            return kept
        partial = folder / ".unpacking"
        shutil.rmtree(partial, ignore_errors=True)
        partial.mkdir()
        try:
            archive = source.place or _debian_archive(source, partial, said)
            said(f"unpacking {archive.name}")
            (partial / "tree").mkdir()
            _unpack(archive, partial / "tree")
            tree = next((partial / "tree").iterdir())
            _check_tree(tree)
            tree.rename(kept)
        finally:
            shutil.rmtree(partial, ignore_errors=True)
    return kept


def tree_version(tree: Path) -> str:
    """Such as 6.12.117, from the tree's Makefile."""
    text = (tree / "Makefile").read_text(errors="replace")[:4096]
    found: dict[str, str] = {name: value.strip() for name, value in _VERSION.findall(text)}
    numbers = [found.get(name, "") for name in ("VERSION", "PATCHLEVEL", "SUBLEVEL")]
    return ".".join(filter(None, numbers)) + found.get("EXTRAVERSION", "")


def _check_tree(tree: Path) -> None:
    if not ((tree / "Kbuild").is_file() and (tree / "Makefile").is_file() and tree_version(tree)):
        raise RtscopeError(f"{tree} is not a Linux kernel source: give the directory of its Kbuild")
    if (tree / ".config").exists() or (tree / "include" / "config").exists():
        raise RtscopeError(
            f"{tree} was configured in place, which prevents builds in another directory: run "
            "`make mrproper` there (it removes .config), or give a clean tree, such as one of "
            "`git worktree add`"
        )


def _tree_words(tree: Path) -> str:
    done = subprocess.run(
        ["git", "-C", str(tree), "describe", "--always", "--dirty", "--match=v*"],
        capture_output=True,
        text=True,
        check=False,
    ) if shutil.which("git") and (tree / ".git").exists() else None  # fmt: skip
    described = f", {done.stdout.strip()}" if done and done.returncode == 0 else ""
    return f"{tree}{described}"


def _listing_hash(tree: Path) -> str:
    """A hash of the properties that make uses: every file's name, size and modification time."""
    listing = hashlib.sha256(f"{tree}\n".encode())
    for directory, folders, files in os.walk(tree):
        folders[:] = sorted(name for name in folders if name != ".git")
        for name in sorted(files):
            path = f"{directory}/{name}"
            status = os.lstat(path)
            listing.update(f"{path} {status.st_size} {status.st_mtime_ns}\n".encode())
    return listing.hexdigest()[:32]


def _debian_archive(source: Source, directory: Path, said: Callable[[str], None]) -> Path:
    said(f"downloading {source.package}, 150 MB")
    (directory / "package").mkdir()
    _, files = fetch_package(source.package, directory / "package", source.apt or None)
    return next((files / "usr" / "src").glob(f"{source.package}.tar*"))


def _unpack(archive: Path, directory: Path) -> None:
    done = subprocess.run(
        ["tar", "--extract", f"--file={archive}", f"--directory={directory}", "--no-same-owner"],
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode or len(list(directory.iterdir())) != 1:
        said = done.stderr.strip().splitlines()
        raise RtscopeError(
            f"{archive} cannot be unpacked: "
            f"{said[0] if said else 'it does not contain exactly one directory'}"
        )


@contextmanager
def _locked(path: Path) -> Iterator[None]:
    """Wait for the lock."""
    with path.open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield
