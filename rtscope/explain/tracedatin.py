# SPDX-License-Identifier: GPL-2.0-only
"""Read trace-cmd's trace.dat, versions 6 and 7 (trace-cmd.dat.v6(5), trace-cmd.dat.v7(5)).

The file is not trusted: each length is checked against the file's end.
"""

import re
import zlib
from typing import Final

import msgspec

from rtscope.explain.recorded import packed
from rtscope.explain.tracedat import MAGIC
from rtscope.model.errors import RtscopeError
from rtscope.model.recording import CpuPages, EventFormat, RecordedWindow, Recording

_MOST_CPUS: Final = 8192
_MOST_EVENTS: Final = 65_536
_MOST_CHUNK: Final = 1 << 28
_ZSTD: Final = b"\x28\xb5\x2f\xfd"
_CONVERT: Final = "To convert it: trace-cmd convert --file-version 6 -i trace.dat -o trace6.dat"
_NAME: Final = re.compile(r"^name: (\S{1,200})$", re.MULTILINE)
_PAGE_FIELD: Final = re.compile(r"field:[^;]*\b(commit|data);\s*offset:(\d+);\s*size:(\d+);")
_DONE, _BUFFER, _CLOCK = 0, 3, 4
"""options"""
_CLOCK_USED: Final = re.compile(rb"\[([\w-]{1,40})\]")


class _Reader:
    """Reads numbers and texts, and never beyond the end."""

    def __init__(self, data: bytes, at: int, order: str) -> None:
        self.data, self.at, self.order = data, at, order

    def take(self, size: int) -> bytes:
        if size < 0 or self.at + size > len(self.data):
            raise RtscopeError(
                f"this trace.dat is cut: it ends at byte {len(self.data)} in the middle of a record"
            )
        self.at += size
        return self.data[self.at - size : self.at]

    def number(self, size: int) -> int:
        return int.from_bytes(self.take(size), "little" if self.order == "<" else "big")

    def text(self) -> str:
        end = self.data.find(b"\0", self.at, self.at + 4096)
        found = self.take(end - self.at + 1 if end >= 0 else len(self.data))
        return found[:-1].decode(errors="replace")

    def expect(self, text: bytes) -> None:
        if self.take(len(text)) != text:
            raise RtscopeError(f"this is no trace.dat that rtscope can read: no {text!r} in it")


class _Found(msgspec.Struct):
    page_text: str = ""
    events: list[EventFormat] = []
    clock: str = "local"
    cpus: list[tuple[int, int, int]] = []
    """CPU, place and size of its data"""
    compressed: bool = False
    kallsyms: str = ""


def read_trace_dat(data: bytes) -> tuple[Recording, str]:
    """The recording of a file, as one window without a sample, and its kernel's symbols as in
    /proc/kallsyms. Raises RtscopeError.
    """
    if not data.startswith(MAGIC):
        raise RtscopeError("this is no trace.dat: it does not begin as one")
    reader = _Reader(data, len(MAGIC), "<")
    version = reader.text()
    reader.order = ">" if reader.number(1) else "<"
    reader.number(1)
    page_size = reader.number(4)
    found = _Found()
    if version == "6":
        _read_6(reader, found)
    elif version == "7":
        _read_7(reader, found)
    else:
        raise RtscopeError(
            f"this trace.dat has version {version[:20]}; rtscope reads 6 and 7. {_CONVERT}"
        )
    fields = {name: (int(at), int(size)) for name, at, size in _PAGE_FIELD.findall(found.page_text)}
    commit_size = fields.get("commit", (8, 8))[1]
    if commit_size not in {4, 8} or not 1024 <= page_size <= 2**20:
        raise RtscopeError("this trace.dat has a format of pages that rtscope does not know")
    parts = [_part(reader, found, place, page_size) for place in found.cpus]
    recording = Recording(
        clock=found.clock,
        page_size=page_size,
        commit_size=4 if commit_size == 4 else 8,
        little_endian=reader.order == "<",
        events=found.events,
        windows=[RecordedWindow(0, 0, -1, -1, [part for part in parts if part.pages])],
    )
    return recording, found.kallsyms


def _part(reader: _Reader, found: _Found, place: tuple[int, int, int], page_size: int) -> CpuPages:
    cpu, at, size = place
    reader.at = at
    if not found.compressed:
        data = reader.take(size)
        return packed(cpu, data[: len(data) - len(data) % page_size])
    pages = b""
    for _ in range(reader.number(4) if size else 0):
        pages += _chunk(reader)
    return packed(cpu, pages[: len(pages) - len(pages) % page_size])


