# SPDX-License-Identifier: GPL-2.0-only
"""Write trace-cmd's trace.dat, version 6 (trace-cmd.dat.v6(5)): what `trace-cmd report` reads."""

import struct
from collections.abc import Iterable, Sequence
from typing import Final

from rtscope.explain.recorded import merged_pages
from rtscope.model.errors import RtscopeError
from rtscope.model.recording import EventFormat, Recording

MAGIC: Final = b"\x17\x08\x44tracing"
_VERSION: Final = b"6\0"
_LONG_SIZE: Final = 8
_TRACE_CLOCK: Final = 4
"""the option that names the clock, and marks the one in use by brackets"""
_HEADER_EVENT: Final = """\
# compressed entry header
\ttype_len    :    5 bits
\ttime_delta  :   27 bits
\tarray       :   32 bits

\tpadding     : type == 29
\ttime_extend : type == 30
\ttime_stamp : type == 31
\tdata max type_len  == 28
"""


def trace_dat(recording: Recording) -> bytes:
    """The windows of a recording as one file. Raises RtscopeError if there are none."""
    order = "<" if recording.little_endian else ">"
    cpus = merged_pages(recording)
    if not cpus:
        raise RtscopeError("the recording has no trace pages: no late sample was recorded")
    count = max(cpus) + 1
    head = MAGIC + _VERSION + bytes([order == ">", _LONG_SIZE])
    head += struct.pack(f"{order}I", recording.page_size)
    head += b"header_page\0" + _sized(_header_page(recording), order)
    head += b"header_event\0" + _sized(_HEADER_EVENT, order)
    head += struct.pack(f"{order}I", 0)  # formats of ftrace's own events
    systems = _by_system(recording.events)
    head += struct.pack(f"{order}I", len(systems))
    for system, formats in systems.items():
        head += system.encode() + b"\0" + struct.pack(f"{order}I", len(formats))
        head += b"".join(_sized(text, order) for text in formats)
    head += struct.pack(f"{order}I", 0)  # kallsyms
    head += struct.pack(f"{order}I", 0)  # formats of trace_printk
    head += struct.pack(f"{order}Q", 0)  # names of tasks: sched_switch has them
    head += struct.pack(f"{order}I", count)
    clock = f"[{recording.clock}]\n".encode() + b"\0"
    head += b"options  \0" + struct.pack(f"{order}HI", _TRACE_CLOCK, len(clock)) + clock
    head += struct.pack(f"{order}H", 0)
    head += b"flyrecord\0"
    return _with_data(head, [cpus.get(cpu, b"") for cpu in range(count)], recording, order)


def _with_data(head: bytes, data: Sequence[bytes], recording: Recording, order: str) -> bytes:
    """Append the table of the CPUs' data and the data, which begin at a page's boundary."""
    size = recording.page_size
    at = -(-(len(head) + 16 * len(data)) // size) * size
    table, body, first = b"", b"", at
    for one in data:
        table += struct.pack(f"{order}QQ", at if one else 0, len(one))
        body += one
        at += len(one)
    return (head + table).ljust(first, b"\0") + body


def _sized(text: str, order: str) -> bytes:
    data = text.encode(errors="replace")
    return struct.pack(f"{order}Q", len(data)) + data


def _header_page(recording: Recording) -> str:
    commit, header = recording.commit_size, 8 + recording.commit_size
    return (
        "\tfield: u64 timestamp;\toffset:0;\tsize:8;\tsigned:0;\n"
        f"\tfield: local_t commit;\toffset:8;\tsize:{commit};\tsigned:1;\n"
        "\tfield: int overwrite;\toffset:8;\tsize:1;\tsigned:1;\n"
        f"\tfield: char data;\toffset:{header};\tsize:{recording.page_size - header};\tsigned:1;\n"
    )


def _by_system(events: Iterable[EventFormat]) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for event in events:
        found.setdefault(event.name.rpartition("/")[0] or "ftrace", []).append(event.format)
    return found
