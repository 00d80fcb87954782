# SPDX-License-Identifier: GPL-2.0-only
"""The state of a run from its progress lines, for runs whose agent dies."""

from typing import Final

import msgspec

from rtscope.engine.windows import WindowLog
from rtscope.model.errors import RtscopeError
from rtscope.model.histogram import Histogram
from rtscope.model.progress import Progress, ThreadProgress
from rtscope.model.run import LoadWork, Thread, Windows
from rtscope.model.units import LONGEST_NS
from rtscope.target.protocol import Start, StartThread

_BUCKETS_A_POWER: Final = 32
"""number of buckets for each power of two in progress lines (docs/reference/protocol.md)"""
_MOST_BUCKETS: Final = 1 << 20
"""limit for all threads: 1088 threads with 960 buckets (thirty powers of two) each"""


class SoFar(msgspec.Struct):
    """The last progress line, and the sums of all of them by thread."""

    progress: Progress | None = None
    windows: dict[int, WindowLog] = {}
    gained: dict[int, dict[int, int]] = {}
    """count by the bucket's lower limit in ns; no more than 1888 of them a thread"""

    def take(self, progress: Progress) -> None:
        """Add a progress line. Raises RtscopeError where it is invalid."""
        for thread in progress.threads:
            log = self.windows.setdefault(thread.thread, WindowLog())
            log.add(progress.time_ns, thread.window)
            counts = self.gained.setdefault(thread.thread, {})
            for lower_ns, count in thread.gained:
                if lower_ns % bucket_width_ns(lower_ns):
                    raise RtscopeError(
                        f"the agent sent an impossible progress: no bucket begins at {lower_ns} ns"
                    )
                counts[lower_ns] = min(counts.get(lower_ns, 0) + count, LONGEST_NS)
        if sum(map(len, self.gained.values())) > _MOST_BUCKETS:
            raise RtscopeError(
                f"the agent sent progress of more than {_MOST_BUCKETS} buckets in all threads"
            )
        self.progress = progress

    def windows_of(self, thread: int) -> Windows:
        """Return the latency over time of a thread."""
        return self.windows.get(thread, WindowLog()).windows()

    def threads(self, start: Start) -> list[Thread]:
        """Return the threads with the data of the last progress line."""
        seen = {one.thread: one for one in self.progress.threads} if self.progress else {}
        return [self._thread(one, seen.get(one.thread)) for one in start.threads]

    def loads(self, start: Start) -> list[LoadWork]:
        """Return the work of the loads up to the last progress line."""
        if self.progress is None or len(self.progress.loads) != len(start.loads):
            return []
        return [
            LoadWork(load.name, load.strength, load.seed, self.progress.time_ns / 1e9, done.work)
            for load, done in zip(start.loads, self.progress.loads, strict=True)
        ]

    def _thread(self, start: StartThread, last: ThreadProgress | None) -> Thread:
        histogram, low, high = self._histogram(start.thread, last)
        return Thread(
            thread=start.thread,
            cpu=start.cpu,
            policy=start.policy,
            priority=start.priority,
            count=histogram.total,
            histogram=histogram,
            min_ns=low,
            max_ns=high,
            mean_ns=last.mean_ns if last else None,
            missed=last.missed if last else 0,
            name=start.name,
            windows=self.windows_of(start.thread),
        )

    def _histogram(
        self, thread: int, last: ThreadProgress | None
    ) -> tuple[Histogram, int | None, int | None]:
        """With the limits of its samples. A line's metrics are read while the thread goes on, so
        that it may have a sample in its buckets that its other metrics lack."""
        low, high = (last.min_ns, last.max_ns) if last else (None, None)
        counts = sorted((lower, n) for lower, n in self.gained.get(thread, {}).items() if n)
        if not counts:
            count = last.count if last else 0
            return Histogram(beyond_count=count, beyond_ns=low or 0), low, high
        lowers = [lower for lower, _ in counts]
        widths = [bucket_width_ns(lower) for lower in lowers]
        try:
            histogram = Histogram(lowers, widths, [count for _, count in counts])
        except ValueError as error:
            raise RtscopeError(f"the agent sent an impossible histogram: {error}") from error
        low = lowers[0] if low is None else min(max(low, lowers[0]), lowers[0] + widths[0] - 1)
        return histogram, low, max(high or 0, lowers[-1])


def bucket_width_ns(lower_ns: int) -> int:
    """Return the width of the bucket that begins there."""
    return max(1, (1 << lower_ns.bit_length() >> 1) // _BUCKETS_A_POWER)
