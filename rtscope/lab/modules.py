# SPDX-License-Identifier: GPL-2.0-only
"""Kernel modules: find the files of the requested ones and their dependencies, in order."""

import gzip
import lzma
import re
import subprocess
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Final

from rtscope.model.errors import RtscopeError
from rtscope.model.request import Request
from rtscope.target.description import our_description

_DEPENDS: Final = re.compile(rb"\0depends=([^\0]*)\0")


def needed_module(request: Request) -> str | None:
    """The rtscope module that the probe of this request needs, or None."""
    probe = our_description().probe(request.probe)
    if probe is None:
        return None
    option, _, choice = (probe.module_if or "").partition("=")
    return probe.module if not option or request.options.get(option) == choice else None


def module_name(path: Path) -> str:
    """The name of a module file's module, as lsmod shows it."""
    return canonical(path.name.split(".ko")[0])


def wanted_modules(
    directory: Path, names: list[str], own: Mapping[str, bytes] = MappingProxyType({})
) -> dict[str, bytes]:
    """The modules `names` and their dependencies, by name, in the order in which they load.
    `directory` holds module files, at any depth, compressed or not; `own` are more modules, by
    name. The modules themselves name their dependencies. Raises RtscopeError if one is missing.
    """
    files = {module_name(path): path for path in sorted(directory.rglob("*.ko*"))}
    loaded: dict[str, bytes] = {}

    def add(name: str, needed_by: str) -> None:
        if name in loaded:
            return
        if name not in own and name not in files:
            raise RtscopeError(f"there is no module '{name}' below {directory}{needed_by}")
        data = own[name] if name in own else _uncompressed(files[name])
        depends = _DEPENDS.search(data)
        for needed in (depends[1].decode() if depends else "").split(","):
            if needed:
                add(canonical(needed), f", which {name} needs")
        loaded[name] = data

    for name in names:
        add(canonical(name), "")
    return loaded


def canonical(name: str) -> str:
    """A module's name as the kernel has it, without hyphens."""
    return name.replace("-", "_")


def _uncompressed(path: Path) -> bytes:
    try:
        data = path.read_bytes()
        match path.suffix:
            case ".xz":
                return lzma.decompress(data)
            case ".gz":
                return gzip.decompress(data)
            case ".zst":
                done = subprocess.run(["zstd", "-dc"], input=data, capture_output=True, check=True)
                return done.stdout
    except (OSError, EOFError, lzma.LZMAError, subprocess.CalledProcessError) as error:
        raise RtscopeError(f"the module {path} cannot be read: {error}") from None
    return data
