# SPDX-License-Identifier: GPL-2.0-only
"""The emulator's plugins, compiled when they are first needed."""

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
    """The same machine, watched by one more plugin with these arguments."""
    told = ",".join(word.replace(",", ",,") for word in [plugin, *words])
    return msgspec.structs.replace(target, unseen=[*target.unseen, "-plugin", told])


def built_plugin(*names: str) -> str:
    """The file of the plugin that these files of C make.

    Not with the agent: that is linked with musl and has no library of its own, while a plugin lives
    within the emulator and its C library. Raises RtscopeError.
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
        raise RtscopeError("QEMU's plugin needs a C compiler, which is missing here: install gcc")
    with work_folder(plugin.parent, ".making-") as directory:
        new = directory / "plugin.so"
        done = subprocess.run(
            [compiler, *_FLAGS, *map(str, sources), "-o", str(new)],
            capture_output=True, check=False, timeout=120,
        )  # fmt: skip
        if done.returncode:
            said = done.stderr.decode(errors="replace").strip()
            raise RtscopeError(f"QEMU's plugin cannot be compiled by {compiler}: {said}")
        new.rename(plugin)
    return str(plugin)
