# SPDX-License-Identifier: GPL-2.0-only
"""rtscope's kernel modules, kernel/modules, built against the headers of a distribution's
kernel.
"""

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
    """A hash of the sources of rtscope's modules."""
    folder = kernel_folder() / "modules"
    content = hashlib.sha256()
    for path in sorted(folder.rglob("*")):
        if path.is_file():
            data = path.read_bytes()
            content.update(f"{path.relative_to(folder)} {len(data)}\n".encode() + data)
    return content.hexdigest()


def our_modules(kernel: Kernel) -> dict[str, bytes]:
    """The names of rtscope's modules that the kernel has. Raises RtscopeError."""
    return kernel_modules(kernel, *(name for name in module_names() if has_module(kernel, name)))


def module_names() -> list[str]:
    """The names of rtscope's modules: each has a directory next to their common header."""
    return sorted(path.parent.name for path in (kernel_folder() / "modules").glob("*/Kbuild"))


def copy_modules(folder: Path) -> None:
    """Prepare `folder` for the kernel's make, which writes next to the sources."""
    shutil.copytree(kernel_folder() / "modules", folder)
    names = " ".join(f"{name}/" for name in module_names())
    (folder / "Kbuild").write_text(f"obj-m := {names}\n")


def give_modules(kernel: Kernel) -> Kernel:
    """Build rtscope's modules against the headers of a Debian kernel and store them with it. The
    headers are cached, so that they are downloaded once. Raises RtscopeError, and then leaves
    the kernel unchanged.
    """
    try:
        with work_folder(cache_directory() / "headers", ".building-") as folder:
            copy_modules(folder / "modules")
            words = headers_words(kernel)
            log = Path(words[1]) / "rtscope.log"
            run_make([*words, f"M={folder / 'modules'}", "modules"], "rtscope's modules", log)
            files = {path.stem: path.read_bytes() for path in (folder / "modules").glob("*/*.ko")}
    except OSError as error:
        raise RtscopeError(
            f"rtscope's modules were not built for {kernel.name}: {error.filename}: "
            f"{error.strerror}"
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


def headers_words(kernel: Kernel) -> list[str]:
    """The words with which make builds modules against the headers of a Debian kernel: first
    "-C" and the headers' directory. Raises RtscopeError.
    """
    found = _DEBIAN.match(kernel.source)
    if not found:
        raise RtscopeError(
            f"{kernel.name} is not a Debian kernel, so its headers cannot be downloaded"
        )
    headers, arch = _kept_headers(found[1]), kernel.arch
    compiler = _COMPILER.search((headers / ".kernelvariables").read_text())
    if not compiler:
        raise RtscopeError(f"{headers} does not name the compiler of its kernel")
    cross = f"{arch}-linux-gnu-"
    suffix = "" if arch == os.uname().machine else f"-{cross.rstrip('-').replace('_', '-')}"
    for tool, needed in {f"{cross}{compiler[1]}": f"{compiler[1]}{suffix}", "make": "make"}.items():
        if not shutil.which(tool):
            raise RtscopeError(
                f"cannot build modules for this kernel without {tool}: install the package {needed}"
            )
    # pahole and its input are needed only for debugging.
    options = ["CONFIG_DEBUG_INFO_BTF_MODULES=", "KCFLAGS=-g0", f"-j{os.cpu_count()}"]
    # Tools named by the headers take precedence.
    return ["-C", str(headers), f"CROSS_COMPILE={cross}", *options]
