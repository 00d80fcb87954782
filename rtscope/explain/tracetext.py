# SPDX-License-Identifier: GPL-2.0-only
"""Read the text of a trace: of tracefs' file `trace` and of `trace-cmd report`.

The lines become pages of a ring buffer, so that they are decoded like a recording. Functions are
named in the text, and get addresses of their own.
"""

import re
from collections.abc import Callable
from typing import Final

import msgspec

from rtscope.explain.encode import FORMATS, Event, format_text, pages_of
from rtscope.explain.ftrace import Layout
from rtscope.explain.recorded import packed
from rtscope.model.errors import RtscopeError
from rtscope.model.recording import EventFormat, RecordedWindow, Recording

_LINE: Final = re.compile(
    r"^\s*(?P<comm>.{0,40})-(?P<tid>\d{1,10})\s+(?:\(\s*[-\d]+\)\s+)?\[(?P<cpu>\d{1,5})\]\s+"
    r"(?:\S{4,10}\s+)?(?P<s>\d{1,12})\.(?P<part>\d{6}|\d{9}):\s+(?P<event>\w{1,60}):\s*(?P<rest>.*)$"
)
_KEY: Final = re.compile(r"(\w+)=(.*?)(?=\s+\w+=|\s+==>|\s*$)")
_SHORT_SWITCH: Final = re.compile(
    r"(?P<prev_comm>.*):(?P<prev_pid>\d+) \[(?P<prev_prio>\d+)\] (?P<state>\S+) ==> "
    r"(?P<next_comm>.*):(?P<next_pid>\d+) \[(?P<next_prio>\d+)\]"
)
_SHORT_WAKE: Final = re.compile(
    r"(?P<comm>.*):(?P<pid>\d+) \[(?P<prio>\d+)\](?:.*? CPU:(?P<target_cpu>\d+))?"
)
_WORK: Final = re.compile(r"work struct[ =]+(?P<work>\w+):? function[ =](?P<function>\S+)")
_LOCK: Final = re.compile(r"(?P<lock_addr>0x\w+|\w{8,16}) \((?:flags=(?P<flags>[^)]*)|ret=.*)\)")
_NMI: Final = re.compile(r"delta_ns: (?P<delta_ns>\d+)")
_NAMES: Final = {"sched_wakeup": "sched_waking"}
"""events that stand for another one where that was not recorded"""
_FUNCTIONS: Final = frozenset({"callsite", "callback", "func", "function", "caller_offs"})
_FLAGS: Final = {"SPIN": 1, "READ": 2, "WRITE": 4, "RT": 8, "PERCPU": 16, "MUTEX": 32}
_LAYOUT: Final = Layout(4096, 8)
_FIRST_FUNCTION: Final = 0x1000
_KNOWN: Final = {one.name: one for one in FORMATS}
_MOST_BYTES: Final = 512 << 20


class TextTrace(msgspec.Struct, frozen=True):
    """A trace that was read from text."""

    recording: Recording
    functions: dict[int, str]
    """the names of the addresses in it"""

    def name_of(self, address: int) -> str:
        """The function at an address; empty: unknown."""
        return self.functions.get(address, "")


def read_trace_text(data: bytes) -> TextTrace:
    """The recording in a text, as one window without a sample. Raises RtscopeError."""
    if len(data) > _MOST_BYTES:
        raise RtscopeError("this trace is larger than 512 MiB: cut the time around the sample out")
    functions: dict[str, int] = {}
    by_cpu: dict[int, list[Event]] = {}
    seen = {"sched_waking": False}
    wakeups: list[tuple[int, Event]] = []
    for line in data.decode(errors="replace").splitlines():
        if not (found := _LINE.match(line)):
            continue
        name = found["event"]
        event = _event(found, _NAMES.get(name, name), functions)
        if event is None:
            continue
        seen[name] = True
        if name in _NAMES:
            wakeups.append((int(found["cpu"]), event))
        else:
            by_cpu.setdefault(int(found["cpu"]), []).append(event)
    if not seen["sched_waking"]:
        for cpu, event in wakeups:
            by_cpu.setdefault(cpu, []).append(event)
    if not by_cpu:
        raise RtscopeError(
            "this text has no line of a trace that rtscope knows, such as "
            "'make-7 [001] d..2. 12.345678: sched_switch: prev_comm=...'"
        )
    parts = [
        packed(cpu, pages_of(cpu, sorted(events, key=lambda one: one.time_ns), _LAYOUT).data)
        for cpu, events in sorted(by_cpu.items())
    ]
    recording = Recording(
        clock="mono",
        page_size=_LAYOUT.page_size,
        commit_size=8,
        little_endian=True,
        events=[EventFormat(f"text/{name}", format_text(name)) for name in _KNOWN],
        windows=[RecordedWindow(0, 0, -1, -1, parts)],
    )
    return TextTrace(recording, {address: name for name, address in functions.items()})


def _event(found: re.Match[str], name: str, functions: dict[str, int]) -> Event | None:
    known = _KNOWN.get(name)
    if known is None:
        return None
    time_ns = int(found["s"]) * 10**9 + int(found["part"].ljust(9, "0"))
    fields: dict[str, int | str] = {}
    for key, text in _values(name, found["rest"]).items():
        field = known.fields.get(key)
        if field is None or text is None:
            continue
        if key.endswith("comm") or field.dynamic:
            fields[key] = text[: 63 if field.dynamic else field.size - 1]
        elif text:
            fields[key] = _number(key, text.split()[0], functions)
    return Event(time_ns, name, int(found["tid"]), fields)


def _values(name: str, rest: str) -> dict[str, str | None]:
    """The fields of an event that its text shows."""
    patterns: dict[str, re.Pattern[str]] = {
        "sched_switch": _SHORT_SWITCH,
        "sched_waking": _SHORT_WAKE,
        "workqueue_execute_start": _WORK,
        "workqueue_execute_end": _WORK,
        "workqueue_queue_work": _WORK,
        "contention_begin": _LOCK,
        "contention_end": _LOCK,
        "nmi_handler": _NMI,
    }
    values: dict[str, str | None] = dict(_KEY.findall(rest))
    if not (name.startswith("sched_") and values):
        pattern = patterns.get(name)
        if pattern and (short := pattern.search(rest)):
            values |= short.groupdict()
    state = values.pop("state", None) if name == "sched_switch" else None
    for key, other in (("caller", "caller_offs"), ("prev_state", "prev_state")):
        if (text := values.get(key, state if key == "prev_state" else None)) is not None:
            values[other] = text
    return values


def _number(key: str, text: str, functions: dict[str, int]) -> int:
    if key == "prev_state":
        return 0 if text.startswith("R") else 1
    if key == "flags":
        return sum(_FLAGS.get(word.strip(), 0) for word in text.split("|"))
    for read in _READERS:
        try:
            return read(text)
        except ValueError:
            continue
    if key in _FUNCTIONS and text:
        function = text.partition("+")[0]
        return functions.setdefault(function, _FIRST_FUNCTION + len(functions))
    return 0


_READERS: Final[tuple[Callable[[str], int], ...]] = (int, lambda text: int(text, 16))
