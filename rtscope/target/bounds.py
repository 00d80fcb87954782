# SPDX-License-Identifier: GPL-2.0-only
"""Limits of an agent's output: an agent is not trusted, on any target.

An agent has at most 1024 CPUs (CPUS_MAX) and 1088 measuring threads (ROLES_MAX), and its histograms
have 55,296 buckets in a result and 1888 in a progress line. The limits are what the largest
systems in use can need, not all of these at once.
"""

from typing import Final

import msgspec

from rtscope.model.errors import RtscopeError
from rtscope.model.points import Points
from rtscope.model.progress import Progress
from rtscope.model.threads import Threads
from rtscope.target.protocol import League, TraceWindow

MIB: Final = 1024 * 1024

LONGEST_LINE: Final = 64 * MIB
"""bytes: a slowdown matrix of 380 CPUs, with 19 repeats and 3 numbers of 20 bytes a cell"""
MOST_VALUES: Final = 4 * MIB
"""JSON values in a line: those of a matrix of 1024 x 1024 cells with its limits; 64 MiB of
numbers with 17 digits are fewer. In memory a value takes 32 to 75 bytes."""
MOST_KEPT: Final = 8 * MIB
"""JSON values in all lines of a run that are kept, so all but what replaces the line before: the
matrices of topology on 256 CPUs, or 1088 histograms of 2500 buckets each"""
MOST_BYTES: Final = 256 * MIB
"""bytes in a run, on any of its channels: MOST_KEPT numbers of 20 bytes, and as much again"""
BYTES_PER_S: Final = 16 * MIB
"""bytes more for each second that it lasts: four progress lines a second of 1088 threads take 5
MB, and ten readings of 2000 threads 14 MB"""
MOST_LINES: Final = 100_000
"""lines in a run: 40,000 files, or the changes of all threads of a large system"""
LINES_PER_S: Final = 1000
"""lines more for each second: a progress line comes each 10 ms at most"""
MOST_STDERR: Final = 64 * 1024
"""stored bytes of standard error"""

ANSWER_S: Final = 600.0
"""seconds for an answer other than a measurement: 4 MB of files over a serial line of 115,200 baud
take 365 s"""
PROMPT_S: Final = 60.0
"""seconds for an answer that needs no work, besides those that its bytes take"""
SLOWEST_BYTES_PER_S: Final = 8000
"""bytes that the slowest connection in use carries: a serial line of 115,200 baud has 11,520"""
DESCRIBE_S: Final = 60.0
"""seconds for the description of the probes, 26 kB by a local agent"""
SETUP_S: Final = 120.0
"""seconds until measuring begins: 60 s for the loads, and as much for tuning and connecting"""
ENDING_S: Final = 60.0
"""seconds beyond the duration: loads end within 3 s; 500 kB of results take 45 s at 115,200 baud"""
REPEAT_S: Final = 3600.0
"""seconds for a repeat that has begun, for probes that end with a whole one: topology on 256 CPUs
takes 49 minutes, and memory 12 s for each 100 MiB of last-level cache"""
INTERRUPTED_S: Final = 20.0
"""seconds from an interrupt to the end: a watchdog connection kills the agent after 15 s"""
LONGEST_STEP_S: Final = 10.0
"""maximum counted seconds between two checks: if more have passed, rtscope itself was stopped"""


class Span(msgspec.Struct, frozen=True):
    """How long an agent may take, in seconds of its target's clock."""

    answer_s: float = ANSWER_S
    """until its end, or until measuring begins; infinite if it runs until Ctrl-C"""
    duration_s: float | None = None
    """of the measurement as it was asked for; None: what the agent says, if it says any"""
    repeat_s: float = 0.0
    """beyond that duration, of a probe that ends with a whole repeat"""
    prompt: bool = False
    """it ends also after PROMPT_S and the time that its bytes take on the slowest connection"""


class Allowance:
    """The remaining allowance of an agent's output."""

    def __init__(self) -> None:
        """Start with the full allowance."""
        self._bytes = 0
        self._lines = 0
        self._kept = 0

    def take_bytes(self, count: int, lasted_s: float) -> None:
        """Count bytes of any channel. Raises RtscopeError above the limit."""
        self._bytes += count
        most = MOST_BYTES + BYTES_PER_S * lasted_s
        if self._bytes > most:
            raise RtscopeError(
                f"the agent sent more than {most / MIB:.0f} MiB in {lasted_s:.0f} s and was ended"
            )

    def take_line(self, raw: bytes, lasted_s: float) -> None:
        """Count a line before it is decoded. Raises RtscopeError above the limits."""
        self._lines += 1
        most = MOST_LINES + LINES_PER_S * lasted_s
        if self._lines > most:
            raise RtscopeError(
                f"the agent sent more than {most:.0f} lines in {lasted_s:.0f} s and was ended"
            )
        if raw.count(b",") > MOST_VALUES:
            raise RtscopeError(
                f"the agent sent a line of more than {MOST_VALUES} values and was ended"
            )

    def keep(self, line: object, raw: bytes) -> None:
        """Count the stored values of a line. Raises RtscopeError above the limit."""
        if isinstance(line, Progress | Points | Threads | TraceWindow | League):
            return
        self._kept += raw.count(b",") + 1
        if self._kept > MOST_KEPT:
            raise RtscopeError(
                f"the agent sent results of more than {MOST_KEPT} values and was ended"
            )


def check_length(pending: int) -> None:
    """Raise RtscopeError if an unfinished line is too long."""
    if pending > LONGEST_LINE:
        raise RtscopeError(
            f"the agent sent a line of more than {LONGEST_LINE // MIB} MiB and was ended"
        )
