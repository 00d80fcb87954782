# SPDX-License-Identifier: GPL-2.0-only
"""The user's own kernel modules: built against one of the lab's kernels, and cached."""

import hashlib
import os
import re
import shutil
from contextlib import nullcontext
from pathlib import Path
from typing import Final

from rtscope.lab.build import module_words
from rtscope.lab.kernels import Kernel, cache_directory
from rtscope.lab.make import run_make
from rtscope.lab.modules import module_name
from rtscope.lab.ours import headers_words
from rtscope.lab.workfolder import work_folder
from rtscope.model.errors import RtscopeError

_RELEASE: Final = re.compile(rb"vermagic=([^ \0]+)")
_PRODUCTS: Final = shutil.ignore_patterns(
    "*.o", "*.ko", "*.mod", "*.mod.c", ".*.cmd", "Module.symvers", "modules.order", ".git"
)
_MOST_BYTES: Final = 64 << 20
_MOST_KEPT: Final = 50


def module_files(kernel: Kernel, path: Path) -> dict[str, bytes]:
    """The modules of a file, or those built of a directory's source, by name. The directory is
    only read. Raises RtscopeError.
    """
    if path.is_dir():
        return _built(kernel, path)
    try:
        data = path.read_bytes()
    except OSError as error:
        raise RtscopeError(f"cannot read the module {path}: {error.strerror}") from None
    release = _RELEASE.search(data)
    if not data.startswith(b"\x7fELF") or not release:
        raise RtscopeError(
            f"{path} is not a kernel module: give a .ko file, or the directory of its source"
        )
    if release[1].decode(errors="replace") != kernel.release:
        raise RtscopeError(
            f"{path} was built for Linux {release[1].decode(errors='replace')}, and "
            f"{kernel.name} is {kernel.release}: give the directory of its source, and rtscope "
            "builds it for this kernel"
        )
    return {module_name(path): data}


def _built(kernel: Kernel, source: Path) -> dict[str, bytes]:
    if not any((source / name).is_file() for name in ("Kbuild", "Makefile")):
        raise RtscopeError(
            f"{source} has neither Kbuild nor Makefile: a module's source has one with a line such "
            "as 'obj-m := mydrv.o'"
        )
    place = cache_directory() / "user-modules"
    try:
        kept = place / _content(kernel, source)
        if not kept.exists():
            with work_folder(place, ".building-") as folder:
                _build(kernel, source, folder)
                (folder / "result").rename(kept)
            _drop_oldest(place)
        os.utime(kept)
        return {file.stem: file.read_bytes() for file in sorted(kept.glob("*.ko"))}
    except (OSError, shutil.Error) as error:
        raise RtscopeError(f"{source} was not built for {kernel.name}: {error}") from None


def _content(kernel: Kernel, source: Path) -> str:
    """A hash of the kernel and the source. Raises RtscopeError if the source is too large."""
    content = hashlib.sha256(f"{kernel.sha256} {kernel.config_sha256}\n".encode())
    size = 0
    for folder, folders, names in os.walk(source):
        for name in _PRODUCTS(folder, [*folders]):
            folders.remove(name)
        folders.sort()
        for name in sorted({*names} - _PRODUCTS(folder, names)):
            path = Path(folder) / name
            if not path.is_file():
                continue
            size += path.stat().st_size
            if size > _MOST_BYTES:
                raise RtscopeError(
                    f"{source} holds more than {_MOST_BYTES >> 20} MiB: give the directory of the "
                    "module alone"
                )
            data = path.read_bytes()
            content.update(f"{path.relative_to(source)} {len(data)}\n".encode() + data)
    return content.hexdigest()[:32]


def _build(kernel: Kernel, source: Path, folder: Path) -> None:
    shutil.copytree(source, folder / "source", ignore=_PRODUCTS)
    log = folder.parent / f"{source.resolve().name}.log"
    log.write_text("")
    with module_words(kernel) if kernel.key else nullcontext(headers_words(kernel)) as words:
        try:
            run_make([*words, f"M={folder / 'source'}", "modules"], str(source), log)
        except RtscopeError as error:
            raise RtscopeError(str(error).replace(f"{folder / 'source'}", str(source))) from None
    modules = [*(folder / "source").rglob("*.ko")]
    if not modules:
        raise RtscopeError(
            f"{source} built no module: its Kbuild or Makefile needs a line such as "
            "'obj-m := mydrv.o'"
        )
    (folder / "result").mkdir()
    for path in modules:
        path.rename(folder / "result" / f"{module_name(path)}.ko")


def _drop_oldest(place: Path) -> None:
    kept = [path for path in place.iterdir() if path.is_dir() and not path.name.startswith(".")]
    kept.sort(key=lambda path: path.stat().st_mtime, reverse=True)
    for path in kept[_MOST_KEPT:]:
        shutil.rmtree(path, ignore_errors=True)
