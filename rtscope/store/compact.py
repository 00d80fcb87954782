# SPDX-License-Identifier: GPL-2.0-only
"""A run in few bytes: its histograms apart from the rest of the record.

A histogram is three lists of integers. Of these, the gaps between buckets are mostly 0, widths are
mostly those of the bucket before, and counts are small: msgpack writes such integers in one byte,
and zlib then removes most of them. The histograms are apart so that those of many runs
can be read and merged without their records.
"""

import zlib
from collections.abc import Iterator, Sequence
from itertools import accumulate
from operator import add, sub
from typing import Final

import msgspec

from rtscope.model.errors import RtscopeError
from rtscope.model.histogram import Histogram
from rtscope.model.run import Member, Run, Thread
from rtscope.store.runfile import MOST_BYTES, check_run, encode_run

_Packed = tuple[list[int], list[int], list[int], int, int]
_PackedRun = tuple[list[_Packed], list[_Packed]]
_UNREADABLE: Final = (zlib.error, msgspec.MsgspecError, ValueError, OverflowError)


def encode(run: Run) -> tuple[bytes, bytes]:
    """The record without its histograms, and the histograms."""
    emptied = iter(Histogram, None)
    bare = msgspec.structs.replace(
        run,
        threads=_with_histograms(run.threads, emptied),
        members=_members_with_histograms(run.members, emptied),
    )
    packed = (
        [_packed(thread.histogram) for thread in run.threads],
        [_packed(thread.histogram) for thread in _members_threads(run)],
    )
    return zlib.compress(encode_run(bare)), zlib.compress(msgspec.msgpack.encode(packed))


def decode(record: bytes, histograms: bytes) -> Run:
    """Read the output of encode. Raises RtscopeError."""
    found, of_members = _unpacked_all(histograms)
    try:
        bare = msgspec.json.decode(_decompressed(record), type=Run)
    except _UNREADABLE as error:
        raise RtscopeError(f"its record is damaged: {error}") from None
    if (len(found), len(of_members)) != (len(bare.threads), len(list(_members_threads(bare)))):
        raise RtscopeError(f"it has {len(found)} histograms for {len(bare.threads)} threads")
    run = msgspec.structs.replace(
        bare,
        threads=_with_histograms(bare.threads, iter(found)),
        members=_members_with_histograms(bare.members, iter(of_members)),
    )
    check_run(run)
    return run


def decode_histograms(histograms: bytes) -> list[Histogram]:
    """The histograms of a run's threads in order, without its record. Raises RtscopeError."""
    return _unpacked_all(histograms)[0]


def _unpacked_all(histograms: bytes) -> tuple[list[Histogram], list[Histogram]]:
    """The histograms of the threads, and those of the threads of the members."""
    try:
        found, of_members = msgspec.msgpack.decode(_decompressed(histograms), type=_PackedRun)
        return [_unpacked(one) for one in found], [_unpacked(one) for one in of_members]
    except _UNREADABLE as error:
        raise RtscopeError(f"its histograms are damaged: {error}") from None


def _packed(histogram: Histogram) -> _Packed:
    lower, width = histogram.lower_ns, histogram.width_ns
    gaps = list(map(sub, lower, [0, *map(add, lower, width)]))
    steps = list(map(sub, width, [0, *width]))
    return gaps, steps, histogram.count, histogram.beyond_count, histogram.beyond_ns


def _unpacked(packed: _Packed) -> Histogram:
    gaps, steps, count, beyond_count, beyond_ns = packed
    width = list(accumulate(steps))
    lower = list(accumulate(map(add, gaps, [0, *width[:-1]])))
    return Histogram(lower, width, count, beyond_count, beyond_ns)


def _decompressed(data: bytes) -> bytes:
    stream = zlib.decompressobj()
    result = stream.decompress(data, MOST_BYTES)
    if not stream.eof:
        raise ValueError("the compressed data are incomplete")
    return result


def _members_threads(run: Run) -> Iterator[Thread]:
    for member in run.members:
        yield from member.threads


def _with_histograms(threads: Sequence[Thread], histograms: Iterator[Histogram]) -> list[Thread]:
    return [msgspec.structs.replace(one, histogram=next(histograms)) for one in threads]


def _members_with_histograms(
    members: Sequence[Member], histograms: Iterator[Histogram]
) -> list[Member]:
    return [
        msgspec.structs.replace(one, threads=_with_histograms(one.threads, histograms))
        for one in members
    ]
