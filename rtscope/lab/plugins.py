# SPDX-License-Identifier: GPL-2.0-only
"""The emulator's plugins, compiled on first use."""

import hashlib
import os
import shutil
import subprocess
from pathlib import Path
from typing import Final

import msgspec

from rtscope.lab.kernels import cache_directory
from rtscope.lab.vm import VmTarget
from rtscope.lab.workfolder import work_folder
from rtscope.model.errors import RtscopeError

_FLAGS: Final = ["-std=gnu11", "-O2", "-shared", "-fPIC", "-fvisibility=hidden"]


def with_plugin(target: VmTarget, plugin: str, words: list[str]) -> VmTarget:
    """The same VM with one more plugin and these arguments."""
    argument = ",".join(word.replace(",", ",,") for word in [plugin, *words])
    return msgspec.structs.replace(target, unseen=[*target.unseen, "-plugin", argument])


def built_plugin(*names: str) -> str:
    """Compile a plugin from these C files and return its path. It cannot be built with the
    agent, which is linked statically with musl, while a plugin uses the emulator's C library.
    Raises RtscopeError.
    """
    folder = Path(__file__).parent / "plugin"
    sources = [folder / name for name in names]
    content = b"".join(path.read_bytes() for path in [*sources, *sorted(folder.glob("*.h"))])
    compiler = next((path for name in ("cc", "gcc", "clang") if (path := shutil.which(name))), None)
    key = hashlib.sha256(content + repr(_FLAGS).encode()).hexdigest()[:32]
    plugin = cache_directory() / "plugins" / f"{os.uname().machine}-{key}.so"
    if plugin.exists():
        return str(plugin)
    if compiler is None:
        raise RtscopeError("QEMU's plugin needs a C compiler: install gcc")
    with work_folder(plugin.parent, ".making-") as directory:
        new = directory / "plugin.so"
        done = subprocess.run(
            [compiler, *_FLAGS, *map(str, sources), "-o", str(new)],
            capture_output=True, check=False, timeout=120,
        )  # fmt: skip
        if done.returncode:
            said = done.stderr.decode(errors="replace").strip()
            raise RtscopeError(f"{compiler} cannot compile QEMU's plugin: {said}")
        new.rename(plugin)
    return str(plugin)
