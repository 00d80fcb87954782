# SPDX-License-Identifier: GPL-2.0-only
"""What a sweep says of where threads should run.

Every sentence that tells a difference was tested (statistics/placing.py).
"""

from collections.abc import Sequence
from typing import Final

from rtscope.model.cpulist import format_cpu_list
from rtscope.model.scaling import Placement
from rtscope.model.sweep import Cell, Sweep
from rtscope.statistics.placing import Choice, chosen, ratio, slower_cpus, time_ns
from rtscope.wording.placement import (
    cpus_text,
    jitter_text,
    more_text,
    place_text,
    ratio_text,
    threads_text,
)

_MOST_PLACES: Final = 3
"""of those that are as good"""


def advice(sweep: Sweep) -> list[str]:
    """What to do, one sentence or some for a workload."""
    told = []
    for workload in sweep.workloads:
        cells = sweep.idle_cells(workload)
        choice = chosen(cells)
        if choice:
            text = _advised(workload, cells, choice, sweep.rounds)
            told.append(text + _fast_ones(sweep, workload, choice.best.placement))
        else:
            told.append(f"One {threads_text(workload)} alone was not measured: nothing is advised.")
    return told


def _advised(workload: str, cells: Sequence[Cell], choice: Choice, rounds: int) -> str:
    best, gain = choice.best, choice.gain
    where, kind = place_text(best.placement), threads_text(workload, 2)
    if gain and not gain.is_more:
        return (
            f"Too few data to say how many {kind} to use: {best.placement.threads} on {where} are "
            f"{ratio_text(gain)} times as fast as one, which chance may have made. "
            f"{more_text(rounds)}"
        )
    if gain is None:
        return _one_thread(workload, cells, choice, rounds)
    return (
        f"Use {where} for {best.placement.threads} {kind}: {ratio_text(gain)} times as fast as one"
        f"{jitter_text(best)}.{_against_most(cells, best)}{_elsewhere(choice)}"
        f"{_undecided(choice)}"
    )


def _one_thread(workload: str, cells: Sequence[Cell], choice: Choice, rounds: int) -> str:
    """Where none of several is faster, or where nothing else was measured."""
    where, several = place_text(choice.best.placement), choice.at_most
    told = f"Use {where} for one {threads_text(workload)}"
    if several is None and len(cells) == 1:
        return f"Only one {threads_text(workload)} on {where} was measured: nothing is to choose."
    if several is None and choice.serial:
        return f"{told}; {_serial(choice)}{_elsewhere(choice)}"
    if several is None:
        return f"{told}.{_elsewhere(choice)}"
    if several.is_one:
        return f"{told}; more threads are not faster.{_elsewhere(choice)}"
    much = ratio_text(several)
    if not several.may_matter:
        return f"{told}; no evidence that more are faster: {much} times.{_elsewhere(choice)}"
    return (
        f"Too few data to say how many {threads_text(workload, 2)} to use: no evidence that more "
        f"than one is faster, but several may be {much} times as fast. {more_text(rounds)}"
    )


def _serial(choice: Choice) -> str:
    """Numbers of threads that were asked for and did not run at once."""
    counts = format_cpu_list({cell.placement.threads for cell in choice.serial})
    busy = max(cell.busy_cpus or 0.0 for cell in choice.serial)
    return (
        f"with {counts.replace(',', ', ')} threads the program used {busy:.2f} CPUs at a time, "
        f"with one {choice.best.busy_cpus or 0.0:.2f}: its threads wait for one another, or "
        "{n} is not their number."
    )


def _against_most(cells: Sequence[Cell], best: Cell) -> str:
    """What the largest number of threads would bring."""
    most = max(cell.placement.threads for cell in cells)
    if most <= best.placement.threads:
        return ""
    other = min((cell for cell in cells if cell.placement.threads == most), key=time_ns)
    lost = ratio(other, best)
    how = (
        f"take {ratio_text(lost)} times as long as those"
        if lost.is_more
        else f"are {ratio_text(ratio(best, other))} times as fast as those"
    )
    return f" {most} threads on {place_text(other.placement)} {how}{jitter_text(other)}."


def _elsewhere(choice: Choice) -> str:
    """What the same number of threads costs at the other places."""
    told = ""
    verb = "they take" if choice.best.placement.threads > 1 else "it takes"
    if choice.worst:
        cell, lost = choice.worst
        told += f" On {place_text(cell.placement)} {verb} {ratio_text(lost)} times as long."
    if choice.alike:
        places = [place_text(cell.placement) for cell in choice.alike[:_MOST_PLACES]]
        if more := len(choice.alike) - len(places):
            places.append(f"{more} other place{'s' if more > 1 else ''}")
        *first, last = places
        told += (
            f" No evidence that {verb} longer on {', '.join(first)}{' or ' * bool(first)}{last}."
        )
    return told


def _undecided(choice: Choice) -> str:
    """Numbers of threads that could have been chosen as well."""
    if not choice.undecided:
        return ""
    counts = format_cpu_list(choice.undecided).replace(",", ", ")
    return f" No evidence that other numbers of threads, {counts}, are slower or faster."


def _fast_ones(sweep: Sweep, workload: str, placement: Placement) -> str:
    """Which of the CPUs that are recommended are the fast ones, where others are slower."""
    slower = slower_cpus(sweep, workload)
    fast = [cpu for cpu in placement.cpus if cpu not in slower]
    if not slower or not fast:
        return ""
    if len(fast) == len(placement.cpus):
        return (
            f" {place_text(placement)} {'are' if fast[1:] else 'is'} of the fast ones; "
            f"{cpus_text(sorted(slower))} {'are' if len(slower) > 1 else 'is'} slower."
        )
    are = "are the fast ones" if fast[1:] else "is the fast one"
    return f" {cpus_text(fast)} {are} of these."
