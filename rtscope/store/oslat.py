# SPDX-License-Identifier: GPL-2.0-only
"""Import of oslat --json.

oslat labels a bucket with its upper end and counts what is beyond the last bucket in that bucket,
without saying so. Its rounding changed twice: docs/reference/formats.md.
"""

import re
from typing import Final

import msgspec

from rtscope.model.errors import RtscopeError
from rtscope.model.run import Asked, Run, Thread
from rtscope.store.foreign import (
    binned,
    convert,
    counts_of,
    import_id,
    read_json,
    read_text,
    scaled,
)
from rtscope.store.rttests import Head, option
from rtscope.store.runfile import check_run

TOOL: Final = "oslat"


class _Thread(msgspec.Struct, frozen=True):
    cpu: int
    min: int
    max: int
    histogram: dict[str, int]
    avg: float | None = None
    duration: float | None = None


class _File(Head, frozen=True):
    thread: dict[str, _Thread] = msgspec.field(default_factory=dict)


class _Rounding(msgspec.Struct, frozen=True):
    """How one version of oslat makes a bucket of a latency."""

    unit_ns: int
    """of min and max"""
    width_ns: int
    end_ns: int
    """a bucket labelled L ends at L - end_ns"""
    max_ns: int
    """and its samples are printed as at most L - max_ns in min and max"""
    up_ns: int
    """by which min and max are rounded up, at most"""


def parse(data: bytes, created: str) -> Run:
    """Read oslat --json. `created` serves where the file's start cannot be read.

    Raises RtscopeError.
    """
    value = read_json(read_text(data, TOOL), TOOL)
    if "thread" not in value:
        raise RtscopeError("this oslat file has no key 'thread': it holds no results")
    file = convert(value, _File, TOOL)
    rounding = _rounding(file)
    priority = option(file.cmdline, "f", "rtprio")
    threads = []
    for key, thread in file.thread.items():
        if not re.fullmatch("[0-9]{1,5}", key, re.ASCII):
            raise RtscopeError(f"this oslat file has a thread '{key[:40]}', which is no number")
        threads.append(_thread_of(int(key), thread, rounding, priority))
    run = Run(
        id=import_id(data, TOOL),
        created=file.created(created),
        probe="oslat",
        status=file.status,
        load="unknown",
        machine=file.machine,
        threads=sorted(threads, key=lambda thread: thread.thread),
        asked=Asked(command=file.command, priority=priority),
        elapsed_ns=file.elapsed_ns,
        source=TOOL,
    )
    check_run(run)
    return run


def _rounding(file: _File) -> _Rounding:
    """From the version and from -W, which makes oslat print ns when it is no whole number of us."""
    width_ns = option(file.cmdline, "W", "bucket-width") or 1000
    in_ns = any("." in label for thread in file.thread.values() for label in thread.histogram)
    unit_ns = 1 if in_ns else 1000
    try:
        version = float(file.rt_test_version)
    except ValueError:
        version = 2.4
    if version < 2.5:
        return _Rounding(unit_ns, width_ns, end_ns=0, max_ns=0, up_ns=unit_ns)
    if version < 2.7:
        return _Rounding(unit_ns, width_ns, end_ns=unit_ns, max_ns=unit_ns, up_ns=unit_ns)
    return _Rounding(unit_ns, width_ns, end_ns=0, max_ns=unit_ns, up_ns=0)


def _thread_of(number: int, thread: _Thread, how: _Rounding, priority: int | None) -> Thread:
    labels = counts_of({_ns(k): count for k, count in thread.histogram.items()}, TOOL)
    least_ns, most_ns = thread.min * how.unit_ns, thread.max * how.unit_ns
    buckets: list[tuple[int, int, int]] = []
    for label, count in labels:
        lower = max(label - how.width_ns - how.end_ns, 0)
        if not buckets:  # -B puts what is below its bias into the first bucket
            lower = max(min(lower, least_ns - how.up_ns), 0)
        buckets.append((lower, label - how.end_ns - lower, count))
    beyond_ns, beyond_count = 0, 0
    if labels and most_ns > labels[-1][0] - how.max_ns:
        beyond_ns, _, beyond_count = buckets.pop()
    total = beyond_count + sum(count for _, _, count in buckets)
    return Thread(
        thread=number,
        cpu=thread.cpu if thread.cpu >= 0 else None,
        policy="fifo" if priority else "other",
        priority=priority or 0,
        count=total,
        histogram=binned(buckets, TOOL, beyond_count, beyond_ns),
        min_ns=least_ns if total else None,
        max_ns=most_ns if total else None,
        mean_ns=scaled(thread.avg, 1000) if total else None,
        missed=None,
    )


def _ns(label: str) -> str:
    """A bucket's label in us, such as 32 or 0.500, as a number of ns."""
    match = re.fullmatch(r"([0-9]{1,12})(?:\.([0-9]{3}))?", label, re.ASCII)
    if match is None:
        raise RtscopeError(f"this oslat file has a bucket '{label[:40]}', which is no number of us")
    return str(int(match[1]) * 1000 + int(match[2] or 0))
