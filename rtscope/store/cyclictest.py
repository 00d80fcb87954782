# SPDX-License-Identifier: GPL-2.0-only
"""Import of cyclictest's --json, -h/--histfile and -q output, and of its sisters'.

signaltest and cyclicdeadline print nearly the same. Facts about the formats, from the source and
from running the programs (rt-tests 2.4 to 2.9), are in docs/reference/formats.md. A latency that
cyclictest prints as 6 us was at least 6 and less than 7 us.
"""

import re
from typing import Final

import msgspec

from rtscope.model.errors import RtscopeError
from rtscope.model.machine import Machine
from rtscope.model.run import Asked, Run, Thread
from rtscope.model.units import Unit
from rtscope.store.foreign import (
    UNIT_ASSUMED,
    binned,
    convert,
    counts_of,
    import_id,
    read_json,
    read_text,
    scaled,
)
from rtscope.store.rttests import Head, option, time_option_ns
from rtscope.store.runfile import check_run

US: Final = 1000
"""nanoseconds"""

_PROBES: Final = {
    "cyclictest": "cyclic",
    "signaltest": "signaltest",
    "cyclicdeadline": "cyclicdeadline",
}
"""the name of what each program measures; only cyclictest's is that of a probe of ours"""
_LINE: Final = re.compile(
    r"T: ?(?P<thread>\d{1,5}) \( *\d{1,12}\) (?:P: ?(?P<priority>\d{1,3}) )?"
    r"(?:I:(?P<interval>\d{1,15}) )?"
    r"C: *(?P<count>\d{1,18}) Min: *(?P<min>-?\d{1,18}) Act: *-?\d{1,18} "
    r"Avg: *(?P<avg>-?\d{1,18}) Max: *(?P<max>-?\d{1,18})"
)
_POLICY: Final = re.compile(r"^policy: ([a-z]{1,16})", re.MULTILINE)
_SUMMARY: Final = re.compile(r"# ([A-Z][A-Za-z ]{1,40}):((?:[ \t]+-?\d{1,18})*)[ \t]*")
_ROW: Final = re.compile(r"\d{6,18}(?:[ \t]+\d{1,18})+[ \t]*", re.ASCII)


class _Thread(msgspec.Struct, frozen=True):
    cycles: int
    min: int
    max: int
    avg: float | None
    histogram: dict[str, int] = {}
    """absent without -h since rt-tests 2.5, empty before"""
    cpu: int | None = None


class _File(Head, frozen=True):
    thread: dict[str, _Thread] = msgspec.field(default_factory=dict)
    resolution_in_ns: int | None = None
    """1 with -N, where times are in ns instead of us; signaltest writes none"""


def parse_json(data: bytes, created: str) -> Run:
    """Read --json of cyclictest, signaltest or cyclicdeadline.

    `created` is used if the file's start cannot be read. Raises RtscopeError.
    """
    value = read_json(read_text(data, "cyclictest"), "cyclictest")
    if "thread" not in value:
        raise RtscopeError("this cyclictest file has no key 'thread': it holds no results")
    file = convert(value, _File, "cyclictest")
    tool = _tool_of(file)
    unit_ns = 1 if file.resolution_in_ns else US
    policy = re.search(r"--policy[= ]([a-z]{1,16})", file.cmdline)
    priority = option(file.cmdline, "p", "prio|priority")
    histogram_end = option(file.cmdline, "hH", "histogram|histofall")
    how = _policy_of(tool, policy, priority)
    threads = [
        _thread_of(number, thread, unit_ns, (histogram_end or 0) * unit_ns, (how, priority or 0))
        for number, thread in _numbered(file.thread)
    ]
    run = Run(
        id=import_id(data, "cyclictest-json"),
        created=file.created(created),
        probe=_PROBES[tool],
        status=file.status,
        load="unknown",
        machine=file.machine,
        threads=threads,
        asked=Asked(
            command=file.command,
            interval_ns=time_option_ns(file.cmdline, "i", "interval"),
            samples=option(file.cmdline, "l", "loops"),
            policy=how,
            priority=priority,
        ),
        elapsed_ns=file.elapsed_ns,
        source=tool,
    )
    check_run(run)
    return run


