# SPDX-License-Identifier: GPL-2.0-only
"""Sentences about placement series: where threads should run, and which loads slow them."""

from collections.abc import Sequence
from functools import singledispatch
from typing import Final

from rtscope.model.cpulist import format_cpu_list
from rtscope.model.finding import Finding
from rtscope.model.placement_finding import (
    BestPlacement,
    Elsewhere,
    Interference,
    InterferenceUndecided,
    Largest,
    LawFails,
    NearCpusSlower,
    NoBaseline,
    NoInterference,
    NoSingleThread,
    OnlyPlacement,
    PlacementUndecided,
    Serial,
    SlowCpus,
    Threads,
    ThreadsTakeTurns,
    VectorUnitShared,
)
from rtscope.wording.placement import cpus_text, jitter_text, ratio_text, threads_text

_MOST_PLACES: Final = 3
"""placements named in one sentence"""


@singledispatch
def placement_sentence(found: Finding) -> str:
    """Return the sentence on a finding about a placement series; empty for other findings."""
    return ""


@placement_sentence.register
def _(found: BestPlacement) -> str:
    best = found.best
    where = cpus_text(best.cpus)
    if found.speedup:
        text = (
            f"Use {where} for {best.count} {threads_text(found.workload, 2)}: "
            f"{ratio_text(found.speedup)} times as fast as one{jitter_text(best.jitter)}."
        )
    else:
        text = f"Use {where} for one {threads_text(found.workload)}{_one_is_best(found)}."
    return (
        text
        + _largest(found.largest)
        + _elsewhere(found.elsewhere, best.count)
        + _as_fast(found.as_fast_counts)
        + _fast_cpus(found)
    )


def _one_is_best(found: BestPlacement) -> str:
    if found.serial:
        return f"; {_serial(found.serial)}"
    if found.several_not_faster:
        return "; more threads are not faster"
    if found.several:
        return f"; no evidence that more are faster: {ratio_text(found.several)} times"
    return ""


def _serial(serial: Serial) -> str:
    counts = format_cpu_list(serial.counts).replace(",", ", ")
    return (
        f"with {counts} threads the program used {serial.busy_cpus:.2f} CPUs on average, with one "
        f"thread {serial.one_busy_cpus:.2f}: its threads wait for each other, or {{n}} does not "
        "set their number"
    )


def _largest(largest: Largest | None) -> str:
    if largest is None:
        return ""
    threads = largest.threads
    how = (
        f"take {ratio_text(largest.slowdown)} times as long"
        if largest.is_slower
        else f"are {ratio_text(largest.speedup)} times as fast"
    )
    where = cpus_text(threads.cpus)
    return f" {threads.count} threads on {where} {how}{jitter_text(threads.jitter)}."


def _elsewhere(elsewhere: Elsewhere, count: int) -> str:
    text = ""
    verb = "they take" if count > 1 else "it takes"
    if elsewhere.slowest and elsewhere.slowdown:
        where = cpus_text(elsewhere.slowest.cpus)
        text += f" On {where} {verb} {ratio_text(elsewhere.slowdown)} times as long."
    if elsewhere.as_fast:
        places = [cpus_text(one.cpus) for one in elsewhere.as_fast[:_MOST_PLACES]]
        if more := len(elsewhere.as_fast) - len(places):
            places.append(f"{more} other placement{'s' if more > 1 else ''}")
        text += f" No evidence that {verb} longer on {_listed(places, 'or')}."
    return text


def _as_fast(counts: Sequence[int]) -> str:
    if not counts:
        return ""
    listed = format_cpu_list(counts).replace(",", ", ")
    return f" No evidence that other numbers of threads ({listed}) are slower or faster."


def _fast_cpus(found: BestPlacement) -> str:
    """Say which CPUs of the placement are fast, where some of the system are slow."""
    fast, slow = found.fast_cpus, found.slow_cpus
    if not slow or not fast:
        return ""
    if len(fast) == len(found.best.cpus):
        return f" {cpus_text(slow)} {_are(slow)} slower."
    return f" Of these, {cpus_text(fast)} {_are(fast)} faster than {cpus_text(slow)}."


@placement_sentence.register
def _(found: PlacementUndecided) -> str:
    kind = threads_text(found.workload, 2)
    text = f"Not enough data to choose the number of {kind}: "
    if found.threads:
        text += (
            f"{_placed(found.threads)} are {ratio_text(found.speedup)} times as fast as one, which "
            "may be chance. "
        )
    else:
        text += f"several may be {ratio_text(found.speedup)} times as fast as one. "
    return text + _more_rounds(found.rounds)


