# SPDX-License-Identifier: GPL-2.0-only
"""Write pages of a ring buffer, as include/linux/ring_buffer.h describes them.

Traces that are text become pages in this way, so that all traces are decoded alike.
"""

import struct
from collections.abc import Sequence
from typing import Final

import msgspec

from rtscope.explain.ftrace import Format, Layout, Pages, format_of

_COMMON: Final = (
    ("unsigned short common_type", 0, 2, 0),
    ("unsigned char common_flags", 2, 1, 0),
    ("unsigned char common_preempt_count", 3, 1, 0),
    ("int common_pid", 4, 4, 1),
)
_VECTORS: Final = (
    *("local_timer", "reschedule", "call_function", "call_function_single", "irq_work"),
    *("x86_platform_ipi", "thermal_apic", "error_apic", "spurious_apic", "threshold_apic"),
    *("deferred_error_apic", "timer_interrupt", "doorbell", "irq", "ipi"),
)
"""interrupts that have a pair of events of their own, on all architectures"""
_FIELDS: Final = {
    **{
        f"{name}_{end}": (("int vector", 8, 4, 1),)
        for name in _VECTORS
        for end in ("entry", "exit")
    },
    "sched_switch": (
        ("char prev_comm[16]", 8, 16, 0), ("pid_t prev_pid", 24, 4, 1), ("int prev_prio", 28, 4, 1),
        ("long prev_state", 32, 8, 1), ("char next_comm[16]", 40, 16, 0),
        ("pid_t next_pid", 56, 4, 1), ("int next_prio", 60, 4, 1),
    ),
    "sched_waking": (
        ("char comm[16]", 8, 16, 0), ("pid_t pid", 24, 4, 1), ("int prio", 28, 4, 1),
        ("int target_cpu", 32, 4, 1),
    ),
    "sched_migrate_task": (
        ("char comm[16]", 8, 16, 0), ("pid_t pid", 24, 4, 1), ("int prio", 28, 4, 1),
        ("int orig_cpu", 32, 4, 1), ("int dest_cpu", 36, 4, 1),
    ),
    "cpu_idle": (("u32 state", 8, 4, 0), ("u32 cpu_id", 12, 4, 0)),
    "ipi_send_cpu": (
        ("unsigned int cpu", 8, 4, 0), ("void * callsite", 16, 8, 0), ("void * callback", 24, 8, 0),
    ),
    "ipi_send_cpumask": (
        ("__data_loc cpumask_t cpumask", 8, 4, 0), ("void * callsite", 16, 8, 0),
        ("void * callback", 24, 8, 0),
    ),
    "csd_queue_cpu": (
        ("unsigned int cpu", 8, 4, 0), ("void * callsite", 16, 8, 0), ("void * func", 24, 8, 0),
        ("void * csd", 32, 8, 0),
    ),
    "csd_function_entry": (("void * func", 8, 8, 0), ("void * csd", 16, 8, 0)),
    "workqueue_queue_work": (("void * work", 8, 8, 0), ("void * function", 16, 8, 0)),
    "workqueue_execute_start": (("void * work", 8, 8, 0), ("void * function", 16, 8, 0)),
    "workqueue_execute_end": (("void * work", 8, 8, 0), ("void * function", 16, 8, 0)),
    "contention_begin": (("void * lock_addr", 8, 8, 0), ("unsigned int flags", 16, 4, 0)),
    "contention_end": (("void * lock_addr", 8, 8, 0), ("int ret", 16, 4, 1)),
    "sched_pi_setprio": (
        ("char comm[16]", 8, 16, 0), ("pid_t pid", 24, 4, 1), ("int oldprio", 28, 4, 1),
        ("int newprio", 32, 4, 1),
    ),
    "page_fault_user": (("unsigned long address", 8, 8, 0), ("unsigned long ip", 16, 8, 0)),
    "irq_disable": (("u32 caller_offs", 8, 4, 0), ("u32 parent_offs", 12, 4, 0)),
    "irq_enable": (("u32 caller_offs", 8, 4, 0), ("u32 parent_offs", 12, 4, 0)),
    "nmi_handler": (("s64 delta_ns", 8, 8, 1),),
    "irq_handler_entry": (("int irq", 8, 4, 1), ("__data_loc char[] name", 12, 4, 0)),
    "irq_handler_exit": (("int irq", 8, 4, 1), ("int ret", 12, 4, 1)),
    "softirq_entry": (("unsigned int vec", 8, 4, 0),),
    "softirq_exit": (("unsigned int vec", 8, 4, 0),),
}  # fmt: skip
_IDS: Final = {name: 300 + number for number, name in enumerate(_FIELDS)}


