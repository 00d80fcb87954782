# SPDX-License-Identifier: GPL-2.0-only
"""A reproducible initramfs: a cpio archive, "newc"."""

import stat
from collections.abc import Collection, Mapping
from pathlib import PurePosixPath

_TRAILER = "TRAILER!!!"
_ALIGNMENT = 512


def initramfs(files: Mapping[str, bytes], executables: Collection[str] = ("init",)) -> bytes:
    """The archive of `files` by path, their parent directories and /dev/console. Names are
    sorted, times and owners are 0, so that equal files give equal bytes. All files are
    read-only; `executables` have execute permission. Format: the kernel's
    Documentation/driver-api/early-userspace/buffer-format.rst.
    """
    directories = {str(parent) for path in [*files, "dev/console"] for parent in _above(path)}
    entries = dict.fromkeys(directories, (stat.S_IFDIR | 493, b"", (0, 0)))
    entries |= {
        path: (stat.S_IFREG | (0o755 if path in executables else 0o444), data, (0, 0))
        for path, data in files.items()
    }
    entries["dev/console"] = (stat.S_IFCHR | 0o600, b"", (5, 1))
    archive = bytearray()
    for number, (name, (mode, data, device)) in enumerate(sorted(entries.items()), 1):
        archive += _entry(number, name, mode, data, device)
    archive += _entry(0, _TRAILER, 0, b"", (0, 0))
    return bytes(archive) + bytes(-len(archive) % _ALIGNMENT)


def _above(path: str) -> list[PurePosixPath]:
    return [parent for parent in PurePosixPath(path).parents if str(parent) != "."]


def _entry(number: int, name: str, mode: int, data: bytes, device: tuple[int, int]) -> bytes:
    encoded = name.encode() + b"\0"
    links = 2 if stat.S_ISDIR(mode) else 1
    fields = (number, mode, 0, 0, links, 0, len(data), 0, 0, *device, len(encoded), 0)
    head = b"070701" + b"".join(b"%08X" % field for field in fields) + encoded
    return _padded(head) + _padded(data)


def _padded(data: bytes) -> bytes:
    return data + bytes(-len(data) % 4)
