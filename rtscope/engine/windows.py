# SPDX-License-Identifier: GPL-2.0-only
"""Latency over time in bounded memory."""

import msgspec

from rtscope.model.progress import WindowProgress
from rtscope.model.run import Windows

MOST_WINDOWS = 2048


class WindowLog(msgspec.Struct):
    """The windows of one thread; adjacent windows are merged when there are too many."""

    end_ns: list[int] = []
    count: list[int] = []
    sum_ns: list[float] = []
    max_ns: list[int] = []
    joined: int = 1
    """number of progress lines in each window"""
    open_lines: int = 0
    """number of lines in the last window so far"""

    def add(self, end_ns: int, window: WindowProgress) -> None:
        """Add a progress line."""
        total = window.count * (window.mean_ns or 0.0)
        largest = window.max_ns or 0
        if 0 < self.open_lines < self.joined:
            self.end_ns[-1] = end_ns
            self.count[-1] += window.count
            self.sum_ns[-1] += total
            self.max_ns[-1] = max(self.max_ns[-1], largest)
            self.open_lines += 1
        else:
            if len(self.count) == MOST_WINDOWS:
                self._halve()
            self.end_ns.append(end_ns)
            self.count.append(window.count)
            self.sum_ns.append(total)
            self.max_ns.append(largest)
            self.open_lines = 1

    def _halve(self) -> None:
        self.end_ns = self.end_ns[1::2]
        self.count = [a + b for a, b in zip(self.count[::2], self.count[1::2], strict=True)]
        self.sum_ns = [a + b for a, b in zip(self.sum_ns[::2], self.sum_ns[1::2], strict=True)]
        self.max_ns = [max(a, b) for a, b in zip(self.max_ns[::2], self.max_ns[1::2], strict=True)]
        self.joined *= 2

    def windows(self) -> Windows:
        """Return the record, without empty windows."""
        kept = [index for index, count in enumerate(self.count) if count]
        return Windows(
            end_ns=[self.end_ns[index] for index in kept],
            count=[self.count[index] for index in kept],
            mean_ns=[self.sum_ns[index] / self.count[index] for index in kept],
            max_ns=[self.max_ns[index] for index in kept],
        )
