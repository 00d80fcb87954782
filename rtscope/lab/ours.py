# SPDX-License-Identifier: GPL-2.0-only
"""Our own kernel modules, kernel/modules: built for a distribution's kernel by its headers."""

import hashlib
import os
import re
import shutil
from pathlib import Path
from typing import Final

from rtscope.lab.kernels import (
    Kernel,
    cache_directory,
    has_module,
    kernel_modules,
    put_modules,
)
from rtscope.lab.make import run_make
from rtscope.lab.packages import fetch_headers
from rtscope.lab.recipes import kernel_folder
from rtscope.lab.workfolder import work_folder
from rtscope.model.errors import RtscopeError

_DEBIAN: Final = re.compile(r"debian:(linux-image-\S+) ")
_COMPILER: Final = re.compile(r"\$\(CROSS_COMPILE\)(\S+)")


def modules_content() -> str:
    """A hash of all that our modules are made from."""
    folder = kernel_folder() / "modules"
    content = hashlib.sha256()
    for path in sorted(folder.rglob("*")):
        if path.is_file():
            data = path.read_bytes()
            content.update(f"{path.relative_to(folder)} {len(data)}\n".encode() + data)
    return content.hexdigest()


def our_modules(kernel: Kernel) -> dict[str, bytes]:
    """Those of our modules that the kernel has, by name. Raises RtscopeError."""
    return kernel_modules(kernel, *(name for name in module_names() if has_module(kernel, name)))


def module_names() -> list[str]:
    """Our modules: each has a folder, beside the header that they share."""
    return sorted(path.parent.name for path in (kernel_folder() / "modules").glob("*/Kbuild"))


def copy_modules(folder: Path) -> None:
    """Make `folder` one that the kernel's make builds all of ours in, for it writes beside them."""
    shutil.copytree(kernel_folder() / "modules", folder)
    names = " ".join(f"{name}/" for name in module_names())
    (folder / "Kbuild").write_text(f"obj-m := {names}\n")


def give_modules(kernel: Kernel) -> Kernel:
    """Build our modules against the headers of a Debian kernel and keep them with it.

    The headers are kept in the cache, so that they are downloaded once. Raises RtscopeError, and
    leaves the kernel as it is then.
    """
    found = _DEBIAN.match(kernel.source)
    if not found:
        raise RtscopeError(f"{kernel.name} is no Debian kernel, whose headers could be had")
    try:
        headers = _kept_headers(found[1])
        with work_folder(cache_directory() / "headers", ".building-") as folder:
            _build(kernel.arch, headers, folder)
            files = {path.stem: path.read_bytes() for path in (folder / "modules").glob("*/*.ko")}
    except OSError as error:
        raise RtscopeError(
            f"our modules were not built for {kernel.name}: {error.filename}: {error.strerror}"
        ) from None
    return put_modules(kernel, files, modules_content())


def _kept_headers(package: str) -> Path:
    place = cache_directory() / "headers"
    kept = place / package.removeprefix("linux-image-")
    if not kept.exists():
        with work_folder(place, ".fetching-") as folder:
            fetch_headers(package, folder).rename(kept)
    (headers,) = kept.glob("usr/src/linux-headers-*/.kernelvariables")
    return headers.parent


def _build(arch: str, headers: Path, folder: Path) -> None:
    compiler = _COMPILER.search((headers / ".kernelvariables").read_text())
    if not compiler:
        raise RtscopeError(f"{headers} does not tell by which compiler it was made")
    cross = f"{arch}-linux-gnu-"
    suffix = "" if arch == os.uname().machine else f"-{cross.rstrip('-').replace('_', '-')}"
    for tool, needed in {f"{cross}{compiler[1]}": f"{compiler[1]}{suffix}", "make": "make"}.items():
        if not shutil.which(tool):
            raise RtscopeError(
                f"to build modules for this kernel {tool} is missing here: install the package "
                f"{needed}"
            )
    # pahole is not needed for what nobody debugs, nor is what it would read.
    options = ["CONFIG_DEBUG_INFO_BTF_MODULES=", "KCFLAGS=-g0", f"-j{os.cpu_count()}"]
    modules = folder / "modules"
    copy_modules(modules)
    # Where the headers say which tools to use, they have the last word.
    words = ["-C", str(headers), f"M={modules}", f"CROSS_COMPILE={cross}", *options, "modules"]
    run_make(words, "our modules", headers / "rtscope.log")
