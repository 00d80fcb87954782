# SPDX-License-Identifier: GPL-2.0-only
"""The lab's kernels: named, and stored unpacked under $XDG_CACHE_HOME/rtscope/kernels."""

import hashlib
import re
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from types import MappingProxyType
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
_FILE: Final = re.compile(r"(?:modules/)?[\w+-][\w.+-]*")
_FIRMWARE_MODULE: Final = "qemu_fw_cfg"


class Kernel(msgspec.Struct, frozen=True):
    """A stored kernel."""

    name: str
    arch: str
    release: str
    source: str
    """its origin, in words"""
    sha256: str
    """of the booted file"""
    config_sha256: str | None = None
    board: str | None = None
    """board that it was built for; None for the default of its architecture"""
    modules: list[str] = []
    """modules loaded at boot, in this order"""
    ours: str | None = None
    """the hash of the sources of rtscope's modules for it; None without them, or if the lab
    built the kernel
    """
    key: str | None = None
    """hash of all inputs, if the lab built it"""
    patches: list[str] = []
    """the applied patch series, each with its hash"""
    options: list[str] = []
    """kernel parameters in every mode"""
    exact_options: list[str] = []
    """kernel parameters in exact mode"""


def cache_directory() -> Path:
    """The cache, whose content the lab can make again."""
    return platformdirs.user_cache_path("rtscope")


def kernel_folder(name: str) -> Path:
    """The folder of a stored kernel's files. Raises RtscopeError for a name that cannot be."""
    return _kernels() / good_name(name)


def kernel_file(kernel: Kernel) -> Path:
    """The file that QEMU boots."""
    return _kernels() / kernel.name / "kernel"


def is_whole(kernel: Kernel) -> bool:
    """Whether the file that QEMU boots is unchanged since it was stored."""
    try:
        with kernel_file(kernel).open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest() == kernel.sha256
    except OSError:
        return False


def check_whole(kernel: Kernel) -> None:
    """Refuse a kernel whose file has changed since it was stored: its runs would record a wrong
    kernel. Raises RtscopeError.
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
    """Its configuration; None if unknown."""
    path = _kernels() / kernel.name / "config"
    return path.read_bytes() if path.exists() else None


def takes_snapshots(kernel: Kernel) -> bool:
    """Whether it can read the arguments of a restored VM, from QEMU's firmware configuration."""
    built_in = b"CONFIG_FW_CFG_SYSFS=y\n" in (kernel_config(kernel) or b"")
    return built_in or _FIRMWARE_MODULE in kernel.modules


def kernel_system_map(kernel: Kernel) -> str:
    """Its System.map; empty if there is none."""
    path = _kernels() / kernel.name / "System.map"
    return path.read_text(errors="replace") if path.exists() else ""


def kernel_modules(
    kernel: Kernel, *wanted: str, own: Mapping[str, bytes] = MappingProxyType({})
) -> dict[str, bytes]:
    """The modules that it loads at boot, by name, in order; `wanted`, which may be among the
    user's `own`, and their dependencies come last. Raises RtscopeError if a module is missing.
    """
    folder = _kernels() / kernel.name / "modules"
    modules = {name: (folder / f"{name}.ko").read_bytes() for name in kernel.modules}
    return modules | wanted_modules(folder, list(wanted), own)


def has_module(kernel: Kernel, name: str) -> bool:
    """Whether it has a loadable module of that name."""
    return (_kernels() / kernel.name / "modules" / f"{name}.ko").exists()


def list_kernels() -> list[Kernel]:
    """The kernels that have been added, by name."""
    found = []
    for path in sorted(_kernels().glob(f"[!.]*/{_RECORD}")):
        try:
            found.append(msgspec.json.decode(path.read_bytes(), type=Kernel))
        except (OSError, msgspec.MsgspecError):
            continue  # stored by another version of rtscope: adding it again completes it
    return found


def find_kernel(name: str) -> Kernel:
    """The kernel of this name. Raises RtscopeError if there is none."""
    kernels = {kernel.name: kernel for kernel in list_kernels()}
    if name not in kernels:
        known = f"the lab has {', '.join(kernels)}" if kernels else "the lab has none yet"
        if name in recipes().kernels:
            raise RtscopeError(
                f"the kernel '{name}' has not been built yet: run `rtscope lab kernel build "
                f"{name}` (some minutes)"
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
            raise RtscopeError(f"the package {package} contains no kernel")
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
    """Add a kernel from its file, by default under the file's name and for its architecture's
    default board. Raises RtscopeError.
    """
    name = good_name(name or file.name)
    if modules and not modules.is_dir():
        raise RtscopeError(
            f"{modules} is not a directory: --modules takes a directory with module files"
        )
    if load and modules is None:
        raise RtscopeError("--load needs --modules: the directory with the module files")
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
    """Store a kernel that the lab has built, with all its modules. Raises RtscopeError."""
    kernel, files = _read_kernel(name, source, image, config, board)
    files |= {f"modules/{path.name}": _read(path) for path in modules}
    kernel = msgspec.structs.replace(
        kernel, key=key, patches=patches, options=options, exact_options=exact_options
    )
    _put(kernel, files | {"System.map": _read(system_map)})
    return kernel


def put_modules(kernel: Kernel, modules: dict[str, bytes], ours: str) -> Kernel:
    """Store rtscope's modules with a kernel; `ours` is the hash of their sources."""
    place = _kernels() / kernel.name
    kept = {
        str(path.relative_to(place)): path.read_bytes()
        for path in place.rglob("*")
        if path.is_file() and path.name != _RECORD
    }
    kernel = msgspec.structs.replace(kernel, ours=ours)
    _put(kernel, kept | {f"modules/{name}.ko": data for name, data in modules.items()})
    return kernel


def remove_kernel(name: str) -> None:
    """Remove a stored kernel, if there is one of this name."""
    shutil.rmtree(_kernels() / good_name(name), ignore_errors=True)


def _kernels() -> Path:
    return cache_directory() / "kernels"


def good_name(name: str) -> str:
    """Check the name of a kernel. Raises RtscopeError if it is invalid."""
    if not _NAME.fullmatch(name):
        raise RtscopeError(
            f"'{name}' is not a valid kernel name: use letters, digits and . _ + -; --name sets "
            "another"
        )
    return name


@contextmanager
def _fresh() -> Iterator[Path]:
    """A temporary directory in the cache."""
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
    """The properties of a kernel from its files, and the files to store, by name."""
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
    record = msgspec.json.format(msgspec.json.encode(kernel))
    store_kernel(kernel.name, files | {_RECORD: record})


def store_kernel(name: str, files: Mapping[str, bytes]) -> None:
    """Store a kernel's files, its record among them, completely or not at all, replacing a kernel
    of the same name. Raises RtscopeError.
    """
    with _fresh() as directory:
        new = directory / good_name(name)
        (new / "modules").mkdir(parents=True)
        for file, data in files.items():
            if not _FILE.fullmatch(file):
                raise RtscopeError(f"'{file[:80]}' is no file of a kernel")
            (new / file).write_bytes(data)
        place = _kernels() / name
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
        raise RtscopeError(f"{path} is not a kernel configuration: give the .config of the kernel")
    return data


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise RtscopeError(f"{path} cannot be read: {error.strerror}") from None
