# SPDX-License-Identifier: GPL-2.0-only
"""Whether a system is quiet: no load, no other agent, temperature and clock settled.

It is what two readings of the files that the agent sends for an audit differ in.
"""

import re
from collections.abc import Iterator
from typing import Final

import msgspec

from rtscope.target.fingerprint.files import Files, number_of, text_of

BUSY_SHARE: Final = 0.05
"""of all CPUs' time; a board that idles uses less than 1 %"""
WARMER_MC: Final = 2000
"""millidegrees between two readings that are still settled"""
FASTER_SHARE: Final = 0.05
"""of the clock's frequency, likewise, where its governor is a fixed one"""
_AGENT: Final = "rtscope-agent"
_TASK: Final = re.compile(r"/proc/[0-9]{1,10}/task/([0-9]{1,10})/stat")
# A thread that has ended is in the list until its parent asks for it.
_STAT: Final = re.compile(r"\d+ \((.*)\) (?![ZX])\S((?: -?\d{1,20}){38,})\s*", re.DOTALL | re.ASCII)
_ZONE: Final = re.compile(r"/sys/class/(?:thermal/thermal_zone|hwmon/hwmon)\d+/temp\d*(?:_input)?")
_CLOCK: Final = re.compile(r"(/sys/devices/system/cpu/cpu\d+/cpufreq/)scaling_cur_freq")
_FIXED: Final = frozenset({"performance", "powersave", "userspace"})
_MOST_NAMED: Final = 3


class Ticks(msgspec.Struct, frozen=True):
    """Time that a system's CPUs have spent, in the kernel's ticks."""

    busy: int
    all: int


def disturbances(before: Files, after: Files) -> list[str]:
    """What disturbs a measurement, in sentences; nothing where the system is quiet."""
    return [
        *_load(before, after),
        *_agents(after),
        *_warming(before, after),
        *_clocks(before, after),
    ]


def _load(before: Files, after: Files) -> Iterator[str]:
    first, second = _ticks(before), _ticks(after)
    if not first or not second or second.all <= first.all:
        return
    # The agent that reads costs as much in each of both readings.
    busy = second.busy - first.busy - 2 * _own_ticks(after)
    share = busy / (second.all - first.all)
    if share <= BUSY_SHARE:
        return
    spent, earlier = _spent(after), _spent(before)
    users = sorted(
        ((ticks - earlier.get(tid, (name, 0))[1], name) for tid, (name, ticks) in spent.items()),
        reverse=True,
    )
    named = ", ".join(f"{name}" for ticks, name in users[:_MOST_NAMED] if ticks > 0)
    yield f"its CPUs are busy for {100 * share:.0f} % of the time" + f" ({named})" * bool(named)


def _ticks(files: Files) -> Ticks | None:
    """From the first line of /proc/stat: all but idle and waiting for I/O is busy."""
    fields = text_of(files, "/proc/stat").split("\n", 1)[0].split()
    if len(fields) < 9 or fields[0] != "cpu" or not all(one.isdecimal() for one in fields[1:9]):
        return None
    numbers = [int(one[:18]) for one in fields[1:9]]
    everything = sum(numbers)
    return Ticks(everything - numbers[3] - numbers[4], everything)


def _threads(files: Files) -> Iterator[tuple[str, str, list[str]]]:
    """Number, name and the fields after the state of each thread."""
    for path in files:
        task = _TASK.fullmatch(path)
        stat = _STAT.fullmatch(text_of(files, path)) if task else None
        if task and stat:
            yield task[1], _printable(stat[1]), stat[2].split()


def _spent(files: Files) -> dict[str, tuple[str, int]]:
    """Name and ticks of each thread."""
    return {tid: (name, _ticks_of(fields)) for tid, name, fields in _threads(files)}


def _ticks_of(fields: list[str]) -> int:
    return int(fields[10]) + int(fields[11])


def _own_session(files: Files) -> str:
    """The session of the agent that read the files, and of what started it."""
    found = re.search(r"^Pid:\s+(\d{1,10})$", text_of(files, "/proc/self/status"), re.MULTILINE)
    fields = {tid: fields for tid, _, fields in _threads(files)}
    return fields[found[1]][2] if found and found[1] in fields else ""


def _own_ticks(files: Files) -> int:
    own = _own_session(files)
    return sum(_ticks_of(fields) for _, _, fields in _agent_threads(files) if fields[2] == own)


def _agents(files: Files) -> Iterator[str]:
    """Agents other than the one that reads this."""
    own = _own_session(files)
    for tid, _, fields in _agent_threads(files):
        if fields[2] != own:
            yield f"another rtscope agent runs there (thread {tid})"
            return


def _agent_threads(files: Files) -> Iterator[tuple[str, str, list[str]]]:
    # The kernel keeps 15 characters of a name.
    return (one for one in _threads(files) if one[1].startswith(_AGENT))


def _warming(before: Files, after: Files) -> Iterator[str]:
    for path in after:
        if not _ZONE.fullmatch(path):
            continue
        first, second = number_of(before, path), number_of(after, path)
        if first is not None and second is not None and abs(second - first) > WARMER_MC:
            yield (
                f"its temperature is not settled: {first / 1000:.0f} to {second / 1000:.0f} "
                f"degrees Celsius ({path})"
            )
            return


def _clocks(before: Files, after: Files) -> Iterator[str]:
    """Frequencies that move although the governor is one that keeps them."""
    for path in after:
        found = _CLOCK.fullmatch(path)
        if not found or text_of(after, f"{found[1]}scaling_governor").strip() not in _FIXED:
            continue
        first, second = number_of(before, path), number_of(after, path)
        if first and second and abs(second - first) > FASTER_SHARE * first:
            yield (
                f"its clock is not settled: {first / 1000:.0f} to {second / 1000:.0f} MHz ({path})"
            )
            return


def _printable(name: str) -> str:
    return "".join(one if one.isprintable() else " " for one in name[:64]).strip()
