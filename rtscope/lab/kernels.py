# SPDX-License-Identifier: GPL-2.0-only
"""The lab's kernels: named, and kept unpacked under $XDG_CACHE_HOME/rtscope/kernels."""

import hashlib
import re
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import msgspec
import platformdirs

from rtscope.lab.boards import find_board
from rtscope.lab.kernelfile import read_kernel
from rtscope.lab.modules import wanted_modules
from rtscope.lab.packages import fetch_package
from rtscope.lab.recipes import recipes
from rtscope.lab.workfolder import work_folder
from rtscope.model.errors import RtscopeError

_NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._+-]{0,60}")
_SETTING: Final = re.compile(r"^CONFIG_\w+=", re.MULTILINE)
_RECORD: Final = "kernel.json"
_FIRMWARE_MODULE: Final = "qemu_fw_cfg"


class Kernel(msgspec.Struct, frozen=True):
    """A kernel that can be booted by its name."""

    name: str
    arch: str
    release: str
    source: str
    """where it came from, in words"""
    sha256: str
    """of what is booted"""
    config_sha256: str | None = None
    board: str | None = None
    """that it was built for; None for the usual one of its architecture"""
    modules: list[str] = []
    """loaded at boot, in this order"""
    ours: str | None = None
    """the hash of what those of its modules were made from that are ours; None without them, or for
    one that the lab built"""
    key: str | None = None
    """of one that the lab built: the hash of all that it was built from"""
    patches: list[str] = []
    """the series that were applied before it was built, each with its hash"""
    options: list[str] = []
    """of its command line, in every mode"""
    exact_options: list[str] = []
    """of its command line where time counts instructions"""


def cache_directory() -> Path:
    """Where the lab keeps what it can make again."""
    return platformdirs.user_cache_path("rtscope")


def kernel_file(kernel: Kernel) -> Path:
    """What QEMU boots."""
    return _kernels() / kernel.name / "kernel"


def is_whole(kernel: Kernel) -> bool:
    """Whether what QEMU boots is still what was kept."""
    try:
        with kernel_file(kernel).open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest() == kernel.sha256
    except OSError:
        return False


def check_whole(kernel: Kernel) -> None:
    """Refuse a kernel whose file has changed since it was kept: its runs would name another.

    Raises RtscopeError.
    """
    if is_whole(kernel):
        return
    debian = kernel.source.startswith("debian:")
    origin = kernel.source.split(" ")[0] if debian else kernel.source
    how = f"build {kernel.name}" if kernel.key else f"add {origin} --name {kernel.name}"
    raise RtscopeError(
        f"the kernel {kernel.name} is damaged: {kernel_file(kernel)} does not have the recorded "
        f"SHA-256. Replace it with `rtscope lab kernel {how}`"
    )


def kernel_config(kernel: Kernel) -> bytes | None:
    """The configuration that it was built with; None where nobody gave it."""
    path = _kernels() / kernel.name / "config"
    return path.read_bytes() if path.exists() else None


def takes_snapshots(kernel: Kernel) -> bool:
    """Whether it reads what only a restored machine is told, by QEMU's firmware configuration."""
    built_in = b"CONFIG_FW_CFG_SYSFS=y\n" in (kernel_config(kernel) or b"")
    return built_in or _FIRMWARE_MODULE in kernel.modules


def kernel_system_map(kernel: Kernel) -> str:
    """Its System.map; empty where nobody kept it."""
    path = _kernels() / kernel.name / "System.map"
    return path.read_text(errors="replace") if path.exists() else ""


def kernel_modules(kernel: Kernel, *wanted: str) -> dict[str, bytes]:
    """The modules that it loads at boot, by name, in order; `wanted` and what they need come last.

    Raises RtscopeError where the kernel has no module of such a name.
    """
    folder = _kernels() / kernel.name / "modules"
    modules = {name: (folder / f"{name}.ko").read_bytes() for name in kernel.modules}
    return modules | wanted_modules(folder, list(wanted))


def has_module(kernel: Kernel, name: str) -> bool:
    """Whether it has one that could be loaded."""
    return (_kernels() / kernel.name / "modules" / f"{name}.ko").exists()


def list_kernels() -> list[Kernel]:
    """The kernels that have been added, by name."""
    found = []
    for path in sorted(_kernels().glob(f"[!.]*/{_RECORD}")):
        try:
            found.append(msgspec.json.decode(path.read_bytes(), type=Kernel))
        except (OSError, msgspec.MsgspecError):
            continue  # of another version of rtscope: adding it again makes it whole
    return found


def find_kernel(name: str) -> Kernel:
    """The kernel of this name. Raises RtscopeError where there is none."""
    kernels = {kernel.name: kernel for kernel in list_kernels()}
    if name not in kernels:
        known = f"the lab has {', '.join(kernels)}" if kernels else "the lab has none yet"
        if name in recipes().kernels:
            raise RtscopeError(
                f"the kernel '{name}' has not been built yet: `rtscope lab kernel build {name}` "
                "does it, in some minutes"
            )
        raise RtscopeError(
            f"there is no kernel '{name}': {known}; `rtscope lab kernel add "
            "debian:linux-image-6.12-rt-amd64` adds one, and `rtscope lab kernel build` builds "
            f"{', '.join(recipes().kernels)}"
        )
    return kernels[name]


