# SPDX-License-Identifier: GPL-2.0-only
"""Import of results.json, which jitterdebugger -o writes (its file versions 1 to 3).

Its histogram ends at 1 ms; what was later is only in count and max.
"""

import re
from typing import Final

import msgspec

from rtscope.model.errors import RtscopeError
from rtscope.model.run import Run, RunWarning, Thread
from rtscope.store.foreign import (
    binned,
    convert,
    counts_of,
    import_id,
    machine_of,
    read_json,
    read_text,
    scaled,
)
from rtscope.store.runfile import check_run

TOOL: Final = "jitterdebugger"
NEWEST_VERSION: Final = 3
HISTOGRAM_END_NS: Final = 1_000_000
CPU_UNKNOWN: Final = RunWarning(
    "cpu-unknown",
    "jitterdebugger numbers its threads, not their CPUs; it ran on fewer CPUs than were online, so "
    "which thread was on which CPU is not known.",
)


class _SysInfo(msgspec.Struct, frozen=True):
    nodename: str | None = None
    release: str | None = None
    version: str | None = None
    machine: str | None = None
    cpus_online: int | None = None
    resolution_in_ns: int = 1000


class _Thread(msgspec.Struct, frozen=True):
    histogram: dict[str, int]
    count: int
    min: int
    max: int
    avg: float | None = None


class _File(msgspec.Struct, frozen=True):
    version: int
    cpu: dict[str, _Thread]
    sysinfo: _SysInfo = _SysInfo()


def parse(data: bytes, created: str) -> Run:
    """Read results.json, which has no time in it: `created` is the run's. Raises RtscopeError."""
    file = convert(read_json(read_text(data, TOOL), TOOL), _File, TOOL)
    if not 1 <= file.version <= NEWEST_VERSION:
        raise RtscopeError(
            f"this jitterdebugger file has version {file.version}; rtscope reads 1 to "
            f"{NEWEST_VERSION}"
        )
    info = file.sysinfo
    if not 1 <= info.resolution_in_ns <= 1_000_000:
        raise RtscopeError(
            f"this jitterdebugger file has a resolution of {info.resolution_in_ns} ns; it writes 1 "
            "or 1000"
        )
    pinned = info.cpus_online == len(file.cpu)
    threads = []
    for key, thread in file.cpu.items():
        if not re.fullmatch("[0-9]{1,5}", key, re.ASCII):
            raise RtscopeError(
                f"this jitterdebugger file has a thread '{key[:40]}', which is no number"
            )
        threads.append(_thread_of(int(key), thread, info.resolution_in_ns, pinned))
    run = Run(
        id=import_id(data, TOOL),
        created=created,
        probe="cyclic",
        status="complete",
        load="unknown",
        machine=machine_of(info.nodename, info.machine, info.release, info.version),
        threads=sorted(threads, key=lambda thread: thread.thread),
        warnings=[] if pinned else [CPU_UNKNOWN],
        source=TOOL,
    )
    check_run(run)
    return run


def _thread_of(number: int, thread: _Thread, unit_ns: int, pinned: bool) -> Thread:
    counts = [(at * unit_ns, unit_ns, count) for at, count in counts_of(thread.histogram, TOOL)]
    beyond = thread.count - sum(count for _, _, count in counts)
    if beyond < 0:
        raise RtscopeError(
            f"this jitterdebugger file contradicts itself: thread {number} has a count of "
            f"{thread.count}, but {thread.count - beyond} samples in its histogram"
        )
    return Thread(
        thread=number,
        cpu=number if pinned else None,
        policy="unknown",
        priority=0,
        count=thread.count,
        histogram=binned(counts, TOOL, beyond, HISTOGRAM_END_NS),
        min_ns=thread.min * unit_ns if thread.count else None,
        max_ns=thread.max * unit_ns if thread.count else None,
        mean_ns=scaled(thread.avg, unit_ns) if thread.count else None,
        missed=None,
    )