@placement_sentence.register
def _(found: OnlyPlacement) -> str:
    kind, where = threads_text(found.workload), cpus_text(found.threads.cpus)
    return f"Only one {kind} on {where} was measured: there is no choice."


@placement_sentence.register
def _(found: NoSingleThread) -> str:
    return f"No advice: one {threads_text(found.workload)} alone was not measured."


@placement_sentence.register
def _(found: NearCpusSlower) -> str:
    return (
        f"Two {threads_text(found.workload, 2)} on {cpus_text(found.near)}, which "
        f"{_share(found.near_share)}, take {ratio_text(found.slowdown)} times as long as on "
        f"{cpus_text(found.far)}, which {_share(found.far_share)}: the nearer CPUs share a "
        "resource that the threads need."
    )


@placement_sentence.register
def _(found: VectorUnitShared) -> str:
    return (
        f"{cpus_text(found.cpus)} share a vector unit or its supply: two vector threads there are "
        f"{ratio_text(found.vector_speedup)} times as fast as one, two scalar threads "
        f"{ratio_text(found.scalar_speedup)} times."
    )


@placement_sentence.register
def _(found: ThreadsTakeTurns) -> str:
    threads, than = found.threads, "one" if found.than == 1 else str(found.than)
    count = f"{threads.count} {threads_text(found.workload, 2)} on {cpus_text(threads.cpus)}"
    text = f"{count} are {ratio_text(found.speedup)} times as fast as {than}: they take turns"
    if len(threads.cpus) == 1:
        return f"{text} on {cpus_text(threads.cpus)}."
    if found.than > 1:
        return f"{text} on the CPUs."
    return (
        f"{text}. They share a lock, a limit of the program, or a resource of all these CPUs, such "
        "as memory; or a real-time program runs on one of the CPUs (rtscope threads lists those)."
    )


@placement_sentence.register
def _(found: LawFails) -> str:
    slow = found.slow_cpus
    why = (
        f"because {cpus_text(slow)} {_are(slow)} slower."
        if slow
        else "because they share more than the serial part."
    )
    return (
        f"Amdahl's law describes {found.workload}, {found.order}, up to {found.up_to} threads; "
        f"{found.beyond} threads take {found.excess * 100:.0f} % longer, {why}"
    )


@placement_sentence.register
def _(found: SlowCpus) -> str:
    up_to = "" if found.is_one_value else "up to "
    return (
        f"One {threads_text(found.workload)} takes {up_to}{ratio_text(found.slowdown)} times as "
        f"long on {cpus_text(found.slow)} as on {cpus_text(found.fast)}. The laws of scaling "
        "assume equal CPUs, so part of their serial fraction is the wait for the slower CPUs."
    )


@placement_sentence.register
def _(found: Interference) -> str:
    return (
        f"{found.workload} takes {ratio_text(found.slowdown)} times as long with load {found.load} "
        f"on {cpus_text(found.load_cpus)}."
    )


@placement_sentence.register
def _(found: NoInterference) -> str:
    loads = _listed(found.loads, "or")
    return f"No evidence that {found.workload} is 5 % or more slower with load {loads}."


@placement_sentence.register
def _(found: InterferenceUndecided) -> str:
    reach = f" (up to {found.at_most:.2f} times as long)" if found.at_most else ""
    return (
        f"Not enough data to decide whether {found.workload} is slower with load "
        f"{_listed(found.loads, 'or')}{reach}. {_more_rounds(found.rounds)}"
    )


@placement_sentence.register
def _(found: NoBaseline) -> str:
    return f"{found.workload} was not measured without a load, so loads cannot be compared."


def _placed(threads: Threads) -> str:
    return f"{threads.count} on {cpus_text(threads.cpus)}"


def _are(cpus: Sequence[int]) -> str:
    return "are" if len(cpus) > 1 else "is"


def _share(shared: str) -> str:
    if not shared:
        return "share no core, cache or package"
    return f"share {'an' if shared.startswith('L') else 'a'} {shared}"


def _listed(names: Sequence[str], word: str) -> str:
    *first, last = names
    return f"{', '.join(first)} {word} {last}" if first else last


def _more_rounds(rounds: int) -> str:
    return f"Use more than {rounds} --rounds."
