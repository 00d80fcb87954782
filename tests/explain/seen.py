# SPDX-License-Identifier: GPL-2.0-only
"""What the plugin would have written, from a list of blocks."""

import struct
from collections.abc import Sequence
from typing import NamedTuple

from rtscope.explain.recording import INTERRUPTS_KNOWN, INTERRUPTS_OFF, PREEMPT_KNOWN

MAGIC = b"rtscope record 1"
IDLE, MINE, OTHER = 0xFFFF888000001000, 0xFFFF888000002000, 0xFFFF888000003000
NAME_AT, PID_AT = 1500, 700
PLACES = {
    "idle_loop": 0xFFFFFFFF81000000,
    "timer_interrupt": 0xFFFFFFFF81001000,
    "run_timers": 0xFFFFFFFF81002000,
    "slow_driver": 0xFFFFFFFFC0000000,
    "schedule": 0xFFFFFFFF81003000,
    "exit_to_user": 0xFFFFFFFF81004000,
    "delay_tsc": 0xFFFFFFFF81005000,
    "__const_udelay": 0xFFFFFFFF81006000,
    "user": 0x401000,
}
SYMBOLS = "".join(
    f"{address:x} {name}{' [driver]' if name == 'slow_driver' else ''}\n"
    for name, address in PLACES.items()
    if name != "user"
)


class Block(NamedTuple):
    """A stretch of instructions; `offset` is the block's own within the function."""

    function: str
    instructions: int
    offset: int = 0
    task: int = MINE
    stack: int = 0xFFFFC90000013F00
    off: bool = False
    preempt: int = 0
    flags: int = 0


def task_memory(name: str, tid: int, pid: int) -> bytes:
    memory = bytearray(8192)
    memory[NAME_AT : NAME_AT + len(name)] = name.encode()
    struct.pack_into("<II", memory, PID_AT, tid, pid)
    return bytes(memory)


TASKS = {
    IDLE: task_memory("swapper/0", 0, 0),
    MINE: task_memory("cyclic/0", 118, 116),
    OTHER: task_memory("cryptomgr_test", 31, 31),
}


def recorded(number: int, blocks: Sequence[Block], known: bool = True) -> bytes:
    """One call's part of the file, after the head."""
    before = 1_000_000
    entries = b""
    for block in blocks:
        flags = block.flags | (INTERRUPTS_KNOWN | PREEMPT_KNOWN if known else 0)
        flags |= INTERRUPTS_OFF if block.off else 0
        task = block.task if known else 0
        entries += struct.pack(
            "<QQQQII", PLACES[block.function] + block.offset, before, task, block.stack,
            block.preempt, flags,
        )  # fmt: skip
        before += block.instructions
    tasks = TASKS if known else {}
    head = struct.pack("<QQQQ", number, before, len(blocks), len(tasks))
    return head + entries + b"".join(struct.pack("<Q", a) + m for a, m in tasks.items())
