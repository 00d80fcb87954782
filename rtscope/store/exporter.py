# SPDX-License-Identifier: GPL-2.0-only
"""Export as cyclictest of rt-tests 2.4 writes it, so that existing scripts go on working."""

import json
import shlex
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from typing import Any, Final

import msgspec

from rtscope.model.errors import RtscopeError
from rtscope.model.quantity import DELAY, LATENCY, PERIODIC, quantity_of
from rtscope.model.run import Run, Thread
from rtscope.statistics.metrics import PERCENTS, percent_name
from rtscope.statistics.response import response_metrics

US: Final = 1000
NO_SAMPLE_MIN_US: Final = 1_000_000
"""what cyclictest prints as the minimum of a thread without samples"""
MOST_ROWS: Final = 1_000_000


def to_cyclictest_json(run: Run) -> str:
    """The run as cyclictest --json, in microseconds, rounded down as cyclictest does.

    As there, samples beyond the end of the histogram are only in "cycles". Keys that rt-tests 2.4
    spells with a colon are spelt so; unlike it, strings are escaped and numbers are never nan.
    A thread that missed periods has two keys more: "missed", and "response" with the percentiles of
    its response times. Raises RtscopeError for samples that are no latencies.
    """
    _check_latencies(run)
    machine = run.machine
    start = datetime.fromisoformat(run.created)
    if start.tzinfo is None:
        start = start.replace(tzinfo=UTC)
    end = start + timedelta(microseconds=(run.elapsed_ns or 0) // US)
    value: dict[str, Any] = {
        "file_version": 1,
        "cmdline:": shlex.join(run.asked.command),
        "rt_test_version:": "2.40",
        "start_time": format_datetime(start.astimezone(UTC)),
        "end_time": format_datetime(end.astimezone(UTC)),
        "return_code": 1 if run.status in ("failed", "watchdog") else 0,
        "sysinfo": {
            "sysname": "Linux",
            "nodename": machine.hostname or "",
            "release": machine.kernel_release or "",
            "version": machine.kernel_version or "",
            "machine": machine.architecture or "",
            "realtime": int(machine.preemption == "rt"),
        },
        "num_threads": len(run.threads),
        "resolution_in_ns": 0,
        "thread": {
            str(index): _json_thread(run, thread) for index, thread in enumerate(run.threads)
        },
    }
    return json.dumps(value, indent=2, ensure_ascii=False) + "\n"


def to_cyclictest_histogram(run: Run, buckets: int | None = None) -> str:
    """The run as cyclictest --histfile, one row a microsecond from 0 to `buckets` - 1.

    Without `buckets`, as many rows as the worst sample needs. Later samples are counted as
    overflows. A run that missed periods has more lines at the end, which cyclictest's do not have:
    those periods, and percentiles of the response times, "-" where they are unknown. Raises
    RtscopeError when that is more than a million rows, and for samples that are no latencies.
    """
    _check_latencies(run)
    threads = run.threads
    if not threads:
        raise RtscopeError(f"run {run.id} has no threads: there is no histogram to export")
    columns = [_microseconds(thread) for thread in threads]
    if buckets is None:
        buckets = max((at for column in columns for at in column), default=0) + 1
    if not 1 <= buckets <= MOST_ROWS:
        raise RtscopeError(
            f"a cyclictest histogram of {buckets} rows was not written: ask for 1 to {MOST_ROWS} "
            "rows (of one microsecond each); later samples are counted as overflows"
        )
    rows = [
        f"{at:06} " + "\t".join(f"{column.get(at, 0):06}" for column in columns)
        for at in range(buckets)
    ]
    inside = [sum(n for at, n in column.items() if at < buckets) for column in columns]
    over = [thread.count - held for thread, held in zip(threads, inside, strict=True)]
    lines = [
        "# Histogram",
        *rows,
        "# Total:" + "".join(f" {held:09}" for held in inside),
        "# Min Latencies:" + "".join(f" {_min_us(thread):05}" for thread in threads),
        "# Avg Latencies:" + "".join(f" {int(_mean_us(thread)):05}" for thread in threads),
        "# Max Latencies:" + "".join(f" {_max_us(thread):05}" for thread in threads),
        "# Histogram Overflows:" + "".join(f" {count:05}" for count in over),
        "# Histogram Overflow at cycle number:",
        *(
            f"# Thread {index}:" + (f" # {count:05} others" if count else "")
            for index, count in enumerate(over)
        ),
        *_response_lines(run),
    ]
    return "\n".join(lines) + "\n\n"


def _check_latencies(run: Run) -> None:
    """Refuse what a reader of cyclictest's formats would take for latencies."""
    quantity = quantity_of(run.probe)
    if quantity not in (LATENCY, DELAY):
        raise RtscopeError(
            f"run {run.id} of {run.probe} has no latencies, which is all that cyclictest's "
            f"formats hold: its samples are each a {quantity}; export it with --format run"
        )


def _json_thread(run: Run, thread: Thread) -> dict[str, Any]:
    late: dict[str, Any] = {}
    if thread.missed and run.probe in PERIODIC:
        late = {"missed": thread.missed, "response": _responses_us(run, thread)}
    return {
        "histogram": {str(at): count for at, count in _microseconds(thread).items()},
        "cycles": thread.count,
        "min": _min_us(thread),
        "max": _max_us(thread),
        "avg": round(_mean_us(thread), 2),
        "cpu": -1 if thread.cpu is None else thread.cpu,
        "node": 0,
        **late,
    }


def _response_lines(run: Run) -> list[str]:
    if run.probe not in PERIODIC or not any(thread.missed for thread in run.threads):
        return []
    of_threads = [_responses_us(run, thread) for thread in run.threads]
    lines = ["# Missed Periods:" + "".join(f" {thread.missed or 0:05}" for thread in run.threads)]
    for name in map(percent_name, PERCENTS):
        values = [one.get(name) for one in of_threads]
        if any(value is not None for value in values):
            texts = ["-" if value is None else f"{value:05}" for value in values]
            lines.append(f"# Response {name}: {' '.join(texts)}")
    return lines


def _responses_us(run: Run, thread: Thread) -> dict[str, int]:
    """The percentiles with the missed periods filled in, of which there are enough samples."""
    (metrics,) = response_metrics(msgspec.structs.replace(run, threads=[thread]))
    return {
        percent_name(one.percent): one.value_ns // US
        for one in metrics.quantiles
        if one.value_ns is not None and not one.at_least
    }


def _microseconds(thread: Thread) -> dict[int, int]:
    """Samples by whole microseconds, ascending; a wider bucket counts where it begins."""
    counts: dict[int, int] = {}
    for lower, count in zip(thread.histogram.lower_ns, thread.histogram.count, strict=True):
        counts[lower // US] = counts.get(lower // US, 0) + count
    return counts


def _min_us(thread: Thread) -> int:
    return NO_SAMPLE_MIN_US if thread.min_ns is None else thread.min_ns // US


def _max_us(thread: Thread) -> int:
    return (thread.max_ns or 0) // US


def _mean_us(thread: Thread) -> float:
    return (thread.mean_ns or 0.0) / US
