# SPDX-License-Identifier: GPL-2.0-only
"""Speed of decoding and explaining traces: python bench/explain_speed.py.

The same events are decoded by `trace-cmd report`, which prints them, and by rtscope, which reads
all fields that an explanation needs. Then 100 outliers of 64 CPUs are explained, whose
windows have 100 events of each CPU. Times are CPU time, so that other programs change them little.
"""

import resource
import subprocess
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import msgspec

from rtscope.explain.activity import Moments
from rtscope.explain.encode import FORMATS, Event, format_text, pages_of
from rtscope.explain.ftrace import Events, Layout, Pages
from rtscope.explain.recorded import explained_window, formats_of, layout_of, packed
from rtscope.explain.tracedat import trace_dat
from rtscope.model.recording import EventFormat, RecordedWindow, Recording

LAYOUT = Layout(4096, 8)
CPUS = 64
OUTLIERS = 100
COUNT = 200_000
STEP_NS = 10_000
DUE = 10**12


def cycle(cpu: int, number: int) -> list[Event]:
    """A timer's interrupt that wakes a thread, and the two switches: six events."""
    at, thread = DUE + number * STEP_NS, 1000 + cpu
    names: dict[str, int | str] = {"prev_comm": "make", "prev_pid": 7, "prev_prio": 120}
    back: dict[str, int | str] = {"next_comm": "make", "next_pid": 7, "next_prio": 120}
    mine: dict[str, int | str] = {"next_comm": "cyclic", "next_pid": thread, "next_prio": 19}
    gone: dict[str, int | str] = {"prev_comm": "cyclic", "prev_pid": thread, "prev_state": 1}
    wake: dict[str, int | str] = {"comm": "cyclic", "pid": thread, "prio": 19, "target_cpu": cpu}
    return [
        Event(at + 100, "local_timer_entry", 7, {"vector": 236}),
        Event(at + 400, "sched_waking", 7, wake),
        Event(at + 700, "local_timer_exit", 7, {"vector": 236}),
        Event(at + 900, "softirq_entry", 7, {"vec": 1}),
        Event(at + 1200, "softirq_exit", 7, {"vec": 1}),
        Event(at + 1500, "sched_switch", 7, names | mine),
        Event(at + 5000, "sched_switch", thread, gone | back),
    ]


def recording_of(parts: list[Pages], windows: list[RecordedWindow]) -> Recording:
    """A recording with these pages in one window, or with these windows."""
    whole = RecordedWindow(DUE, 1, -1, -1, [packed(one.cpu, one.data) for one in parts])
    return Recording(
        clock="mono",
        page_size=LAYOUT.page_size,
        commit_size=8,
        little_endian=True,
        events=[EventFormat(f"bench/{one.name}", format_text(one.name)) for one in FORMATS],
        windows=windows or [whole],
    )


def cpu_seconds(work: Callable[[], object], who: int = resource.RUSAGE_SELF) -> float:
    """The CPU time of some work."""
    before = resource.getrusage(who)
    work()
    after = resource.getrusage(who)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def decoding() -> None:
    """Events a second of both."""
    cycles = COUNT // 4 // 7
    parts = [
        pages_of(cpu, [one for n in range(cycles) for one in cycle(cpu, n)], LAYOUT)
        for cpu in range(4)
    ]
    count = 4 * cycles * 7
    ours = min(cpu_seconds(lambda: Moments(Events(parts, LAYOUT, FORMATS))) for _ in range(3))
    columns = min(cpu_seconds(lambda: Events(parts, LAYOUT, FORMATS)) for _ in range(3))
    with tempfile.TemporaryDirectory(prefix="rtscope-bench-") as folder:
        path = Path(folder) / "trace.dat"
        path.write_bytes(trace_dat(recording_of(parts, [])))
        with (Path(folder) / "report").open("wb") as out:
            theirs = min(
                cpu_seconds(
                    lambda: subprocess.run(
                        ["trace-cmd", "report", "-i", str(path)], stdout=out, check=True
                    ),
                    resource.RUSAGE_CHILDREN,
                )
                for _ in range(3)
            )
    print(f"{count:,} events")
    print(f"trace-cmd report: {count / theirs:,.0f} events/s")
    print(f"rtscope, decoded: {count / columns:,.0f} events/s, {theirs / columns:.1f} times")
    print(f"rtscope, with all fields: {count / ours:,.0f} events/s, "
          f"{theirs / ours:.1f} times")  # fmt: skip


def explaining() -> None:
    """Seconds for 100 outliers of 64 CPUs."""
    parts = [
        packed(cpu, pages_of(cpu, [one for n in range(15) for one in cycle(cpu, n)], LAYOUT).data)
        for cpu in range(CPUS)
    ]
    window = RecordedWindow(DUE + 5 * STEP_NS, 3000, 1000, 0, parts)
    recording = recording_of([], [window])
    layout, formats = layout_of(recording), formats_of(recording)

    def explain() -> None:
        for number in range(OUTLIERS):
            other = msgspec.structs.replace(
                window, due_ns=window.due_ns + number % 3, tid=1000 + number % CPUS
            )
            explained_window(other, layout, formats, 0, DUE)

    wall = time.monotonic()
    used = cpu_seconds(explain)
    print(f"{OUTLIERS} outliers of {CPUS} CPUs, {15 * 7 * CPUS:,} events each: "
          f"{used:.1f} s of CPU time, {time.monotonic() - wall:.1f} s in all")  # fmt: skip


if __name__ == "__main__":
    decoding()
    explaining()