def _chunk(reader: _Reader) -> bytes:
    """A compressed chunk: its size, the size of its content, and zlib's or zstd's bytes."""
    size, content = reader.number(4), reader.number(4)
    data = reader.take(size)
    if content > _MOST_CHUNK:
        raise RtscopeError(f"this trace.dat is damaged: it has a chunk of {content} bytes")
    if data.startswith(_ZSTD):
        unpacked = _of_zstd(data, content)
    else:
        try:
            unpacked = zlib.decompressobj().decompress(data, content + 1)
        except zlib.error as error:
            raise RtscopeError(f"this trace.dat cannot be unpacked: {error}. {_CONVERT}") from None
    if len(unpacked) != content:
        raise RtscopeError("this trace.dat is damaged: a compressed chunk has another length")
    return unpacked


def _of_zstd(data: bytes, size: int) -> bytes:
    try:
        import zstandard
    except ImportError:
        raise RtscopeError(
            "this trace.dat is compressed with zstd, and the Python package zstandard is missing: "
            f"pip install 'rtscope[traces]'. {_CONVERT}"
        ) from None
    try:
        return zstandard.ZstdDecompressor().decompress(data, max_output_size=size)
    except zstandard.ZstdError as error:
        raise RtscopeError(f"this trace.dat cannot be unpacked: {error}. {_CONVERT}") from None


def _read_header(reader: _Reader, found: _Found) -> None:
    reader.expect(b"header_page\0")
    found.page_text = reader.take(reader.number(8)).decode(errors="replace")
    reader.expect(b"header_event\0")
    reader.take(reader.number(8))


def _read_events(reader: _Reader, found: _Found) -> None:
    for _ in range(_limited(reader.number(4), _MOST_EVENTS)):
        system = reader.text()
        for _ in range(_limited(reader.number(4), _MOST_EVENTS)):
            text = reader.take(reader.number(8)).decode(errors="replace")
            if name := _NAME.search(text):
                found.events.append(EventFormat(f"{system}/{name[1]}", text))


def _read_6(reader: _Reader, found: _Found) -> None:
    _read_header(reader, found)
    for _ in range(_limited(reader.number(4), _MOST_EVENTS)):
        reader.take(reader.number(8))
    _read_events(reader, found)
    found.kallsyms = reader.take(reader.number(4)).decode(errors="replace")
    reader.take(reader.number(4))
    reader.take(reader.number(8))
    count = _limited(reader.number(4), _MOST_CPUS)
    kind = reader.take(10)
    if kind == b"options  \0":
        while option := reader.number(2):
            content = reader.take(reader.number(4))
            if option == _CLOCK and (clock := _CLOCK_USED.search(content)):
                found.clock = clock[1].decode()
        kind = reader.take(10)
    if kind != b"flyrecord\0":
        raise RtscopeError("this trace.dat holds text or is a stream: record it with trace-cmd")
    found.cpus = [(cpu, reader.number(8), reader.number(8)) for cpu in range(count)]


def _read_7(reader: _Reader, found: _Found) -> None:
    reader.text()  # the compression and its version
    reader.text()
    at, seen = reader.number(8), set[int]()
    while at and at not in seen:
        seen.add(at)
        reader.at = at
        at = _options(_section(reader)[0], reader, found)


def _section(reader: _Reader) -> tuple[_Reader, int]:
    """The content of a section of version 7, and its number."""
    number, flags = reader.number(2), reader.number(2)
    reader.number(4)  # offset of its description
    size = reader.number(8)
    if flags & 1:
        return _Reader(_chunk(reader), 0, reader.order), number
    return _Reader(reader.take(size), 0, reader.order), number


def _options(section: _Reader, reader: _Reader, found: _Found) -> int:
    """Read a section of options; return the place of the next one, 0: there is none."""
    while section.at + 6 <= len(section.data):
        option = section.number(2)
        content = _Reader(section.take(section.number(4)), 0, section.order)
        if option == _DONE:
            return content.number(8) if len(content.data) >= 8 else 0
        if option == _CLOCK and (clock := _CLOCK_USED.search(content.data)):
            found.clock = clock[1].decode()
        elif option in _READERS:
            reader.at = content.number(8)
            _READERS[option](_section(reader)[0], found)
        elif option == _BUFFER and not found.cpus:
            _buffer(content, reader, found)
    return 0


def _read_kallsyms(section: _Reader, found: _Found) -> None:
    found.kallsyms = section.take(section.number(4)).decode(errors="replace")


_READERS: Final = {16: _read_header, 18: _read_events, 19: _read_kallsyms}
"""by the option of version 7 that says where a section is"""


def _buffer(content: _Reader, reader: _Reader, found: _Found) -> None:
    """The places of the CPUs' data of the first buffer."""
    reader.at = content.number(8) + 2
    found.compressed = bool(reader.number(2) & 1)
    content.text()  # name
    content.text()  # clock
    content.number(4)  # page size
    for _ in range(_limited(content.number(4), _MOST_CPUS)):
        found.cpus.append((content.number(4), content.number(8), content.number(8)))


def _limited(count: int, most: int) -> int:
    if count > most:
        raise RtscopeError(f"this trace.dat is damaged: it has {count} of what can be {most}")
    return count
