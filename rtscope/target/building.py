# SPDX-License-Identifier: GPL-2.0-only
"""Build the agent for a foreign architecture when it is first needed.

The package carries the agent's sources, because a wheel is made on computers without cross
compilers. A built agent is kept in the cache under a hash of all that it was built from, so that
an agent of an older rtscope is never used. The folder is not the one that holds the agents which
ssh brought to this computer (target/upload.py): that one is closed to other users.
"""

import fcntl
import hashlib
import os
import shutil
import subprocess
import sys
import sysconfig
import tempfile
import time
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Final

import platformdirs

from rtscope.model.errors import RtscopeError

ARCHES: Final = ("aarch64", "mips64el", "powerpc64", "riscv64", "x86_64")
"""the architectures that the agent is built for"""

_SOURCES: Final = ("agent", "cross", "kernel/modules", "meson.build", "meson.options", "setup")
_VERSION: Final = "__init__.py"
"""the file of the package in which meson.build finds the version"""
_SHOWN_LINES: Final = 20


def is_checkout(package: Path) -> bool:
    """Whether the package is in a checkout, not installed by pip."""
    return (package.parent / "meson.build").is_file() and (package.parent / "agent").is_dir()


def built_agent(arch: str, package: Path) -> Path:
    """The agent for `arch`, built from the sources of `package` unless it is cached. Reports a
    build on standard error. Raises RtscopeError that names missing tools.
    """
    root = package.parent if is_checkout(package) else package
    if arch not in ARCHES or not (root / "meson.build").is_file():
        raise RtscopeError(f"there is no rtscope-agent for {arch}, only for {', '.join(ARCHES)}")
    place = platformdirs.user_cache_path("rtscope") / "foreign-agents" / _content(root, package)
    agent = place / arch / "rtscope-agent"
    if agent.is_file():
        return agent
    agent.parent.mkdir(parents=True, exist_ok=True)
    with (agent.parent / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not agent.is_file():
            _build(arch, root, package, agent)
    return agent


def _build(arch: str, root: Path, package: Path, agent: Path) -> None:
    start = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="rtscope-agent-") as name:
        folder = Path(name)
        for source in _files(root):
            copy = folder / source
            copy.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(root / source, copy)
            copy.chmod(0o755 if source.startswith("setup/") else 0o644)
        (folder / "rtscope").mkdir()
        shutil.copyfile(package / _VERSION, folder / "rtscope" / _VERSION)
        build = folder / "build" / "agent"
        meson = [sys.executable, "-m", "mesonbuild.mesonmain"]
        _report(f"building the agent for {arch}, once: the C library")
        _run(["sh", "setup/musl", arch], folder, arch)
        _report(f"building the agent for {arch}: the agent")
        cross = f"cross/{arch}.ini"
        _run([*meson, "setup", "--cross-file", cross, str(build)], folder, arch)
        _run(["ninja", "-C", str(build), "rtscope-agent"], folder, arch)
        new = agent.with_suffix(".new")
        shutil.copyfile(build / "rtscope-agent", new)
        new.chmod(0o755)
        new.rename(agent)
    _report(f"built {agent} in {time.monotonic() - start:.0f} s")


def _run(command: list[str], folder: Path, arch: str) -> None:
    path = os.pathsep.join([sysconfig.get_path("scripts"), os.environ.get("PATH", os.defpath)])
    try:
        done = subprocess.run(
            command, cwd=folder, env=os.environ | {"PATH": path}, stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace",
            check=False,
        )  # fmt: skip
    except OSError as error:
        raise RtscopeError(
            f"cannot build the agent for {arch}: cannot run {command[0]}: {error.strerror}"
        ) from None
    if done.returncode:
        lines = done.stdout.strip().splitlines()[-_SHOWN_LINES:]
        raise RtscopeError(
            "\n".join([f"cannot build the agent for {arch} by `{' '.join(command)}`:", *lines])
        )


@cache
def _content(root: Path, package: Path) -> str:
    """The hash of all sources, and of the file with the version."""
    total = hashlib.sha256()
    for path in [package / _VERSION, *(root / source for source in _files(root))]:
        content = path.read_bytes()
        total.update(f"{path.name} {len(content)}\n".encode() + content)
    return total.hexdigest()[:32]


def _files(root: Path) -> Iterator[str]:
    """The sources below `root`, in a fixed order."""
    for name in _SOURCES:
        path = root / name
        files = [path] if path.is_file() else sorted(path.rglob("*"))
        yield from (str(file.relative_to(root)) for file in files if file.is_file())


def _report(text: str) -> None:
    print(f"rtscope: {text}", file=sys.stderr, flush=True)
