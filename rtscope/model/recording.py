# SPDX-License-Identifier: GPL-2.0-only
"""The kernel's trace around late samples, as it was recorded: raw pages of the ring buffers."""

from typing import Annotated, Literal

import msgspec
from msgspec import Meta

from rtscope.model.units import LONGEST_NS

Ns = Annotated[int, Meta(ge=0, le=LONGEST_NS)]


class EventFormat(msgspec.Struct, frozen=True):
    """A kind of event that was recorded."""

    name: Annotated[str, Meta(max_length=256)]
    """SYSTEM/NAME"""
    format: Annotated[str, Meta(max_length=65_536)]
    """its file `format`"""


class CpuPages(msgspec.Struct, frozen=True):
    """The trace of one CPU around a sample."""

    cpu: Annotated[int, Meta(ge=0, le=65_535)]
    complete: bool
    """no event between the deadline and the sample is missing"""
    pages: bytes
    """whole pages in the order of time, compressed with zlib"""


class RecordedWindow(msgspec.Struct, frozen=True):
    """The trace around one sample; times are on the trace's clock."""

    due_ns: Ns
    """the deadline"""
    latency_ns: Ns
    tid: int
    """the measuring thread in the kernel; -1: unknown"""
    cpu: int
    """where the sample was taken; -1: unknown"""
    parts: Annotated[list[CpuPages], Meta(max_length=8192)]


class Recording(msgspec.Struct, frozen=True):
    """All that was recorded of a run's late samples."""

    clock: Annotated[str, Meta(max_length=64)]
    page_size: Annotated[int, Meta(ge=1024, le=2**20)]
    commit_size: Literal[4, 8]
    little_endian: bool
    events: Annotated[list[EventFormat], Meta(max_length=4096)]
    windows: Annotated[list[RecordedWindow], Meta(max_length=1024)]
