# SPDX-License-Identifier: GPL-2.0-only
"""Read raw pages of the kernel's ring buffer (tracefs, per_cpu/cpuN/trace_pipe_raw).

A page begins with the time of its first event, 64 bits, and `commit`, whose lowest bits are the
number of bytes of events. An event begins with a word of 5 bits type_len and 27 bits time_delta;
type_len says how long it is. The layout is that of include/linux/ring_buffer.h and of
events/header_page. The bytes come from the system under test and are not trusted: an event that
would reach beyond its page ends the page.
"""

import functools
import re
from collections.abc import Sequence
from typing import Final

import msgspec
import numpy as np
from numpy.typing import NDArray

from rtscope.model.errors import RtscopeError

_FIELD: Final = re.compile(
    r"^\s*field:([^;\n]{1,200});\s*offset:([0-9]{1,6});\s*size:([0-9]{1,6});\s*signed:([01]);",
    re.MULTILINE,
)
_ID: Final = re.compile(r"^ID: ([0-9]{1,5})$", re.MULTILINE)
_NAME: Final = re.compile(r"(\w+)(?:\[[^\]]*\])?$")
_DATA_MAX: Final = 28
_PADDING: Final = 29
_TIME_EXTEND: Final = 30
_TIME_STAMP: Final = 31
_DELTA_BITS: Final = 27
_COMMIT: Final = (1 << 30) - 1
"""without the bits that mark lost events"""
_LONGEST_TEXT: Final = 64
_LONGEST_BITMAP: Final = 1024


class Field(msgspec.Struct, frozen=True):
    """A field of an event."""

    offset: int
    size: int
    signed: bool
    dynamic: bool
    """__data_loc: the field is the place and length of its content, 16 bits each"""


class Format(msgspec.Struct, frozen=True):
    """The layout of one kind of event, from its file `format`."""

    name: str
    """without its system: sched_switch"""
    id: int
    fields: dict[str, Field]


class Pages(msgspec.Struct, frozen=True):
    """The pages of one CPU, in the order of time."""

    cpu: int
    data: bytes


class Layout(msgspec.Struct, frozen=True):
    """The layout of pages."""

    page_size: int
    commit_size: int
    little_endian: bool = True


def format_of(name: str, text: str) -> Format:
    """Read a file `format`. Raises RtscopeError."""
    number = _ID.search(text)
    if number is None:
        raise RtscopeError(f"the format of the event {name[:80]!r} has no ID")
    fields = {
        found[1]: Field(int(offset), int(size), signed == "1", "__data_loc" in words)
        for words, offset, size, signed in _FIELD.findall(text)
        if (found := _NAME.search(words))
    }
    return Format(name.rpartition("/")[2], int(number[1]), fields)


