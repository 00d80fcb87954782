# SPDX-License-Identifier: GPL-2.0-only
"""The user's own modules, files and commands, which a VM gets in its initramfs."""

import os
import shutil
from collections.abc import Iterator
from contextlib import nullcontext, suppress
from pathlib import Path, PurePosixPath
from typing import Final

import msgspec

from rtscope.lab.kernels import Kernel, kernel_modules
from rtscope.lab.machine import Spec
from rtscope.lab.modules import canonical
from rtscope.lab.usermodules import module_files
from rtscope.model.errors import RtscopeError

BUSYBOX: Final = "bin/busybox"
_APPLETS: Final = f"/{BUSYBOX} --install -s /bin"
_MOST_BYTES: Final = 256 << 20
_OURS: Final = frozenset({"init", "rtscope.args", "rtscope.modules", "rtscope.run"})


class Additions(msgspec.Struct, frozen=True):
    """The requested modules, and the user's files and commands."""

    modules: dict[str, bytes] = {}
    """the user's own modules by name; the others are the kernel's"""
    parameters: dict[str, str] = {}
    """of each requested module, in order"""
    files: dict[str, bytes] = {}
    """by path in the guest"""
    executables: list[str] = []
    """those of them with execute permission"""
    commands: list[str] = []
    """shell commands that the guest runs before the agent, in order"""

    def guest_files(self) -> dict[str, bytes]:
        """The files, and the list of commands for the guest's init: first busybox's own."""
        if BUSYBOX not in self.files:
            return self.files
        lines = "".join(f"{command}\n" for command in [_APPLETS, *self.commands])
        return self.files | {"rtscope.run": lines.encode()}


def additions(spec: Spec, kernel: Kernel) -> Additions:
    """What the options of the VM ask for; modules are built if needed. Raises RtscopeError."""
    own: dict[str, bytes] = {}
    parameters: dict[str, str] = {}
    for text in spec.loads:
        name, _, given = text.partition(" ")
        path = Path(name).expanduser()
        is_path = "/" in name or name in {".", ".."} or name.endswith(".ko")
        built = module_files(kernel, path) if is_path else {canonical(name): b""}
        if given and len(built) > 1:
            raise RtscopeError(
                f"load={text}: {name} holds the modules {', '.join(built)}: parameters need the "
                "directory of one module"
            )
        own |= built if is_path else {}
        parameters |= dict.fromkeys(built, given.strip())
    kernel_modules(kernel, *parameters, own=own)
    files = {guest: path for text in spec.files for guest, path in _files_of(text)}
    contents = _read(files)
    executables = [
        guest
        for guest, path in files.items()
        if guest.startswith("bin/") or os.access(path, os.X_OK)
    ]
    if (spec.commands or spec.files) and BUSYBOX not in files:
        # A load cmd: needs a shell, too, but other uses of files do not.
        with suppress(RtscopeError) if not spec.commands else nullcontext():
            contents[BUSYBOX] = busybox(kernel)
            executables.append(BUSYBOX)
    return Additions(own, parameters, contents, executables, spec.commands)


def busybox(kernel: Kernel) -> bytes:
    """This computer's static busybox, for the guest's shell. Raises RtscopeError."""
    if kernel.arch != os.uname().machine:
        raise RtscopeError(
            f"{kernel.name}: a shell in the guest is this computer's busybox, which does not run "
            f"on {kernel.arch}: give one for {kernel.arch} with file=BUSYBOX:/{BUSYBOX}"
        )
    path = shutil.which("busybox")
    if not path or b"/ld-linux" in (program := Path(path).read_bytes()):
        raise RtscopeError(
            "a shell in the guest needs a static busybox: install the package busybox-static"
        )
    return program


def _files_of(text: str) -> Iterator[tuple[str, Path]]:
    """The path in the guest and on this computer of each file of PATH or PATH:PATH_IN_THE_GUEST.
    A directory's files keep their paths below it. Raises RtscopeError.
    """
    here, _, there = text.partition(":")
    path = Path(here).expanduser()
    if path.is_dir():
        root = PurePosixPath(there or "/")
        found = [(root / one.relative_to(path), one) for one in sorted(path.rglob("*"))]
        pairs = [(guest, one) for guest, one in found if one.is_file()]
    elif path.is_file():
        pairs = [(PurePosixPath(there or f"/bin/{path.name}"), path)]
    else:
        raise RtscopeError(f"file={text}: there is no file or directory {path}")
    for guest, one in pairs:
        name = str(guest).lstrip("/")
        if not guest.is_absolute() or ".." in guest.parts or not name or name in _OURS:
            raise RtscopeError(
                f"file={text}: '{guest}' cannot be a file of the guest: give an absolute path "
                "without '..' that is not /init and does not begin with /rtscope."
            )
        yield name, one


def _read(files: dict[str, Path]) -> dict[str, bytes]:
    size = 0
    contents: dict[str, bytes] = {}
    for guest, path in files.items():
        try:
            size += path.stat().st_size
            if size > _MOST_BYTES:
                raise RtscopeError(
                    f"the files for the guest are larger than {_MOST_BYTES >> 20} MiB, which its "
                    "memory does not hold"
                )
            contents[guest] = path.read_bytes()
        except OSError as error:
            raise RtscopeError(f"cannot read {path}: {error.strerror}") from None
    return contents
