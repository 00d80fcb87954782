# SPDX-License-Identifier: GPL-2.0-only
"""A stored kernel as one block of bytes, for another computer that knows it by its content."""

import hashlib
import io
import tarfile
from pathlib import Path

import msgspec

from rtscope.lab.kernels import Kernel, find_kernel, kernel_folder, store_kernel
from rtscope.model.errors import RtscopeError


class Parcel(msgspec.Struct, frozen=True):
    """A kernel's name and the hash of all its files, the record with its options among them."""

    name: str
    content: str


def parcel_of(kernel: Kernel) -> Parcel:
    """Name a stored kernel by its content."""
    total = hashlib.sha256()
    for name, data in _files(kernel).items():
        total.update(f"{name} {len(data)}\n".encode() + data)
    return Parcel(kernel.name, total.hexdigest())


def pack(kernel: Kernel) -> bytes:
    """All files of a stored kernel; the same kernel gives the same bytes."""
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w") as archive:
        for name, data in _files(kernel).items():
            entry = tarfile.TarInfo(name)
            entry.size = len(data)
            archive.addfile(entry, io.BytesIO(data))
    return packed.getvalue()


def unpack(parcel: Parcel, packed: bytes) -> None:
    """Store the kernel here, unless it is there already.

    Raises RtscopeError where another kernel has its name, or the content is not the parcel's.
    """
    if _is_here(parcel):
        return
    files = {}
    with tarfile.open(fileobj=io.BytesIO(packed)) as archive:
        for entry in archive:
            content = archive.extractfile(entry)
            files[entry.name] = content.read() if content else b""
    store_kernel(parcel.name, files)
    if not _is_here(parcel):
        raise RtscopeError(f"the kernel {parcel.name} arrived damaged: measure again")


def _is_here(parcel: Parcel) -> bool:
    if not kernel_folder(parcel.name).exists():
        return False
    if parcel_of(find_kernel(parcel.name)) != parcel:
        raise RtscopeError(
            f"another kernel has the name {parcel.name} here: remove it by `rtscope lab kernel "
            f"remove {parcel.name}`, or give one of both another name"
        )
    return True


def _files(kernel: Kernel) -> dict[str, bytes]:
    folder: Path = kernel_folder(kernel.name)
    paths = sorted(path for path in folder.rglob("*") if path.is_file())
    return {str(path.relative_to(folder)): path.read_bytes() for path in paths}