def add_package(package: str, *, name: str | None, load: list[str]) -> Kernel:
    """Add the kernel of a Debian package, by default as what follows "linux-image-" in its name.

    Raises RtscopeError.
    """
    name = good_name(name or package.removeprefix("linux-image-"))
    with _fresh() as directory:
        source, files = fetch_package(package, directory)
        images = sorted((files / "boot").glob("vmlinu[xz]-*"))
        if not images:
            raise RtscopeError(f"the package {package} holds no kernel")
        config = next(iter((files / "boot").glob("config-*")), None)
        modules = files / "lib" / "modules"
        return _keep(name, f"debian:{source}", images[0], config, modules, load, board=None)


def add_file(
    file: Path,
    *,
    name: str | None,
    config: Path | None,
    modules: Path | None,
    load: list[str],
    board: str | None = None,
) -> Kernel:
    """Add a kernel from its file, by default under the file's name and for its architecture's usual
    board. Raises RtscopeError."""
    name = good_name(name or file.name)
    if modules and not modules.is_dir():
        raise RtscopeError(f"{modules} is no folder: --modules takes one that holds module files")
    if load and modules is None:
        raise RtscopeError("--load needs --modules: the folder that holds the modules' files")
    return _keep(name, str(file.absolute()), file, config, modules, load, board)


def keep_built(
    name: str,
    *,
    source: str,
    image: Path,
    config: Path,
    system_map: Path,
    modules: list[Path],
    board: str | None,
    key: str,
    patches: list[str],
    options: list[str],
    exact_options: list[str],
) -> Kernel:
    """Keep a kernel that the lab has built, with all its modules. Raises RtscopeError."""
    kernel, files = _read_kernel(name, source, image, config, board)
    files |= {f"modules/{path.name}": _read(path) for path in modules}
    kernel = msgspec.structs.replace(
        kernel, key=key, patches=patches, options=options, exact_options=exact_options
    )
    _put(kernel, files | {"System.map": _read(system_map)})
    return kernel


def put_modules(kernel: Kernel, modules: dict[str, bytes], ours: str) -> Kernel:
    """Keep modules of ours with a kernel; `ours` is the hash of what they were made from."""
    place = _kernels() / kernel.name
    kept = {
        str(path.relative_to(place)): path.read_bytes()
        for path in place.rglob("*")
        if path.is_file() and path.name != _RECORD
    }
    kernel = msgspec.structs.replace(kernel, ours=ours)
    _put(kernel, kept | {f"modules/{name}.ko": data for name, data in modules.items()})
    return kernel


def _kernels() -> Path:
    return cache_directory() / "kernels"


def good_name(name: str) -> str:
    """`name`, which can name a kernel. Raises RtscopeError where it cannot."""
    if not _NAME.fullmatch(name):
        raise RtscopeError(
            f"'{name}' cannot name a kernel: letters, digits and . _ + - can; --name gives another"
        )
    return name


@contextmanager
def _fresh() -> Iterator[Path]:
    """A folder in the cache that is gone afterwards."""
    try:
        with work_folder(_kernels(), ".adding-") as directory:
            yield directory
    except OSError as error:
        raise RtscopeError(
            f"{error.filename or _kernels()} cannot be used: {error.strerror}; no kernel was added"
        ) from None


def _keep(
    name: str,
    source: str,
    image: Path,
    config: Path | None,
    modules: Path | None,
    load: list[str],
    board: str | None,
) -> Kernel:
    if modules and any(modules.rglob(f"{_FIRMWARE_MODULE}.ko*")):
        load = [*load, _FIRMWARE_MODULE]
    needed = wanted_modules(modules, load) if modules and load else {}
    kernel, files = _read_kernel(name, source, image, config, board)
    files |= {f"modules/{module}.ko": data for module, data in needed.items()}
    kernel = msgspec.structs.replace(kernel, modules=list(needed))
    _put(kernel, files)
    return kernel


def _read_kernel(
    name: str, source: str, image: Path, config: Path | None, board: str | None
) -> tuple[Kernel, dict[str, bytes]]:
    """What is known of a kernel from its own files, and those that are kept of it, by name."""
    found = read_kernel(_read(image), str(image))
    find_board(board, found.arch)
    settings = _read_config(config) if config else None
    kernel = Kernel(
        name=name,
        arch=found.arch,
        release=found.release,
        source=source,
        sha256=hashlib.sha256(found.data).hexdigest(),
        config_sha256=hashlib.sha256(settings).hexdigest() if settings else None,
        board=board,
    )
    return kernel, {"kernel": found.data} | ({"config": settings} if settings else {})


def _put(kernel: Kernel, files: dict[str, bytes]) -> None:
    """Put a kernel into the cache whole or not at all, in place of one of the same name."""
    with _fresh() as directory:
        new = directory / kernel.name
        (new / "modules").mkdir(parents=True)
        for name, data in files.items():
            (new / name).write_bytes(data)
        (new / _RECORD).write_bytes(msgspec.json.format(msgspec.json.encode(kernel)))
        place = _kernels() / kernel.name
        if place.exists():
            place.rename(directory / "before")
        new.rename(place)
        shutil.rmtree(directory / "before", ignore_errors=True)


def _read_config(path: Path) -> bytes:
    data = _read(path)
    try:
        is_config = bool(_SETTING.search(data.decode()))
    except UnicodeDecodeError:
        is_config = False
    if not is_config:
        raise RtscopeError(
            f"{path} is no kernel's configuration: give the .config that the kernel was built with"
        )
    return data


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise RtscopeError(f"{path} cannot be read: {error.strerror}") from None