def parse_text(data: bytes, created: str, unit: Unit | None = None) -> Run:
    """Read the lines that cyclictest, signaltest or cyclicdeadline print.

    With -q there is one line per thread; of the live table the last line of each thread counts.
    There is no histogram in it, so all samples are "beyond" the minimum. `unit` is ns if the
    program ran with -N; None assumes us. Raises RtscopeError.
    """
    unit_ns = 1 if unit is Unit.NS else US
    text = read_text(data, "cyclictest")
    lines = _lines(text)
    if not lines:
        raise RtscopeError("no complete 'T: 0 ...' line of cyclictest is in it: is it truncated?")
    threads = []
    for number, line in sorted(lines.items()):
        count, low, high = (
            int(line["count"]),
            int(line["min"]) * unit_ns,
            int(line["max"]) * unit_ns,
        )
        threads.append(
            Thread(
                thread=number,
                cpu=None,
                policy=_policy(text, line),
                priority=int(line["priority"] or 0),
                count=count,
                histogram=binned([], "cyclictest", count, max(low, 0)),
                min_ns=low if count else None,
                max_ns=high if count else None,
                mean_ns=int(line["avg"]) * unit_ns if count else None,
                missed=None,
            )
        )
    return _text_run(data, "cyclictest-text", created, lines, threads, unit)


def parse_histogram(data: bytes, created: str, unit: Unit | None = None) -> Run:
    """Read cyclictest -h, -H or --histfile.

    `unit` is ns if cyclictest ran with -N; None assumes us. Raises RtscopeError.
    """
    unit_ns = 1 if unit is Unit.NS else US
    text = read_text(data, "cyclictest")
    rows, summary = _table(text)
    for name in ("Min Latencies", "Avg Latencies", "Max Latencies", "Histogram Overflows"):
        if not summary.get(name):
            raise RtscopeError(
                f"this cyclictest histogram has no line '# {name}:': is it truncated?"
            )
    width = len(summary["Min Latencies"])
    columns = len(rows[0]) - 1 if rows else len(summary["Max Latencies"])
    if columns not in (width, width + 1):
        raise RtscopeError(f"this cyclictest histogram has {columns} columns for {width} threads")
    for name in ("Avg Latencies", "Max Latencies", "Histogram Overflows"):
        # -H adds a sum, from rt-tests 2.5 on to the rows of a single thread too
        expected = width if width == 1 or name.startswith("Avg") else columns
        if len(summary[name]) != expected:
            raise RtscopeError(
                f"this cyclictest histogram has {width} threads, but {len(summary[name])} values "
                f"in '# {name}:'"
            )
    lines = _lines(text)
    threads = [
        _column(index, rows, summary, lines.get(index), text, unit_ns) for index in range(width)
    ]
    return _text_run(data, "cyclictest-histogram", created, lines, threads, unit)


def _tool_of(file: _File) -> str:
    """The program that wrote the file: by its command line, else by the keys it has."""
    if file.program in _PROBES:
        return file.program
    if file.resolution_in_ns is None:
        return "signaltest"
    named = any(thread.cpu is not None for thread in file.thread.values())
    return "cyclictest" if named or not file.thread else "cyclicdeadline"


def _policy_of(tool: str, policy: re.Match[str] | None, priority: int | None) -> str:
    if tool == "cyclicdeadline":
        return "deadline"
    return policy[1] if policy else "fifo" if priority else "other"


def _numbered(threads: dict[str, _Thread]) -> list[tuple[int, _Thread]]:
    for key in threads:
        if not re.fullmatch("[0-9]{1,5}", key, re.ASCII):
            raise RtscopeError(
                f"this cyclictest file has a thread '{key[:40]}', which is no number"
            )
    return sorted((int(key), thread) for key, thread in threads.items())


