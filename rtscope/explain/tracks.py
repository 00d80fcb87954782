# SPDX-License-Identifier: GPL-2.0-only
"""What the CPUs did around a late sample, to be drawn."""

from collections.abc import Iterable
from typing import Final

from rtscope.explain.activity import Doing, Moments, doings
from rtscope.model.timeline import CpuTrack, Stretch

_MOST_TRACKS: Final = 16
_MOST_STRETCHES: Final = 250
"""of a track: the longest"""
_LEAST_MARGIN_NS: Final = 20_000
_MOST_MARGIN_NS: Final = 200_000
_HANDLERS: Final = frozenset({"hard-interrupt", "soft-interrupt", "nmi", "lock", "page-fault"})


def tracks_of(
    moments: Moments, begin: int, end: int, late: set[int]
) -> tuple[int, int, list[CpuTrack]]:
    """The time before and after the sample, and the tracks: of the CPUs `late`, and the busiest."""
    before_ns = min(max((end - begin) // 4, _LEAST_MARGIN_NS), _MOST_MARGIN_NS)
    after_ns = before_ns // 2
    start, stop = begin - before_ns, end + after_ns
    found = []
    for cpu in {*moments.cpus} | {cpu for cpu in late if cpu >= 0}:
        busy_ns, track = _track(moments, cpu, start, stop)
        found.append((cpu not in late, -busy_ns, cpu, track))
    shown = [track for *_, track in sorted(found, key=lambda one: one[:3])[:_MOST_TRACKS]]
    return before_ns, after_ns, sorted(shown, key=lambda track: track.cpu)


def _track(moments: Moments, cpu: int, start: int, stop: int) -> tuple[int, CpuTrack]:
    """How long the CPU was busy, and its track."""
    seen = list(doings(moments, cpu, start, stop, lasts=True))
    name = moments.events.task_name
    tasks = joined(
        ((one.start_ns, one.end_ns, name(one.tid)) for one in seen if one.tid >= 0), start
    )
    handlers = joined(
        ((one.start_ns, one.end_ns, _handler(one)) for one in seen if one.context in _HANDLERS),
        start,
    )
    busy_ns = sum(one.end_ns - one.start_ns for one in seen if one.tid > 0 or one.context)
    return busy_ns, CpuTrack(cpu, _longest(tasks), _longest(handlers))


def _handler(doing: Doing) -> str:
    match doing.context:
        case "nmi":
            return "NMI"
        case "lock":
            return "waits for a lock"
        case "page-fault":
            return "page fault"
        case _:
            return doing.name


def joined(named: Iterable[tuple[int, int, str]], start: int) -> list[Stretch]:
    """Join neighbours of one name: (start and end in ns, name); times since `start`."""
    found: list[Stretch] = []
    for start_ns, end_ns, name in named:
        at, ns = start_ns - start, end_ns - start_ns
        last = found[-1] if found else None
        if last and last.name == name and last.start_ns + last.ns == at:
            found[-1] = Stretch(last.start_ns, last.ns + ns, name)
        else:
            found.append(Stretch(at, ns, name))
    return found


def _longest(stretches: list[Stretch]) -> list[Stretch]:
    """In chronological order."""
    kept = sorted(stretches, key=lambda one: -one.ns)[:_MOST_STRETCHES]
    return sorted(kept, key=lambda one: one.start_ns)
