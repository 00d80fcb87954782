# SPDX-License-Identifier: GPL-2.0-only
"""The changes of a patch, file by file: git's formats and plain unified diffs, compressed or
not. The library unidiff parses. A patch is untrusted: it is only counted, no path in it is
opened, and its size is bounded before it is parsed.
"""

import bz2
import gzip
import lzma
import re
import zlib
from io import BufferedIOBase, BufferedReader
from typing import Final, Literal

import msgspec
from unidiff.errors import UnidiffParseError
from unidiff.patch import PatchedFile, PatchSet

from rtscope.model.errors import RtscopeError

Kind = Literal["changed", "new", "deleted", "renamed"]

_MOST_BYTES: Final = 64 << 20
_MOST_FILES: Final = 200_000
_LONGEST_PATH: Final = 4096
_NOWHERE: Final = "/dev/null"
_BEGINNING: Final = re.compile(r"19(?:70-01-01|69-12-31) ")
"""the date that diff -N gives a file that does not exist, in any time zone"""
_MERGE: Final = re.compile(rb"^diff --(?:cc|combined) ", re.MULTILINE)
_SIGNATURE: Final = re.compile(r"(?<=\n-- \n)([^\n]*\n)\n+\Z")
"""the end of git's patches, with blank lines that unidiff 0.7 (Debian 13) refuses"""
_QUOTED: Final = re.compile(
    r'^(?:--- |\+\+\+ |(?:rename|copy) (?:from|to) |diff --git (?=.*"))[^\n]*"', re.MULTILINE
)
"""lines whose paths may be quoted as in C"""
_NAME: Final = re.compile(r'"((?:[^"\\\n]|\\.)*)"')
_ESCAPED: Final = re.compile(r"\\([0-3][0-7]{2}|.)")
_LETTERS: Final = dict(zip("abfnrtv", "\a\b\f\n\r\t\v", strict=True))
_BINARY: Final = ("GIT binary patch\n", "Binary files ")


class FileChange(msgspec.Struct, frozen=True):
    """The change of one file."""

    path: str
    """the new path of a renamed file"""
    kind: Kind
    added: int
    """lines"""
    removed: int
    """lines"""
    bytes: int
    """bytes of headers and hunks; a binary change counts its headers only"""
    binary: bool = False


class Patch(msgspec.Struct, frozen=True):
    """A patch file."""

    changes: list[FileChange]
    """in order; a file that is changed twice appears twice"""
    bytes: int
    """uncompressed, with descriptions"""


def read_patch(stream: BufferedReader, name: str, strip: int = 1) -> Patch:
    """Read a patch, plain or compressed with gzip, bzip2 or xz. `strip` leading parts of each
    path are removed, as by patch -p. `name` is used in the RtscopeError.
    """
    try:
        data = _unpacked(stream).read(_MOST_BYTES + 1)
    except (OSError, EOFError, zlib.error, lzma.LZMAError) as error:
        raise RtscopeError(f"{name} cannot be read: {error}") from None
    if len(data) > _MOST_BYTES:
        raise RtscopeError(f"{name} unpacks to more than {_MOST_BYTES >> 20} MiB")
    if _MERGE.search(data):
        raise RtscopeError(f"{name} is the diff of a merge: give a diff against one of its parents")
    try:
        text = _SIGNATURE.sub(r"\1", _QUOTED.sub(_unquoted, data.decode("latin-1")))
        files = [file for file in PatchSet(text) if file or file.patch_info]
    except UnidiffParseError as error:
        raise RtscopeError(f"{name} is not a unified diff: {str(error).strip()}") from None
    if not files:
        raise RtscopeError(f"{name} changes no file: it is not a unified diff")
    if len(files) > _MOST_FILES:
        raise RtscopeError(f"{name} changes more than {_MOST_FILES:,} files")
    return Patch([_change(file, name, strip) for file in files], len(data))


def _unpacked(stream: BufferedReader) -> BufferedIOBase:
    start = stream.peek(6)
    if start.startswith(b"\x1f\x8b"):
        return gzip.open(stream)
    if start.startswith(b"BZh"):
        return bz2.open(stream)
    if start.startswith(b"\xfd7zXZ\0"):
        return lzma.open(stream)
    return stream


def _unquoted(line: re.Match[str]) -> str:
    """Remove the quotes of git's paths; a name that then spans lines keeps them."""
    plain = _NAME.sub(lambda name: _ESCAPED.sub(_letter, name[1]), line[0])
    return line[0] if "\n" in plain else plain


def _letter(escaped: re.Match[str]) -> str:
    code = escaped[1]
    return chr(int(code, 8)) if len(code) == 3 else _LETTERS.get(code, code)


def _change(file: PatchedFile, name: str, strip: int) -> FileChange:
    is_deleted = file.target_file == _NOWHERE or _BEGINNING.match(file.target_timestamp or "")
    path = file.source_file if file.target_file == _NOWHERE else file.target_file
    if len(path) > _LONGEST_PATH:
        raise RtscopeError(f"{name} has a path longer than {_LONGEST_PATH} characters")
    header = list(file.patch_info or ())
    kind: Kind = "changed"
    if file.source_file == _NOWHERE or _BEGINNING.match(file.source_timestamp or ""):
        kind = "new"
    elif is_deleted:
        kind = "deleted"
    elif any(line.startswith("rename from ") for line in header):
        kind = "renamed"
    elif any(line.startswith("copy from ") for line in header):
        kind = "new"
    return FileChange(
        path.split("/", strip)[-1].encode("latin-1").decode(errors="replace"),
        kind,
        file.added,
        file.removed,
        len(str(file)),
        binary=file.is_binary_file or any(line.startswith(_BINARY) for line in header),
    )
