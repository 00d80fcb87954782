# SPDX-License-Identifier: GPL-2.0-only
"""Import of the histogram that EVL's latmus -g writes (libevl's benchmarks/latmus.c).

It measures one CPU from one end: the timer's interrupt, a kernel thread, a user thread, or a GPIO
line by an external monitor. Each is a probe of its own, because their values must not be mixed.
"""

import re
from typing import Final

from rtscope.model.errors import RtscopeError
from rtscope.model.machine import Machine
from rtscope.model.run import Asked, Run, RunWarning, Thread
from rtscope.store.foreign import binned, import_id, machine_of, read_text
from rtscope.store.runfile import check_run

TOOL: Final = "latmus"
US: Final = 1000

_HEAD: Final = re.compile(r"# ([A-Za-z ()-]{1,40}): (.{0,4096})")
_ROW: Final = re.compile(r"([0-9]{1,9})(\+?) ([0-9]{1,12})", re.ASCII)
_TIME: Final = re.compile(r"(\d{2,6}):(\d\d):(\d\d)", re.ASCII)
_AFFINITY: Final = re.compile(r"CPU(\d{1,5})(-noisol)?", re.ASCII)
_KERNEL: Final = re.compile(r"^# Linux version (\S{1,200})(.{0,2000})$", re.MULTILINE)
_CONTEXT: Final = re.compile(r"[a-z][a-z -]{0,30}")


def parse(data: bytes, created: str) -> Run:
    """Read the file, whose start has no time zone: `created` is the run's. Raises RtscopeError."""
    text = read_text(data, TOOL)
    head = {match[1]: match[2] for match in _HEAD.finditer(text)}
    context = _stated(head, "context").lower()
    if not _CONTEXT.fullmatch(context):
        raise RtscopeError(f"this latmus file has a context '{context[:40]}'")
    kernel = _KERNEL.search(text)
    period_us = re.fullmatch(r"(\d{1,9}) microseconds", _stated(head, "sampling period"), re.ASCII)
    thread, warnings = _thread(text, head)
    run = Run(
        id=import_id(data, TOOL),
        created=created,
        probe=f"latmus-{context.replace(' ', '-')}",
        status="complete",
        load="unknown",
        machine=machine_of(None, None, kernel[1], kernel[2]) if kernel else Machine(),
        threads=[thread],
        asked=Asked(interval_ns=int(period_us[1]) * US if period_us else None),
        elapsed_ns=_elapsed_ns(head),
        warnings=warnings,
        source=TOOL,
    )
    check_run(run)
    return run


def _stated(head: dict[str, str], name: str) -> str:
    if name not in head:
        raise RtscopeError(f"this latmus file has no line '# {name}:': is it truncated?")
    return head[name].strip()


def _thread(text: str, head: dict[str, str]) -> tuple[Thread, list[RunWarning]]:
    counts, beyond, end_ns = _cells(text)
    total = beyond + sum(count for _, _, count in counts)
    if not total:
        raise RtscopeError("this latmus file has no samples: is it truncated?")
    stated = _number(head, "sample count")
    low, high = _latency_ns(head, "min latency"), _latency_ns(head, "max latency")
    first_ns = counts[0][0] if counts else end_ns
    warnings = _warnings(head, total, stated, low)
    affinity = _AFFINITY.fullmatch(head.get("thread affinity", "").strip())
    priority = head.get("thread priority", "").strip()
    return Thread(
        thread=0,
        cpu=int(affinity[1]) if affinity else None,
        policy="fifo" if priority else "unknown",
        priority=_number(head, "thread priority") if priority else 0,
        count=total,
        histogram=binned(counts, TOOL, beyond, end_ns),
        min_ns=max(low, first_ns),
        max_ns=high,
        mean_ns=_latency_ns(head, "avg latency"),
        missed=_number(head, "OVERRUNS") if "OVERRUNS" in head else 0,
    ), warnings


def _cells(text: str) -> tuple[list[tuple[int, int, int]], int, int]:
    """(lower end in ns, width, samples) of each cell, the samples beyond, and where those begin."""
    counts: list[tuple[int, int, int]] = []
    beyond, end_ns, last = 0, 0, -1
    for number, line in enumerate(text.split("\n"), 1):
        if not line or line.startswith("#"):
            continue
        row = _ROW.fullmatch(line.strip())
        if row is None or end_ns:
            raise RtscopeError(
                f"line {number} of this latmus file is no cell 'LATENCY SAMPLES', or follows the "
                "last: is the file mixed with other output?"
            )
        at, count = int(row[1]), int(row[3])
        if at <= last:
            raise RtscopeError(f"line {number} of this latmus file is out of order")
        last = at
        if row[2]:  # the last cell also counts what was later than its end
            beyond, end_ns = count, max(at * US, 1)
        else:
            counts.append((at * US, US, count))
    return [cell for cell in counts if cell[2]], beyond, end_ns


def _warnings(head: dict[str, str], total: int, stated: int, low: int) -> list[RunWarning]:
    found = []
    if stated != total:
        found.append(
            RunWarning(
                "samples-differ",
                f"latmus counted {stated} samples, but its histogram holds {total}; the run has "
                "those of the histogram",
            )
        )
    if low < 0:
        found.append(
            RunWarning(
                "negative-latency",
                f"the smallest latency is {low / US:.3f} us: the timer fires early, because its "
                "gravity is set too high. The histogram counts such samples by their size",
            )
        )
    if "IN-BAND SWITCHES" in head:
        found.append(
            RunWarning(
                "in-band-switches",
                f"the thread switched to in-band mode {_number(head, 'IN-BAND SWITCHES')} times: "
                "the latencies are not those of EVL",
            )
        )
    if head.get("thread affinity", "").strip().endswith("-noisol"):
        found.append(RunWarning("not-isolated", "the measured CPU was not isolated"))
    return found


def _number(head: dict[str, str], name: str) -> int:
    text = _stated(head, name)
    if not re.fullmatch(r"\d{1,18}", text, re.ASCII):
        raise RtscopeError(f"this latmus file has '{name}: {text[:40]}', which is no number")
    return int(text)


def _latency_ns(head: dict[str, str], name: str) -> int:
    text = _stated(head, name)
    if not re.fullmatch(r"-?\d{1,12}\.\d{3}", text, re.ASCII):
        raise RtscopeError(f"this latmus file has '{name}: {text[:40]}', which is no time in us")
    return int(text.replace(".", ""))


def _elapsed_ns(head: dict[str, str]) -> int | None:
    match = _TIME.fullmatch(head.get("duration (hhmmss)", "").strip())
    if match is None:
        return None
    hours, minutes, seconds = (int(part) for part in match.groups())
    return ((hours * 60 + minutes) * 60 + seconds) * 1_000_000_000
