# SPDX-License-Identifier: GPL-2.0-only
"""Import of what rtla timerlat hist prints (the text of 6.1, and newer ones with user threads).

Each file becomes one run a context: timerlat-irq, timerlat-thread and timerlat-user. They measure
different ends of the same wake-up, so their values must not be mixed; a run's threads are CPUs.
"""

import math
import re
from typing import Final

from rtscope.model.errors import RtscopeError
from rtscope.model.machine import Machine
from rtscope.model.run import Run, RunWarning, Status, Thread
from rtscope.model.units import LONGEST_NS
from rtscope.store.foreign import binned, import_id, read_text
from rtscope.store.runfile import check_run

TOOL: Final = "rtla timerlat"
PROBES: Final = {"IRQ": "timerlat-irq", "Thr": "timerlat-thread", "Usr": "timerlat-user"}

_COLUMN: Final = re.compile(r"(IRQ|Thr|Usr)-([0-9]{1,5})", re.ASCII)
_ROW: Final = re.compile(r"([0-9]{1,15})((?:[ \t]+-?[0-9]{1,18})*)[ \t]*", re.ASCII)
_SUMMARY: Final = re.compile(
    r"(over|count|min|avg|max):?((?:[ \t]*(?:-?[0-9]{1,20}|-)(?=[ \t]|$))*)[ \t]*", re.ASCII
)
_UNIT: Final = re.compile(r"# Time unit is [a-z]{1,20} \((ns|us)\)")
_DURATION: Final = re.compile(r"# Duration: +(\d{1,5}) (\d\d):(\d\d):(\d\d)", re.ASCII)
_DROPPED: Final = re.compile(r"^.{0,80}\b(?:missed|dropped|lost)\b.{0,200}$", re.MULTILINE)


class _Table:
    """Rows as printed: a latency and a count for each column, and the lines below them."""

    def __init__(self, columns: list[tuple[str, int]]) -> None:
        self.columns = columns
        self.rows: list[tuple[int, list[int]]] = []
        self.summary: dict[str, list[int | None]] = {}


def parse(data: bytes, created: str) -> list[Run]:
    """Read a file; one run for each context that it has columns of. Raises RtscopeError."""
    text = read_text(data, TOOL)
    unit = _UNIT.search(text)
    if unit is None:
        raise RtscopeError(
            "this rtla timerlat file has no line '# Time unit is': run rtla without --no-header"
        )
    table = _table(text)
    width = _bucket_width(table)
    unit_ns = 1 if unit[1] == "ns" else 1000
    runs = []
    for kind, probe in PROBES.items():
        columns = [i for i, (name, _) in enumerate(table.columns) if name == kind]
        if not columns:
            continue
        warnings = [RunWarning("events-dropped", line.strip()) for line in _DROPPED.findall(text)]
        run = Run(
            id=import_id(data, probe),
            created=created,
            probe=probe,
            status=_status(text),
            load="unknown",
            machine=Machine(),
            threads=[_thread(table, index, width, unit_ns) for index in columns],
            elapsed_ns=_elapsed_ns(text),
            warnings=warnings,
            source=TOOL,
        )
        check_run(run)
        runs.append(run)
    return runs


def _table(text: str) -> _Table:
    table: _Table | None = None
    for number, line in enumerate(text.split("\n"), 1):
        words = line.split()
        if table is None:
            if words and words[0] == "Index":
                table = _Table(_columns(words[1:], number))
            continue
        _read_line(table, line, number)
    if table is None:
        raise RtscopeError(
            "this rtla timerlat file has no line 'Index IRQ-000 ...': run rtla without --no-header "
            "and --no-index"
        )
    if "over" not in table.summary:
        raise RtscopeError("this rtla timerlat file has no line 'over:': is it truncated?")
    for name in ("count", "min", "max"):
        if table.summary.keys() > {"over"} and name not in table.summary:
            raise RtscopeError(f"this rtla timerlat file has no line '{name}:': is it truncated?")
    return table


