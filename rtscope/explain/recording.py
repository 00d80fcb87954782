# SPDX-License-Identifier: GPL-2.0-only
"""Read the record of the emulator's plugin (rtscope/lab/plugin). The file is not trusted."""

from typing import Final

import msgspec
import numpy as np
from numpy.typing import NDArray

from rtscope.model.errors import RtscopeError

HALTS: Final = 1
READS_CLOCK: Final = 2
INTERRUPTS_OFF: Final = 4
INTERRUPTS_KNOWN: Final = 8
PREEMPT_KNOWN: Final = 16
"""flags of an entry, as in the plugin"""

_MAGIC: Final = b"rtscope record 1"
_TASK_SIZE: Final = 8192
_CALL: Final = np.dtype([(n, "<u8") for n in ("number", "instructions", "entries", "tasks")])
_TASK: Final = np.dtype([("address", "<u8"), ("memory", f"V{_TASK_SIZE}")])
ENTRY: Final = np.dtype(
    [
        ("address", "<u8"),
        ("before", "<u8"),
        ("task", "<u8"),
        ("stack_pointer", "<u8"),
        ("preempt", "<u4"),
        ("flags", "<u4"),
    ]
)
"""a block of instructions that was executed; `before`: how many came before it"""


class Recording(msgspec.Struct, frozen=True):
    """What was executed before one call of the agent's function that notices worst samples."""

    number: int
    """of the call, from 1"""
    instructions: int
    """executed before the call"""
    entries: NDArray[np.void]
    """of the type ENTRY, at least one, in the order of time"""
    tasks: dict[int, bytes]
    """the memory of each task's own structure, by address"""


def read_recordings(data: bytes) -> dict[int, Recording]:
    """The calls that were wanted and came, by number. Raises RtscopeError."""
    if not data.startswith(_MAGIC):
        raise _bad("it does not begin as one")
    found: dict[int, Recording] = {}
    at = len(_MAGIC)
    while at < len(data):
        call, at = _taken(data, at, _CALL, 1)
        entries, at = _taken(data, at, ENTRY, int(call["entries"][0]))
        tasks, at = _taken(data, at, _TASK, int(call["tasks"][0]))
        number, instructions = int(call["number"][0]), int(call["instructions"][0])
        before = entries["before"]
        if number in found or not len(entries):
            raise _bad(f"call {number} is there twice or has no instructions")
        if (before[1:] < before[:-1]).any() or before[-1] > instructions:
            raise _bad(f"the instructions before call {number} are not in order")
        memory = {int(task["address"]): task["memory"].tobytes() for task in tasks}
        found[number] = Recording(number, instructions, entries, memory)
    return found


def _taken(
    data: bytes, at: int, kind: np.dtype[np.void], count: int
) -> tuple[NDArray[np.void], int]:
    end = at + kind.itemsize * count
    if end > len(data):
        raise _bad(f"it ends at byte {len(data)} in the midst of a record")
    return np.frombuffer(data, kind, count, at), end


def _bad(why: str) -> RtscopeError:
    return RtscopeError(f"what the emulator's plugin wrote cannot be read: {why}; was a disk full?")