def format_text(name: str) -> str:
    """The file `format` of an event."""
    common, fields = (
        "".join(
            f"\tfield:{words};\toffset:{offset};\tsize:{size};\tsigned:{signed};\n"
            for words, offset, size, signed in some
        )
        for some in (_COMMON, _FIELDS[name])
    )
    shown = [(words, words.split()[-1].partition("[")[0], size)
             for words, _, size, _ in _FIELDS[name]]  # fmt: skip
    text = [f"{one}={_printed(words, size)}" for words, one, size in shown]
    values = [
        f"__get_str({one})" if "__data_loc char" in words else f"REC->{one}"
        for words, one, _ in shown
    ]
    printed = f'print fmt: "{" ".join(text)}", {", ".join(values)}'
    return f"name: {name}\nID: {_IDS[name]}\nformat:\n{common}\n{fields}\n{printed}\n"


def _printed(words: str, size: int) -> str:
    if "char" in words:
        return "%s"
    return "%d" if size <= 4 else "0x%llx"


FORMATS: Final[list[Format]] = [format_of(f"sys/{name}", format_text(name)) for name in _FIELDS]
"""the events that can be written"""
_BY_NAME: Final = {one.name: one for one in FORMATS}


class Event(msgspec.Struct, frozen=True):
    """One event and the task that is on the CPU."""

    time_ns: int
    name: str
    tid: int
    fields: dict[str, int | str] = {}


def _content(event: Event, order: str) -> bytes:
    known = _BY_NAME[event.name]
    size = max(field.offset + field.size for field in known.fields.values())
    data, tail = bytearray(size), b""
    values = {"common_type": known.id, "common_pid": event.tid, **event.fields}
    for name, given in values.items():
        field, value = known.fields[name], given
        if isinstance(given, str):
            text = given.encode() + b"\0"
            if not field.dynamic:
                data[field.offset : field.offset + len(text)] = text
                continue
            tail = text
            value = len(text) << 16 | size
        kind = {1: "B", 2: "H", 4: "I", 8: "Q"}[field.size]
        struct.pack_into(
            f"{order}{kind}", data, field.offset, int(value) & ((1 << 8 * field.size) - 1)
        )
    data += tail
    return bytes(data) + bytes(-len(data) % 4)


def pages_of(cpu: int, events: Sequence[Event], layout: Layout) -> Pages:
    """The pages that hold these events."""
    order = "<" if layout.little_endian else ">"
    room = layout.page_size - 8 - layout.commit_size
    pages: list[bytes] = []
    held, first_ns, last_ns = b"", 0, 0

    def close() -> None:
        if held:
            commit = struct.pack(f"{order}{'Q' if layout.commit_size == 8 else 'I'}", len(held))
            page = struct.pack(f"{order}Q", first_ns) + commit + held
            pages.append(page.ljust(layout.page_size, b"\xff"))

    for event in events:
        content = _content(event, order)
        if not held or len(held) + len(content) + 16 > room:
            close()
            held, first_ns, last_ns = b"", event.time_ns, event.time_ns
        delta = event.time_ns - last_ns
        if delta >> 27:
            held += _word(30, delta & ((1 << 27) - 1), order)
            held += struct.pack(f"{order}I", delta >> 27)
            delta = 0
        words = len(content) // 4
        if words <= 28:
            held += _word(words, delta, order) + content
        else:
            held += _word(0, delta, order) + struct.pack(f"{order}I", len(content) + 4) + content
        last_ns = event.time_ns
    close()
    return Pages(cpu, b"".join(pages))


def _word(kind: int, delta: int, order: str) -> bytes:
    return struct.pack(f"{order}I", kind | delta << 5 if order == "<" else kind << 27 | delta)
