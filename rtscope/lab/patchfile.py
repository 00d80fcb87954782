# SPDX-License-Identifier: GPL-2.0-only
"""What a patch changes, file by file: git's formats and plain unified diffs, packed or not.

A patch may come from anybody: it is read line by line and only counted, no path in it is opened,
and its lines, its files and what it unpacks to are bounded.
"""

import bz2
import gzip
import lzma
import re
import zlib
from collections.abc import Iterator
from io import BufferedIOBase, BufferedReader
from typing import Final, Literal

import msgspec

from rtscope.model.errors import RtscopeError

Kind = Literal["changed", "new", "deleted", "renamed"]

_MOST_BYTES: Final = 256 << 20
_MOST_FILES: Final = 200_000
_LONGEST_LINE: Final = 1 << 16
_LONGEST_PATH: Final = 4096
_NOWHERE: Final = b"/dev/null"
_BEGINNING: Final = re.compile(rb"19(?:70-01-01|69-12-31) ")
_HUNK: Final = re.compile(rb"@@ -\d{1,9}(?:,(\d{1,9}))? \+\d{1,9}(?:,(\d{1,9}))? @@")
_HEADER: Final = re.compile(
    rb"(index |old mode |new mode |new file mode |deleted file mode |similarity index "
    rb"|dissimilarity index |rename from |rename to |copy from |copy to |GIT binary patch"
    rb"|Binary files )([^\r\n]*)"
)
_PACKED: Final = re.compile(rb"(?:literal|delta) \d+$|[A-Za-z][!-~]{5,65}$|$")
"""a line of git's binary patches"""
_QUOTED: Final = re.compile(rb'"((?:[^"\\]|\\.)*)"')
_ESCAPED: Final = re.compile(rb"\\([0-3][0-7]{2}|.)")
_LETTERS: Final = dict(zip(b"abfnrtv", b"\a\b\f\n\r\t\v", strict=True))


class FileChange(msgspec.Struct, frozen=True):
    """What becomes of one file."""

    path: str
    """the new one where it is renamed"""
    kind: Kind
    added: int
    """lines"""
    removed: int
    """lines"""
    bytes: int
    """of headers and hunks"""
    binary: bool = False


class Patch(msgspec.Struct, frozen=True):
    """A patch file."""

    changes: list[FileChange]
    """in its order; a file that is changed twice is there twice"""
    bytes: int
    """unpacked, with whatever it says besides"""


def read_patch(stream: BufferedReader, name: str, strip: int = 1) -> Patch:
    """Read a patch that is packed by gzip, bzip2 or xz, or not at all.

    `strip` parts are taken from the front of each path, as patch -p does. `name` is for the
    sentence of the RtscopeError.
    """
    try:
        return _Reader(_unpacked(stream), name, strip).read()
    except (OSError, EOFError, zlib.error, lzma.LZMAError) as error:
        raise RtscopeError(f"{name} cannot be read: {error}") from None
    except MemoryError:
        raise RtscopeError(f"{name} needs more memory to be unpacked than there is") from None


def _unpacked(stream: BufferedReader) -> BufferedIOBase:
    start = stream.peek(6)
    if start.startswith(b"\x1f\x8b"):
        return gzip.open(stream)
    if start.startswith(b"BZh"):
        return bz2.open(stream)
    if start.startswith(b"\xfd7zXZ\0"):
        return lzma.open(stream)
    return stream


class _Section:
    """What has been read of one file's change."""

    def __init__(self, path: bytes, size: int, *, is_git: bool = False) -> None:
        self.path = path
        self.kind: Kind = "changed"
        self.binary = False
        self.is_git = is_git
        self.has_names = False
        """lines --- and +++, and hunks after them"""
        self.added = self.removed = 0
        self.bytes = size

    def change(self) -> FileChange:
        path = self.path.decode(errors="replace")
        return FileChange(path, self.kind, self.added, self.removed, self.bytes, self.binary)


