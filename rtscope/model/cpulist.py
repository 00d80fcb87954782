# SPDX-License-Identifier: GPL-2.0-only
"""CPU lists as the kernel and taskset write them: `0-3,8` and, with a stride, `0-6:2`."""

import re
from collections.abc import Iterable
from itertools import pairwise
from typing import Final

from rtscope.model.errors import RtscopeError

MOST_CPUS: Final = 8192
"""The largest NR_CPUS of any architecture; a CPU number is below it."""

_PART: Final = re.compile(r"([0-9]{1,4})(?:-([0-9]{1,4})(?::([0-9]{1,4}))?)?")


def parse_cpu_list(text: str) -> list[int]:
    """The CPU numbers of a list, ascending, each once; an empty text is an empty list.

    Raises RtscopeError.
    """
    if len(text) > 8 * MOST_CPUS:
        raise RtscopeError(f"'{text[:40]}...' is longer than a list of {MOST_CPUS} CPUs can be")
    cpus: set[int] = set()
    named = 0
    for part in text.split(",") if text.strip() else []:
        match = _PART.fullmatch(part.strip())
        if match is None:
            raise RtscopeError(
                f"'{text[:80]}' is not a CPU list: '{part[:40]}' is neither a CPU nor a range; "
                "write for example 0-3,8 or 0-6:2"
            )
        first = int(match[1])
        last = int(match[2] or match[1])
        stride = int(match[3] or 1)
        if first > last or stride < 1 or last >= MOST_CPUS:
            raise RtscopeError(
                f"'{text[:80]}' is not a CPU list: '{part}' must run upwards, within 0 to "
                f"{MOST_CPUS - 1}, in steps of at least 1"
            )
        numbers = range(first, last + 1, stride)
        named += len(numbers)
        if named > 2 * MOST_CPUS:
            raise RtscopeError(f"'{text[:40]}...' is not a CPU list: it repeats itself")
        cpus.update(numbers)
    return sorted(cpus)


def format_cpu_list(cpus: Iterable[int]) -> str:
    """The shortest list of ranges for these CPU numbers, as the kernel prints it: `0-3,8`."""
    numbers = sorted(set(cpus))
    gaps = [index for index, (low, high) in enumerate(pairwise(numbers), 1) if high > low + 1]
    ranges = [numbers[start:end] for start, end in pairwise([0, *gaps, len(numbers)])]
    return ",".join(f"{run[0]}-{run[-1]}" if len(run) > 1 else str(run[0]) for run in ranges if run)


def cpus_named(cpus: Iterable[int]) -> str:
    """CPU 3, or CPUs 0-1,3."""
    numbers = set(cpus)
    return f"CPU{'s' if len(numbers) > 1 else ''} {format_cpu_list(numbers)}"
