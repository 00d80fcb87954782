# SPDX-License-Identifier: GPL-2.0-only
"""The format of a kernel's file, and its conversion to the one that boots fastest."""

import gzip
import re
import shutil
import struct
import subprocess
import zlib
from typing import Final

import msgspec

from rtscope.model.errors import RtscopeError

_VERSION: Final = re.compile(rb"Linux version (\S+) ")
_PVH_NOTE: Final = struct.pack("<II4s", 8, 18, b"Xen\0")
"""size and type XEN_ELFNOTE_PHYS32_ENTRY of an ELF note of the owner "Xen" """

_ELF_KINDS: Final = {
    b"\2\1" + struct.pack("<H", 62): "x86_64",
    b"\2\1" + struct.pack("<H", 8): "mips64el",
    b"\2\2" + struct.pack(">H", 21): "powerpc64",
}
"""class, byte order and machine, as in the ELF header"""

_BZIMAGE_HEADER: Final = 0x268
_ELF_HEADER: Final = 64
_ELF_SEGMENT: Final = 56
_ELF_SECTION: Final = 64
_ELF_BIG_ENDIAN: Final = 2
_ELF_NOBITS: Final = 8
"""type of a section without bytes in the file"""
_PE_HEADER: Final = 24
_PE_SIGNATURE: Final = 112 + 4 * 8
"""offset in the 64-bit optional header of the signature's position"""
_PE_SECTION: Final = 40
_IMAGE_MAGIC: Final = {"aarch64": b"ARM\x64", "riscv64": b"RSC\x05"}
"""the kernel's Documentation/arch/arm64/booting.rst and riscv/boot-image-header.rst"""


class KernelFile(msgspec.Struct, frozen=True):
    """A kernel that QEMU can boot."""

    arch: str
    """x86_64, aarch64, riscv64, mips64el or powerpc64"""
    release: str
    data: bytes


def read_kernel(data: bytes, name: str) -> KernelFile:
    """Identify `data`; `name` is for the RtscopeError if it is not a kernel. An x86 bzImage is
    unpacked if QEMU can start its content (by PVH), so that the guest need not do it: that
    saves a third of its boot.
    """
    if data[:2] == b"\x1f\x8b":
        try:
            data = gzip.decompress(data)
        except (OSError, EOFError, zlib.error) as error:
            raise RtscopeError(f"{name} is a damaged gzip file: {error}") from None
    if data[:4] == b"\x7fELF":
        return _elf(data, name)
    if data[:2] == b"MZ":
        _check_length(data, _pe_end(data), name)
    if data[0x202:0x206] == b"HdrS":
        return _bzimage(data, name)
    for arch, magic in _IMAGE_MAGIC.items():
        if data[0x38:0x3C] == magic:
            return KernelFile(arch, _release(data, name), data)
    raise RtscopeError(
        f"{name} is not a kernel that the lab can boot: give an x86 bzImage or vmlinux, the Image "
        "of arm64 or riscv64, or the vmlinux of mips64el or powerpc64"
    )


def _check_length(data: bytes, end: int, name: str) -> None:
    if len(data) < end:
        raise RtscopeError(
            f"{name} is truncated: it has {len(data):,} bytes, but its headers require {end:,}; "
            "copy or build it again"
        )


def _release(data: bytes, name: str) -> str:
    found = _VERSION.search(data)
    if not found:
        raise RtscopeError(f"{name} looks like a kernel but contains no version: is it truncated?")
    return found[1].decode(errors="replace")


def _elf(data: bytes, name: str) -> KernelFile:
    arch = _ELF_KINDS.get(data[4:6] + data[18:20])
    if arch is None:
        raise RtscopeError(
            f"{name} is an ELF file but not of {' or '.join(_ELF_KINDS.values())}: for arm64 and "
            "riscv64 give the Image in arch/*/boot"
        )
    _check_length(data, _elf_end(data), name)
    if arch == "x86_64" and _PVH_NOTE not in data:
        raise RtscopeError(
            f"{name} cannot be started by QEMU: it was built without CONFIG_PVH; give the bzImage"
        )
    return KernelFile(arch, _release(data, name), data)