class Events:
    """The events of several CPUs, in the order of time."""

    def __init__(self, pages: Sequence[Pages], layout: Layout, formats: Sequence[Format]) -> None:
        """Decode all pages. Raises RtscopeError if they are no whole pages."""
        self._order = "<" if layout.little_endian else ">"
        self._formats = {one.id: one for one in formats}
        data = b"".join(one.data for one in pages)
        if layout.page_size % 4 or layout.page_size < 64 or len(data) % layout.page_size:
            raise RtscopeError("the trace of the kernel is cut within a page")
        self._bytes = np.frombuffer(data + bytes(_LONGEST_TEXT), np.uint8)
        counts = [len(one.data) // layout.page_size for one in pages]
        cpus = np.repeat(np.array([one.cpu for one in pages], np.int64), counts)
        time_ns, page, at, room = _walk(data, layout, self._order)
        order = np.argsort(time_ns, kind="stable")
        self.time_ns: NDArray[np.int64] = time_ns[order]
        """in ns of the trace's clock"""
        self.cpu: NDArray[np.int64] = cpus[page[order]]
        self._at = at[order]
        self._room = room[order]
        self.id = self._number(np.arange(len(order)), Field(0, 2, signed=False, dynamic=False))

    @property
    def formats(self) -> list[Format]:
        """The kinds of events that were recorded."""
        return list(self._formats.values())

    @functools.cached_property
    def tids(self) -> NDArray[np.int64]:
        """The task that was on the CPU at each event."""
        return self._number(np.arange(len(self.id)), Field(4, 4, signed=True, dynamic=False))

    def format(self, name: str) -> Format | None:
        """Return the format of this event; None if it was not recorded."""
        return next((one for one in self._formats.values() if one.name == name), None)

    def name(self, index: int) -> str:
        """Return the name of an event; empty if it is unknown."""
        known = self._formats.get(int(self.id[index]))
        return known.name if known else ""

    def which(self, name: str) -> NDArray[np.int64]:
        """Return the indices of the events of this name."""
        known = self.format(name)
        return np.flatnonzero(self.id == known.id) if known else np.empty(0, np.int64)

    def numbers(self, name: str, field: str, which: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return a field of these events of one name; -1 if the event has no such field."""
        known = self.format(name)
        found = known.fields.get(field) if known else None
        return np.full(len(which), -1) if found is None else self._number(which, found)

    def number(self, index: int, field: str) -> int:
        """Return a field of one event; -1 if it has no such field."""
        known = self._formats.get(int(self.id[index]))
        found = known.fields.get(field) if known else None
        return -1 if found is None else int(self._number(np.array([index]), found)[0])

    def text(self, index: int, field: str) -> str:
        """Return a field of one event as text; empty if it has no such field."""
        known = self._formats.get(int(self.id[index]))
        found = known.fields.get(field) if known else None
        if found is None:
            return ""
        at, size, room = int(self._at[index]), found.size, int(self._room[index])
        offset = found.offset
        if found.dynamic:
            place = self.number(index, field)
            offset, size = place & 0xFFFF, place >> 16
        size = max(min(size, room - offset, _LONGEST_TEXT), 0)
        content = self._bytes[at + offset : at + offset + size].tobytes()
        return content.split(b"\0")[0].decode(errors="replace")

    def bits(self, index: int, field: str) -> set[int]:
        """Return the set bits of a field of one event that is a bitmap, such as a CPU mask."""
        known = self._formats.get(int(self.id[index]))
        found = known.fields.get(field) if known else None
        if found is None:
            return set()
        place = self.number(index, field)
        offset, size = (
            (place & 0xFFFF, place >> 16) if found.dynamic else (found.offset, found.size)
        )
        size = max(min(size, int(self._room[index]) - offset, _LONGEST_BITMAP), 0)
        at = int(self._at[index]) + offset
        words = self._bytes[at : at + size - size % 4]
        if self._order == ">":
            words = words.reshape(-1, 4)[:, ::-1].ravel()
        return set(np.flatnonzero(np.unpackbits(words, bitorder="little")).tolist())

    def task(self, tid: int) -> tuple[str, int]:
        """Return the name of a task as name/pid, and its priority as the kernel counts."""
        name, priority = self.tasks.get(tid, ("task", 120))
        return "idle" if tid == 0 else f"{name}/{tid}", priority

    def task_name(self, tid: int) -> str:
        """Return the name of a task as name/pid."""
        return self.task(tid)[0]

    @functools.cached_property
    def tasks(self) -> dict[int, tuple[str, int]]:
        """Name and priority of each task that a wake-up or a switch describes, by its number."""
        found: dict[int, tuple[str, int]] = {}
        for event, tid, name, priority in (
            ("sched_waking", "pid", "comm", "prio"),
            ("sched_switch", "prev_pid", "prev_comm", "prev_prio"),
            ("sched_switch", "next_pid", "next_comm", "next_prio"),
        ):
            which = self.which(event)
            tids, first = np.unique(self.numbers(event, tid, which), return_index=True)
            for number, index in zip(tids.tolist(), which[first].tolist(), strict=True):
                found[number] = self.text(index, name), self.number(index, priority)
        return found

    def _number(self, which: NDArray[np.int64], field: Field) -> NDArray[np.int64]:
        size = field.size if field.size in {1, 2, 4, 8} else 1
        inside = field.offset + size <= self._room[which]
        at = np.where(inside, self._at[which] + field.offset, 0)
        kind = f"{self._order}{'i' if field.signed else 'u'}{size}"
        raw = self._bytes[at[:, None] + np.arange(size)]
        return np.where(inside, np.ascontiguousarray(raw).view(kind)[:, 0].astype(np.int64), -1)


def _walk(
    data: bytes, layout: Layout, order: str
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """Return time, page, place and size of each event's content.

    All pages are walked in step, one event of each at a time, so that numpy decodes as many events
    at once as there are pages.
    """
    words = np.frombuffer(data, f"{order}u4").reshape(-1, layout.page_size // 4)
    pages = np.frombuffer(data, np.uint8).reshape(-1, layout.page_size)
    header = 8 + layout.commit_size
    time_ns = np.ascontiguousarray(pages[:, :8]).view(f"{order}u8")[:, 0].astype(np.int64)
    commit = np.ascontiguousarray(pages[:, 8:header]).view(f"{order}u{layout.commit_size}")[:, 0]
    used = np.minimum((commit & _COMMIT).astype(np.int64), layout.page_size - header)
    end = (header + used) // 4
    place = np.full(len(pages), header // 4)
    found: list[tuple[NDArray[np.int64], ...]] = []
    active = np.flatnonzero(place < end)
    while len(active):
        first = words[active, place[active]].astype(np.int64)
        second = words[active, np.minimum(place[active] + 1, end[active] - 1)].astype(np.int64)
        if order == "<":
            kind, delta = first & 31, first >> 5
        else:
            kind, delta = first >> _DELTA_BITS, first & ((1 << _DELTA_BITS) - 1)
        long_delta = (second << _DELTA_BITS) + delta
        now = time_ns[active]
        now = np.where(kind == _TIME_EXTEND, now + long_delta, now)
        stamp = (now & ~((1 << 59) - 1)) | long_delta
        now = np.where(kind == _TIME_STAMP, stamp, now)
        now = np.where(kind < _TIME_EXTEND, now + delta, now)
        time_ns[active] = now
        counted = (kind == 0) | (kind == _PADDING)
        size = np.where(counted, 1 + (second + 3) // 4, np.where(kind <= _DATA_MAX, 1 + kind, 2))
        ends = (kind == _PADDING) & (delta == 0)
        after = place[active] + np.maximum(size, 1)
        whole = ~ends & (after <= end[active])
        is_data = whole & (kind <= _DATA_MAX)
        content = place[active] + np.where(kind == 0, 2, 1)
        found.append(
            (
                now[is_data],
                active[is_data],
                active[is_data] * layout.page_size + content[is_data] * 4,
                (after - content)[is_data] * 4,
            )
        )
        place[active] = np.where(whole, after, end[active])
        active = active[place[active] < end[active]]
    if not found:
        empty = np.empty(0, np.int64)
        return empty, empty, empty, empty
    time, page, at, room = (np.concatenate(column) for column in zip(*found, strict=True))
    return time, page, at, room
