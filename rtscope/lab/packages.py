# SPDX-License-Identifier: GPL-2.0-only
"""Debian packages of kernels and headers: downloaded and unpacked, not installed."""

import re
import shutil
import subprocess
import time
from pathlib import Path
from typing import Final

from rtscope.model.errors import RtscopeError

_KERNEL: Final = re.compile(r"linux-image-[^\s,(|]+")
_COMMON: Final = re.compile(r"linux-headers-[^\s,(|]+-common[^\s,(|]*")
_TOOLS: Final = re.compile(r"linux-kbuild-[^\s,(|]+")
_NAME: Final = re.compile(r"[a-z0-9][a-z0-9+.:-]+")
_MOST_STEPS: Final = 4
_SECONDS: Final = 900
_BACKPORTS: Final = (
    "deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] {} trixie-backports main\n"
)
_LISTS_LAST_S: Final = 24 * 3600


def fetch_package(
    package: str, directory: Path, options: list[str] | None = None
) -> tuple[str, Path]:
    """Download and unpack a kernel package, and return its name and version, and the directory
    of its files. A package that only depends on the current kernel
    (linux-image-6.12-rt-amd64) resolves to that kernel's. The name of a package for another
    architecture ends in it: linux-image-6.12-rt-arm64. It needs no root. `directory` exists
    and is empty. `options` are apt's, for a package that the system's lists lack. Raises
    RtscopeError.
    """
    for tool in ("apt-get", "apt-cache", "dpkg", "dpkg-deb"):
        if not shutil.which(tool):
            raise RtscopeError(
                f"debian:{package} needs {tool}, which is not installed: give the kernel's file "
                "instead"
            )
    if not _NAME.fullmatch(package):
        raise RtscopeError(f"'{package}' is not a package name such as linux-image-rt-amd64")
    if options is None:
        options = apt_options(_architecture(package), directory)
    name = _real_package(package, options)
    _run(
        ["apt-get", *options, "download", name],
        directory,
        f"the kernel package {name} could not be downloaded",
    )
    (archive,) = directory.glob("*.deb")
    files = directory / "files"
    _run(["dpkg-deb", "-x", str(archive), str(files)], directory, f"{name} cannot be unpacked")
    version = _field(_show(name, options), "Version")
    return f"{name} {version}", files


def fetch_headers(package: str, directory: Path) -> Path:
    """Download and unpack the headers that modules for a kernel package are built against. Build
    tools are of this computer's architecture, whatever the kernel's. Returns a directory that
    may be moved. `directory` exists and is empty. Raises RtscopeError.
    """
    name = package.replace("image", "headers", 1).removesuffix("-unsigned")
    options = apt_options(_architecture(name), directory)
    depends = _field(_show(name, options), "Depends")
    common, tools = _COMMON.search(depends), _TOOLS.search(depends)
    if not common or not tools:
        raise RtscopeError(f"the package {name} does not list the packages of its headers")
    files = directory / "files"
    for one, apt in [(name, options), (common[0], options), (tools[0], [])]:
        _run(
            ["apt-get", *apt, "download", one],
            directory,
            f"the package {one}, of a kernel's headers, could not be downloaded",
        )
        (archive,) = directory.glob("*.deb")
        _run(["dpkg-deb", "-x", str(archive), str(files)], directory, f"{one} cannot be unpacked")
        archive.unlink()
    makefile = files / "usr" / "src" / name / "Makefile"
    makefile.write_text(makefile.read_text().replace("/usr/src/", "../"))
    return files


def find_package(package: str, lists: Path) -> tuple[str, list[str]]:
    """The version that apt would install, and the options that make apt know the package.

    If the system's apt sources lack a package, Debian's trixie-backports are searched, whose
    lists are in the directory `lists`. Raises RtscopeError if neither has it.
    """
    if not shutil.which("apt-cache"):
        raise RtscopeError(f"debian:{package} needs apt, which is not installed")
    options: list[str] = []
    try:
        stanza = _show(package, options)
    except RtscopeError:
        options = _backports_options(lists)
        stanza = _show(package, options)
    return _field(stanza, "Version"), options