def _columns(words: list[str], number: int) -> list[tuple[str, int]]:
    columns = []
    for word in words:
        match = _COLUMN.fullmatch(word)
        if match is None:
            raise RtscopeError(
                f"line {number} of this rtla timerlat file has a column '{word[:40]}'; rtscope "
                "knows IRQ-, Thr- and Usr-"
            )
        columns.append((match[1], int(match[2])))
    if not columns or len(set(columns)) != len(columns):
        raise RtscopeError(f"line {number} of this rtla timerlat file names no CPU, or one twice")
    return columns


def _read_line(table: _Table, line: str, number: int) -> None:
    row, named = _ROW.fullmatch(line), _SUMMARY.fullmatch(line)
    if row and not table.summary:
        counts = [int(word) for word in row[2].split()]
        _check_width(table, counts, number)
        if min(counts) < 0 or (table.rows and int(row[1]) <= table.rows[-1][0]):
            raise RtscopeError(
                f"line {number} of this rtla timerlat file is out of order or has a negative count "
                "(rtla's counters overflow at 2^31)"
            )
        table.rows.append((int(row[1]), counts))
    elif named and named[1] not in table.summary:  # the second, below "ALL:", sums over CPUs
        values = [None if word == "-" else int(word) for word in named[2].split()]
        _check_width(table, values, number)
        table.summary[named[1]] = values


def _check_width(table: _Table, values: list[int] | list[int | None], number: int) -> None:
    if len(values) != len(table.columns):
        raise RtscopeError(
            f"line {number} of this rtla timerlat file has {len(values)} values for "
            f"{len(table.columns)} columns"
        )


def _bucket_width(table: _Table) -> int:
    """The width set by -b, as far as the rows show it.

    rtla does not print it and leaves rows of zeros out, but each latency is a multiple of it: their
    greatest common divisor is the width or a multiple of it, so no bucket is claimed to be narrower
    than it was. It is cut to what leaves room for the samples beyond the last row.
    """
    common = math.gcd(*(at for at, _ in table.rows))
    last = table.rows[-1][0] if table.rows else 0
    highs = [
        high - last
        for high, over in zip(table.summary.get("max", []), table.summary["over"], strict=False)
        if high is not None and over
    ]
    room = max(min(highs, default=LONGEST_NS), 1)
    if common:
        return next((common // n for n in range(1, 1_000_001) if _fits(common, n, room)), 1)
    if highs:
        return room
    top = max((high or 0 for high in table.summary.get("max", [])), default=0)
    return min(top, 1_000_000) + 1


def _fits(common: int, parts: int, room: int) -> bool:
    return common % parts == 0 and common // parts <= room


def _thread(table: _Table, index: int, width: int, unit_ns: int) -> Thread:
    counts = [(at * unit_ns, width * unit_ns, row[index]) for at, row in table.rows]
    over = table.summary["over"][index] or 0
    if over < 0:
        raise RtscopeError("this rtla timerlat file has a negative count in 'over:'")
    total = over + sum(count for _, _, count in counts)
    stated = table.summary.get("count")
    if stated is not None and stated[index] != total:
        kind, cpu = table.columns[index]
        raise RtscopeError(
            f"this rtla timerlat file contradicts itself: column {kind}-{cpu:03} holds {total} "
            f"samples, but 'count:' says {stated[index]}"
        )
    low = _summary_ns(table, "min", index, unit_ns) if total else None
    end = (table.rows[-1][0] + width) * unit_ns if table.rows else low or 0
    return Thread(
        thread=table.columns[index][1],
        cpu=table.columns[index][1],
        policy="unknown",
        priority=0,
        count=total,
        histogram=binned(counts, TOOL, over, end),
        min_ns=low,
        max_ns=_summary_ns(table, "max", index, unit_ns) if total else None,
        mean_ns=_summary_ns(table, "avg", index, unit_ns) if total else None,
        missed=None,
    )


def _summary_ns(table: _Table, name: str, index: int, unit_ns: int) -> int | None:
    values = table.summary.get(name)
    value = values[index] if values else None
    return None if value is None else value * unit_ns


def _status(text: str) -> Status:
    return "threshold" if "hit stop tracing" in text else "complete"


def _elapsed_ns(text: str) -> int | None:
    match = _DURATION.search(text)
    if match is None:
        return None
    days, hours, minutes, seconds = (int(part) for part in match.groups())
    return (((days * 24 + hours) * 60 + minutes) * 60 + seconds) * 1_000_000_000
