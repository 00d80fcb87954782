# SPDX-License-Identifier: GPL-2.0-only
"""A latency histogram that loses nothing: every sample is in a bucket of known width."""

from operator import add, lt
from typing import Self

import msgspec

from rtscope.model.units import LONGEST_NS


class Histogram(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Sparse counts of latencies; bucket i begins at lower_ns[i] and is width_ns[i] wide.

    The agent's own histograms are exact to 1 ns below 2048 ns and at worst 1/1024 wide above.
    Imported ones carry the width of the tool that wrote them. `beyond_count` samples are known to
    have been at or above `beyond_ns`, but that tool did not keep where.
    Raises ValueError when buckets are empty, unordered or overlap.
    """

    lower_ns: list[int] = []
    width_ns: list[int] = []
    count: list[int] = []
    beyond_count: int = 0
    beyond_ns: int = 0

    def __post_init__(self) -> None:
        if not len(self.lower_ns) == len(self.width_ns) == len(self.count):
            raise ValueError("histogram lists lower_ns, width_ns and count differ in length")
        ends = list(map(add, self.lower_ns, self.width_ns))
        if any(map(lt, self.lower_ns, [0, *ends])):
            pairs = zip(self.lower_ns, [0, *ends], strict=False)
            bad = next(lower for lower, end in pairs if lower < end)
            raise ValueError(f"histogram bucket at {bad} ns overlaps or precedes the last")
        for column in (self.width_ns, self.count):
            if column and min(column) < 1:
                bad = self.lower_ns[next(i for i, value in enumerate(column) if value < 1)]
                raise ValueError(f"histogram bucket at {bad} ns has no width or no count")
        end = ends[-1] if ends else 0
        if end - 1 > LONGEST_NS or sum(self.count) > LONGEST_NS:
            raise ValueError("histogram goes beyond 2^63")
        if self.beyond_count < 0 or self.beyond_count > LONGEST_NS:
            raise ValueError("histogram has an impossible count of samples beyond its end")
        if self.beyond_count and self.beyond_ns < end:
            raise ValueError("histogram's samples beyond its end lie inside it")

    @property
    def total(self) -> int:
        """All samples, those beyond the end included."""
        return sum(self.count) + self.beyond_count

    @classmethod
    def of(cls, latencies_ns: list[int]) -> Self:
        """Exact histogram of a few samples, one bucket a value."""
        counts: dict[int, int] = {}
        for latency in sorted(latencies_ns):
            counts[latency] = counts.get(latency, 0) + 1
        return cls(list(counts), [1] * len(counts), list(counts.values()))