def _elf_end(data: bytes) -> int:
    """The end of the last part of an ELF file, in bytes, as far as its headers are present.

    Field offsets: the gABI's chapters "ELF Header", "Sections" and "Program Header", of 64 bits.
    """
    if len(data) < _ELF_HEADER:
        return _ELF_HEADER
    order = ">" if data[5] == _ELF_BIG_ENDIAN else "<"
    segments_at, sections_at = struct.unpack_from(f"{order}QQ", data, 0x20)
    segment_size, segments, section_size, sections = struct.unpack_from(f"{order}4H", data, 0x36)
    end: int = max(segments_at + segment_size * segments, sections_at + section_size * sections)
    for at in range(segments_at, segments_at + segment_size * segments, segment_size or 1):
        if at + _ELF_SEGMENT <= len(data):
            offset, size = struct.unpack_from(f"{order}Q16xQ", data, at + 8)
            end = max(end, offset + size)
    for at in range(sections_at, sections_at + section_size * sections, section_size or 1):
        if at + _ELF_SECTION <= len(data):
            kind, offset, size = struct.unpack_from(f"{order}I16xQQ", data, at + 4)
            end = max(end, offset + size if kind != _ELF_NOBITS else 0)
    return end


def _pe_end(data: bytes) -> int:
    """The end of the last part of a kernel with an EFI header, in bytes; 0 without one. Parts
    are sections and, at the end, the signature. The header of arm64 and riscv64 that every
    boot loader reads has no such length: its image_size includes memory that is not in the
    file. Field offsets: Microsoft's "PE Format".
    """
    (at,) = struct.unpack_from("<I", data, 0x3C) if len(data) >= _ELF_HEADER else (0,)
    if data[at : at + 4] != b"PE\0\0" or len(data) < at + _PE_HEADER + _PE_SIGNATURE + 8:
        return 0
    (sections,) = struct.unpack_from("<H", data, at + 6)
    (options,) = struct.unpack_from("<H", data, at + 20)
    end: int = sum(struct.unpack_from("<II", data, at + _PE_HEADER + _PE_SIGNATURE))
    first = at + _PE_HEADER + options
    for section in range(first, first + _PE_SECTION * sections, _PE_SECTION):
        if section + _PE_SECTION <= len(data):
            end = max(end, sum(struct.unpack_from("<II", data, section + 16)))
    return end


def _bzimage(data: bytes, name: str) -> KernelFile:
    """Header fields: the kernel's Documentation/arch/x86/boot.rst."""
    damaged = RtscopeError(f"{name} looks like a bzImage but is damaged: fetch or build it again")
    if len(data) < _BZIMAGE_HEADER:
        raise damaged
    (version_at,) = struct.unpack_from("<H", data, 0x20E)
    version = data[version_at + 0x200 : version_at + 0x300].split(b"\0")[0].split(b" ")[0]
    offset, length = struct.unpack_from("<II", data, 0x248)
    (paragraphs,) = struct.unpack_from("<I", data, 0x1F4)
    protected_mode = ((data[0x1F1] or 4) + 1) * 512
    start = protected_mode + offset
    _check_length(data, max(protected_mode + 16 * paragraphs, start + length), name)
    if not version:
        raise damaged
    inside = _unpacked(data[start : start + length])
    if inside is not None:
        # The build appends the size of the content.
        if struct.pack("<I", len(inside)) != data[start + length - 4 : start + length]:
            raise damaged
        if inside[:4] == b"\x7fELF" and _PVH_NOTE in inside:
            data = inside
    return KernelFile("x86_64", version.decode(errors="replace"), data)


def _unpacked(payload: bytes) -> bytes | None:
    """None if the tool for it is not installed; the bzImage itself boots too."""
    tools = {b"\x28\xb5\x2f\xfd": "zstd", b"\xfd7zX": "xz"}
    for magic, tool in tools.items():
        if payload.startswith(magic) and shutil.which(tool):
            command = [tool, "-dc"]
            return subprocess.run(
                command, input=payload[:-4], capture_output=True, check=False
            ).stdout
    return None