def apt_options(architecture: str | None, directory: Path) -> list[str]:
    """Options that give apt a separate state, with lists of `architecture` in `directory` and no
    package installed; empty for this computer's architecture (None).
    """
    if architecture is None:
        return []
    options = [
        *_own_apt(directory / "apt"),
        f"-oAPT::Architecture={architecture}",
        f"-oAPT::Architectures={architecture}",
    ]
    _update(options)
    return options


def _backports_options(directory: Path) -> list[str]:
    """Options that make apt use the package lists of Debian's trixie-backports in `directory`.

    The lists stay there, and apt updates them once a day.
    """
    sources, updated = directory / "sources.list", directory / "updated"
    options = [
        *_own_apt(directory),
        f"-oDir::Etc::sourcelist={sources}",
        "-oDir::Etc::sourceparts=/dev/null",
        "-oAcquire::Languages=none",
    ]
    source = _BACKPORTS.format(_mirror())
    if not sources.exists() or sources.read_text() != source:
        updated.unlink(missing_ok=True)
        sources.write_text(source)
    if not updated.exists() or time.time() - updated.stat().st_mtime > _LISTS_LAST_S:
        _update(options)
        updated.touch()
    return options


def _mirror() -> str:
    """The mirror of Debian's archive that the system's sources name. Raises RtscopeError."""
    wanted = ["--format", "$(REPO_URI)", "Created-By: Packages", "Label: Debian"]
    found = _run(["apt-get", "indextargets", *wanted], Path.cwd(), "apt's sources are not readable")
    if not found:
        raise RtscopeError(
            "apt's sources name no mirror of Debian's archive, which has trixie-backports: add one "
            "to /etc/apt/sources.list.d, and run apt-get update"
        )
    return found.partition("\n")[0]


def _own_apt(directory: Path) -> list[str]:
    """Options that keep all of apt's state in `directory`, where no package is installed."""
    lists, cache = directory / "lists", directory / "cache"
    (lists / "partial").mkdir(parents=True, exist_ok=True)
    (cache / "archives" / "partial").mkdir(parents=True, exist_ok=True)
    (directory / "status").touch()
    return [
        f"-oDir::State={directory}",
        f"-oDir::State::lists={lists}",
        f"-oDir::State::status={directory / 'status'}",
        f"-oDir::Cache={cache}",
    ]


def _update(options: list[str]) -> None:
    # Another of the system's sources may fail: only this package matters.
    subprocess.run(
        ["apt-get", *options, "-qq", "update"], capture_output=True, check=False, timeout=_SECONDS
    )


def _architecture(package: str) -> str | None:
    """Debian's name of the architecture if it is not this computer's."""
    native = _run(["dpkg", "--print-architecture"], Path.cwd(), "dpkg failed").strip()
    for arch in ("amd64", "arm64", "riscv64"):
        if package.endswith(f"-{arch}"):
            return None if arch == native else arch
    return None


def _real_package(package: str, options: list[str]) -> str:
    name = package
    for _ in range(_MOST_STEPS):
        found = _KERNEL.findall(_field(_show(name, options), "Depends"))
        if not found:
            return name
        name = found[0]
    raise RtscopeError(f"the package {package} contains no kernel and depends on none")


def _show(package: str, options: list[str]) -> str:
    """The stanza of the newest version."""
    done = subprocess.run(
        ["apt-cache", *options, "show", "--no-all-versions", package],
        capture_output=True,
        text=True,
        check=False,
        timeout=_SECONDS,
    )
    if done.returncode or not done.stdout.strip():
        raise RtscopeError(
            f"apt knows no package {package}: `apt-cache search linux-image` lists the kernels, "
            "and `apt-get update` fetches the current list"
        )
    return done.stdout.split("\n\n")[0]


def _field(stanza: str, name: str) -> str:
    found = re.search(rf"^{name}: (.*)$", stanza, re.MULTILINE)
    return found[1] if found else ""


def _run(command: list[str], directory: Path, failure: str) -> str:
    try:
        done = subprocess.run(
            command, cwd=directory, capture_output=True, text=True, check=False, timeout=_SECONDS
        )
    except subprocess.TimeoutExpired:
        raise RtscopeError(f"{failure}: {command[0]} took more than {_SECONDS} s") from None
    if done.returncode:
        said = (done.stderr.strip() or done.stdout.strip()).splitlines()
        raise RtscopeError(f"{failure}: {said[-1] if said else f'{command[0]} failed'}")
    return done.stdout
