# SPDX-License-Identifier: GPL-2.0-only
"""Recordings of the kernel's trace: their pages, the events in them, and their explanations."""

import struct
import zlib
from collections.abc import Sequence
from typing import Final

from rtscope.explain.ftrace import Events, Format, Layout, Pages, format_of
from rtscope.explain.ledger import LateThread, ledger_of
from rtscope.explain.remote import NameOf
from rtscope.model.errors import RtscopeError
from rtscope.model.recording import CpuPages, RecordedWindow, Recording
from rtscope.model.timeline import Explanation

_MOST_BYTES: Final = 1 << 28
"""of one CPU in one window"""


def packed(cpu: int, pages: bytes, *, complete: bool = True) -> CpuPages:
    """Compress the pages of a CPU."""
    return CpuPages(cpu, complete, zlib.compress(pages, 6))


def pages_of(part: CpuPages) -> bytes:
    """The pages of a CPU. Raises RtscopeError."""
    stream = zlib.decompressobj()
    try:
        data = stream.decompress(part.pages, _MOST_BYTES)
    except zlib.error as error:
        raise RtscopeError(f"the trace of CPU {part.cpu} is damaged: {error}") from None
    if not stream.eof:
        raise RtscopeError(f"the trace of CPU {part.cpu} is cut, or larger than 256 MiB")
    return data


def cut(parts: Sequence[CpuPages], layout: Layout, from_ns: int, to_ns: int) -> list[CpuPages]:
    """Only the pages with events of this time. A page lasts until the next one begins."""
    order, size = "<" if layout.little_endian else ">", layout.page_size
    found = []
    for part in parts:
        data = pages_of(part)
        pages = [data[at : at + size] for at in range(0, len(data) - size + 1, size)]
        times = [struct.unpack_from(f"{order}Q", page)[0] for page in pages]
        ends = [*times[1:], to_ns + 1]
        kept = [
            page
            for page, begins, ends_ns in zip(pages, times, ends, strict=True)
            if begins <= to_ns and ends_ns >= from_ns
        ]
        if kept:
            found.append(packed(part.cpu, b"".join(kept), complete=part.complete))
    return found


def merged_pages(recording: Recording) -> dict[int, bytes]:
    """The pages of all windows in the order of time, each once. A page that was read again later
    has more events, so the longer one counts. Raises RtscopeError.
    """
    order = "<" if recording.little_endian else ">"
    found: dict[int, dict[int, bytes]] = {}
    size = recording.page_size
    for window in recording.windows:
        for part in window.parts:
            data = pages_of(part)
            pages = found.setdefault(part.cpu, {})
            for at in range(0, len(data) - size + 1, size):
                page = data[at : at + size]
                (time_ns,) = struct.unpack_from(f"{order}Q", page)
                if _used(page, recording, order) > _used(pages.get(time_ns), recording, order):
                    pages[time_ns] = page
    return {
        cpu: b"".join(page for _, page in sorted(pages.items()))
        for cpu, pages in found.items()
        if pages
    }


def _used(page: bytes | None, recording: Recording, order: str) -> int:
    if page is None:
        return 0
    kind = "Q" if recording.commit_size == 8 else "I"
    (commit,) = struct.unpack_from(f"{order}{kind}", page, 8)
    return int(commit) & 0x3FFFFFFF


def layout_of(recording: Recording) -> Layout:
    """The layout of a recording's pages."""
    return Layout(recording.page_size, recording.commit_size, recording.little_endian)


def formats_of(recording: Recording) -> list[Format]:
    """The kinds of events of a recording. Raises RtscopeError."""
    return [format_of(event.name, event.format) for event in recording.events]


def events_of(parts: Sequence[CpuPages], layout: Layout, formats: Sequence[Format]) -> Events:
    """The events of several CPUs. Raises RtscopeError."""
    return Events([Pages(part.cpu, pages_of(part)) for part in parts], layout, formats)


def explained_window(
    window: RecordedWindow,
    layout: Layout,
    formats: Sequence[Format],
    thread: int,
    start_ns: int,
    name_of: NameOf = lambda address: "",
) -> Explanation:
    """Explain the sample of a window; `start_ns` is the run's start on the trace's clock."""
    late = LateThread(
        thread=thread,
        time_ns=max(window.due_ns - start_ns, 0),
        due_ns=window.due_ns,
        latency_ns=window.latency_ns,
        tid=window.tid,
        cpu=window.cpu,
    )
    lost = frozenset(part.cpu for part in window.parts if not part.complete)
    return ledger_of(late, events_of(window.parts, layout, formats), lost, name_of)