class _Reader:
    """Goes through a patch once, line by line."""

    def __init__(self, stream: BufferedIOBase, name: str, strip: int) -> None:
        self._name = name
        self._strip = strip
        self._lines = self._read_lines(stream)
        self._line = 0
        self._bytes = 0
        self._sections: list[_Section] = []
        self._section: _Section | None = None
        """None between two files, where anything may stand"""
        self._names: list[tuple[bytes, int]] = []
        """--- and +++ right before this line, with their sizes"""

    def read(self) -> Patch:
        """The whole patch."""
        for line, size in self._lines:
            self._between_hunks(line, size)
        if not self._sections:
            raise RtscopeError(f"{self._name} changes no file: it is no unified diff")
        return Patch([section.change() for section in self._sections], self._bytes)

    def _read_lines(self, stream: BufferedIOBase) -> Iterator[tuple[bytes, int]]:
        """Each line and its size in bytes; only the beginning of a very long one is there."""
        while line := stream.readline(_LONGEST_LINE):
            size = len(line)
            piece = line
            while size >= _LONGEST_LINE and piece and piece[-1:] != b"\n":
                piece = stream.readline(_LONGEST_LINE)
                size += len(piece)
                self._check(self._bytes + size)
            self._line += 1
            self._bytes += size
            self._check(self._bytes)
            yield line, size

    def _check(self, size: int) -> None:
        if size > _MOST_BYTES:
            raise RtscopeError(f"{self._name} unpacks to more than {_MOST_BYTES >> 20} MiB")

    def _between_hunks(self, line: bytes, size: int) -> None:
        names, self._names = self._names, []
        if line.startswith(b"diff --git "):
            path = self._stripped(_second_half(line[11:]), self._strip)
            self._begin(_Section(path, size, is_git=True))
        elif line.startswith((b"diff --cc ", b"diff --combined ")):
            raise self._error("is of a merge: give a diff against one of its parents")
        elif line.startswith(b"--- ") or (line.startswith(b"+++ ") and len(names) == 1):
            self._names = [*names[:1], (line, size)] if line[:1] == b"+" else [(line, size)]
        elif hunk := _HUNK.match(line):
            section = self._named(names) if len(names) == 2 else self._section
            if not (section and section.has_names):
                raise self._error("begins a hunk without --- and +++ to tell of which file")
            section.bytes += size
            old, new = hunk.groups()
            self._hunk_lines(section, int(old or 1), int(new or 1))
        elif self._section and self._belongs(self._section, line):
            self._section.bytes += size
        else:
            self._section = None

    def _begin(self, section: _Section) -> None:
        if len(self._sections) == _MOST_FILES:
            raise RtscopeError(f"{self._name} changes more than {_MOST_FILES:,} files")
        self._section = section
        self._sections.append(section)

    def _named(self, names: list[tuple[bytes, int]]) -> _Section:
        """The file that the lines --- and +++ are of; they begin it where git's line did not."""
        if not (self._section and self._section.is_git and not self._section.has_names):
            self._begin(_Section(b"", 0))
        section = self._sections[-1]
        old, new = (line[4:].partition(b"\t") for line, _ in names)
        old_path, new_path = _unquoted(old[0]), _unquoted(new[0])
        # diff -N dates what is not there to the beginning of time, in any zone.
        if old_path == _NOWHERE or _BEGINNING.match(old[2]):
            section.kind = "new"
        elif new_path == _NOWHERE or _BEGINNING.match(new[2]):
            section.kind = "deleted"
        section.has_names = True
        section.path = self._stripped(old_path if new_path == _NOWHERE else new_path, self._strip)
        section.bytes += sum(size for _, size in names)
        return section

    def _hunk_lines(self, section: _Section, old: int, new: int) -> None:
        """`old` lines of the file as it was and `new` ones as it becomes."""
        added = removed = length = 0
        while old > 0 or new > 0:
            line, size = next(self._lines, (b"", 0))
            sign = line[:1]
            if sign == b"+":
                new -= 1
                added += 1
            elif sign == b"-":
                old -= 1
                removed += 1
            elif sign in (b" ", b"\r", b"\n"):  # the blank of an empty line is often lost
                old -= 1
                new -= 1
            elif not sign:
                raise self._error("is the last, within a hunk: is the patch whole?")
            elif sign != b"\\":
                old = -1
            if old < 0 or new < 0:
                raise self._error("is not what the @@ line of its hunk announces")
            length += size
        section.added += added
        section.removed += removed
        section.bytes += length

    def _belongs(self, section: _Section, line: bytes) -> bool:
        """Whether a line is one of the file's change, and what it tells."""
        if section.has_names:
            return line.startswith(b"\\ ")
        header = _HEADER.match(line)
        if not (header and section.is_git):
            return section.binary and bool(_PACKED.match(line.rstrip()))
        match header[1]:
            case b"new file mode " | b"copy from ":
                section.kind = "new"
            case b"deleted file mode ":
                section.kind = "deleted"
            case b"rename from ":
                section.kind = "renamed"
            case b"rename to " | b"copy to ":
                section.path = self._stripped(_unquoted(header[2]), max(0, self._strip - 1))
            case b"GIT binary patch" | b"Binary files ":
                section.binary = True
        return True

    def _stripped(self, path: bytes, strip: int) -> bytes:
        if len(path) > _LONGEST_PATH:
            raise self._error("has a path that is too long")
        return path.split(b"/", strip)[-1]

    def _error(self, what: str) -> RtscopeError:
        return RtscopeError(f"{self._name}, line {self._line}, {what}")


def _second_half(names: bytes) -> bytes:
    """b/NAME of "a/NAME b/NAME", the only place of a name where a file's content stays."""
    names = names.rstrip(b"\r\n")
    half = len(names) // 2
    second = names[half + 1 :] if names[half : half + 1] == b" " else names.rpartition(b" ")[2]
    return _unquoted(second)


def _unquoted(name: bytes) -> bytes:
    """A path that may stand in quotes, as in C."""
    name = name.rstrip(b"\r\n")
    quoted = _QUOTED.match(name)
    return _ESCAPED.sub(_letter, quoted[1]) if quoted else name


def _letter(escaped: re.Match[bytes]) -> bytes:
    code = escaped[1]
    return bytes([int(code, 8) if len(code) == 3 else _LETTERS.get(code[0], code[0])])