def _thread_of(
    number: int, thread: _Thread, unit_ns: int, histogram_end_ns: int, scheduling: tuple[str, int]
) -> Thread:
    counts = counts_of(thread.histogram, "cyclictest")
    beyond = thread.cycles - sum(count for _, count in counts)
    if beyond < 0:
        raise RtscopeError(
            f"this cyclictest file contradicts itself: thread {number} has {thread.cycles} cycles, "
            f"but {thread.cycles - beyond} samples in its histogram"
        )
    low = thread.min * unit_ns
    return Thread(
        thread=number,
        cpu=None if thread.cpu is None or thread.cpu < 0 else thread.cpu,
        policy=scheduling[0],
        priority=scheduling[1],
        count=thread.cycles,
        histogram=binned(
            [(at * unit_ns, unit_ns, count) for at, count in counts],
            "cyclictest",
            beyond,
            max(histogram_end_ns, 0 if counts else low),
        ),
        min_ns=low if thread.cycles else None,
        max_ns=thread.max * unit_ns if thread.cycles else None,
        mean_ns=scaled(thread.avg, unit_ns) if thread.cycles else None,
        missed=None,
    )


def _lines(text: str) -> dict[int, re.Match[str]]:
    return {int(match["thread"]): match for match in _LINE.finditer(text)}


def _policy(text: str, line: re.Match[str] | None) -> str:
    named = _POLICY.search(text)
    if named:
        return named[1]
    if line is None:
        return "unknown"
    if line["priority"] is None:
        return "deadline"
    return "fifo" if int(line["priority"]) else "other"


def _tool_of_line(line: re.Match[str] | None) -> str:
    """cyclicdeadline prints no priority (P:), signaltest no interval (I:)."""
    if line is None or (line["priority"] and line["interval"]):
        return "cyclictest"
    return "signaltest" if line["priority"] else "cyclicdeadline"


def _table(text: str) -> tuple[list[list[int]], dict[str, list[int]]]:
    """The rows (latency, count of each thread) and the `# Name:` lines below them."""
    rows: list[list[int]] = []
    summary: dict[str, list[int]] = {}
    for number, line in enumerate(text.split("\n"), 1):
        named = _SUMMARY.fullmatch(line)
        if named:
            summary[named[1]] = [int(value) for value in named[2].split()]
        elif _ROW.fullmatch(line):
            row = [int(value) for value in line.split()]
            if rows and (row[0] <= rows[-1][0] or len(row) != len(rows[-1])):
                raise RtscopeError(f"line {number} of this cyclictest histogram is out of place")
            rows.append(row)
    return rows, summary


def _column(
    index: int,
    rows: list[list[int]],
    summary: dict[str, list[int]],
    line: re.Match[str] | None,
    text: str,
    unit_ns: int,
) -> Thread:
    counts = [(row[0] * unit_ns, unit_ns, row[index + 1]) for row in rows if row[index + 1]]
    total = sum(count for _, _, count in counts)
    stated = summary.get("Total")
    if stated is not None and (len(stated) <= index or stated[index] != total):
        raise RtscopeError(
            f"this cyclictest histogram contradicts itself: the column of thread {index} holds "
            f"{total} samples, which is not its '# Total:'"
        )
    over = summary["Histogram Overflows"][index]
    low = summary["Min Latencies"][index] * unit_ns
    count = total + over
    end = (rows[-1][0] + 1) * unit_ns if rows else 0
    if over < 0:
        raise RtscopeError("this cyclictest histogram has a negative count of overflows")
    return Thread(
        thread=index,
        cpu=None,
        policy=_policy(text, line),
        priority=int(line["priority"] or 0) if line else 0,
        count=count,
        histogram=binned(counts, "cyclictest", over, max(end, 0 if counts else low)),
        min_ns=low if count else None,
        max_ns=summary["Max Latencies"][index] * unit_ns if count else None,
        mean_ns=summary["Avg Latencies"][index] * unit_ns if count else None,
        missed=None,
    )


def _text_run(
    data: bytes,
    kind: str,
    created: str,
    lines: dict[int, re.Match[str]],
    threads: list[Thread],
    unit: Unit | None,
) -> Run:
    first = lines[min(lines)] if lines else None
    tool = _tool_of_line(first)
    run = Run(
        id=import_id(data, kind),
        created=created,
        probe=_PROBES[tool],
        status="complete",
        load="unknown",
        machine=Machine(),
        threads=threads,
        asked=Asked(
            interval_ns=int(first["interval"]) * US if first and first["interval"] else None
        ),
        warnings=[] if unit else [UNIT_ASSUMED],
        source=tool,
    )
    check_run(run)
    return run
