# SPDX-License-Identifier: GPL-2.0-only
"""Differences between the measurements of two runs."""

from typing import Literal

import msgspec

from rtscope.model.cpulist import format_cpu_list
from rtscope.model.run import Run
from rtscope.model.units import format_duration_ns
from rtscope.statistics.work import work_per_second

_WORK_MAY_DIFFER = 1.1


class Difference(msgspec.Struct, frozen=True):
    """One difference between the measurements of two runs."""

    kind: Literal[
        "partial", "low-resolution", "warning", "setting", "load-work", "only",
        "assumed-independent",
    ]  # fmt: skip
    of: str = ""
    """a setting, a load, a status, or the text of a warning of the system under test"""
    a: str | float | None = None
    b: str | float | None = None
    unit: str = ""
    side: Literal["", "A", "B"] = ""
    """the run with it; empty for both"""
    names: list[str] = []
    """series of only one run, or runs without latency over time"""


def differences(a: Run, b: Run) -> list[Difference]:
    """The differences between two measurements, gravest first; empty if there are none."""
    flaws = [*_flaws("A", a), *_flaws("B", b)]
    return [*flaws, *_warnings(a, b), *_settings(a, b), *_loads(a, b)]


def _flaws(side: Literal["A", "B"], run: Run) -> list[Difference]:
    found = []
    if run.status != "complete":
        found.append(Difference("partial", run.status, side=side))
    if run.machine.high_resolution_timers is False:
        found.append(Difference("low-resolution", side=side))
    return found


def _warnings(a: Run, b: Run) -> list[Difference]:
    """Each warning once, also if both runs have it."""
    of_a, of_b = ([one.text for one in run.warnings] for run in (a, b))
    return [
        *(Difference("warning", text, side="" if text in of_b else "A") for text in of_a),
        *(Difference("warning", text, side="B") for text in of_b if text not in of_a),
    ]


def _settings(a: Run, b: Run) -> list[Difference]:
    pairs = [
        ("load", a.load, b.load),
        ("CPU model", a.machine.cpu_model, b.machine.cpu_model),
        ("virtualisation", a.machine.virtualisation, b.machine.virtualisation),
        ("kernel", a.machine.kernel_release, b.machine.kernel_release),
        ("kernel build", a.machine.kernel_version, b.machine.kernel_version),
        ("preemption model", a.machine.preemption, b.machine.preemption),
        ("kernel command line", a.machine.command_line, b.machine.command_line),
        ("clock source", a.machine.clock_source, b.machine.clock_source),
        ("measuring tool", a.source, b.source),
        ("interval", _time(a.asked.interval_ns), _time(b.asked.interval_ns)),
        ("policy", _policies(a), _policies(b)),
        *_idle_states(a, b),
        ("CPUs", _cpus(a), _cpus(b)),
        *((name, _option(a, name), _option(b, name)) for name in _option_names(a, b)),
    ]
    return [
        Difference("setting", what, left or None, right or None)
        for what, left, right in pairs
        if left != right
    ]


def _idle_states(a: Run, b: Run) -> list[tuple[str, str | None, str | None]]:
    """The limits in effect, if both are recorded."""
    if not (a.idle_states and b.idle_states):
        return []
    left, right = a.idle_states.effective_ns, b.idle_states.effective_ns
    return [("limit on the exit latency of idle states", _time(left), _time(right))]


def _option_names(a: Run, b: Run) -> list[str]:
    return sorted({*a.asked.options, *b.asked.options}) if a.source == b.source else []


def _option(run: Run, name: str) -> str | None:
    value = run.asked.options.get(name)
    return None if value is None else str(value)


def _time(ns: int | None) -> str | None:
    return None if ns is None else format_duration_ns(ns)


def _policies(run: Run) -> str:
    return ", ".join(sorted({f"{thread.policy}:{thread.priority}" for thread in run.threads}))


def _cpus(run: Run) -> str:
    if run.placement_series:
        used = {cpu for cell in run.placement_series.cells for cpu in cell.placement.cpus}
        return format_cpu_list(used)
    numbers = sorted(thread.cpu for thread in run.threads if thread.cpu is not None)
    loose = sum(thread.cpu is None for thread in run.threads)
    listed = ",".join(str(number) for number in numbers)
    return f"{listed}{' and ' if listed and loose else ''}{f'{loose} not pinned' if loose else ''}"


def _loads(a: Run, b: Run) -> list[Difference]:
    left = {load.name: work_per_second(load) for load in a.loads}
    right = {load.name: work_per_second(load) for load in b.loads}
    found = []
    for name in sorted(left.keys() & right.keys()):
        for unit in sorted(left[name].keys() & right[name].keys()):
            one, other = left[name][unit], right[name][unit]
            if max(one, other) > _WORK_MAY_DIFFER * min(one, other):
                found.append(Difference("load-work", name, one, other, unit))
    return found
