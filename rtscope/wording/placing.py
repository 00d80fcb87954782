# SPDX-License-Identifier: GPL-2.0-only
"""What a sweep says of what threads share, where they do not scale and what disturbs them.

Every sentence that tells a difference was tested (statistics/placing.py).
"""

import math
from collections.abc import Collection, Mapping, Sequence

from rtscope.model.scaling import Pair, Placement
from rtscope.model.sweep import Cell, Sweep
from rtscope.statistics.placing import (
    SMALLEST_GAIN,
    Curve,
    Ratio,
    alone,
    beside_slowest,
    corrected,
    curves,
    is_mixed,
    kink,
    logarithms,
    ratio,
    ratio_of,
    slowdowns,
    slower_cpus,
)
from rtscope.statistics.scaling import SMALLEST_MISFIT
from rtscope.wording.placement import (
    cpus_text,
    more_text,
    place_text,
    ratio_text,
    shared_text,
    threads_text,
)


def findings(sweep: Sweep) -> list[str]:
    """What is shared, what is gained, and where the laws fail; a sentence each."""
    return [
        *_shared(sweep),
        *_turns(sweep),
        *(text for curve in curves(sweep) for text in _misfits(sweep, curve)),
        *_unlike(sweep),
        *left_out(sweep),
    ]


def left_out(sweep: Sweep) -> list[str]:
    """CPUs of the machine on which nothing ran, a sentence for each reason."""
    placed = {cpu for cell in sweep.cells for cpu in cell.placement.cpus} | {*sweep.load_cpus}
    offline = [cpu.number for cpu in sweep.machine.cpus if not cpu.online]
    unused = [cpu.number for cpu in sweep.machine.cpus if cpu.online and cpu.number not in placed]
    told = []
    if offline:
        told.append(f"{cpus_text(offline)} {'are' if offline[1:] else 'is'} offline.")
    if unused:
        told.append(
            f"Nothing ran on {cpus_text(unused)}: not asked for, or outside the cpuset of this "
            "process."
        )
    return told


def _shared(sweep: Sweep) -> list[str]:
    """What two threads at a pair lose against those farthest apart, and against another form.

    The pairs of all workloads are corrected together, and so are those of the vector unit.
    """
    slower = {workload: slower_cpus(sweep, workload) for workload in sweep.workloads}
    held = []
    for workload, slow in slower.items():
        alike = [
            (pair, cell)
            for pair in sweep.pairs
            if (cell := sweep.cell(workload, pair.placement)) and not is_mixed(pair.placement, slow)
        ]
        held += [
            (pair, workload, alike[-1][0], _lost(sweep, near, alike[-1][1], slow))
            for pair, near in alike[:-1]
        ]
    losses = corrected([lost for *_, lost in held])
    units = [(pair, *unit) for pair in sweep.pairs if (unit := _vector_unit(sweep, pair, slower))]
    excess = corrected([one for _, one, _ in units])
    told = []
    for pair in sweep.pairs:
        of_pair = [
            (workload, far, lost)
            for (one, workload, far, _), lost in zip(held, losses, strict=True)
            if one is pair and lost.is_more
        ]
        told += [_loss_text(pair, *one) for one in of_pair]
        told += [
            text
            for (one, _, text), more in zip(units, excess, strict=True)
            if one is pair and more.is_more
        ]
    return told


def _lost(sweep: Sweep, near: Cell, far: Cell, slower: Collection[int]) -> Ratio:
    """Times of the near two over those of the far; where CPUs are slower by themselves, each held
    against one thread on the slowest of its own."""
    is_slower = any(cpu in slower for cpu in (*near.placement.cpus, *far.placement.cpus))
    own = [beside_slowest(sweep, cell) for cell in (near, far)]
    if own[0] is None or own[1] is None or not is_slower:
        return ratio(near, far)
    return ratio_of([a - b for a, b in zip(own[0], own[1], strict=True)])


def _loss_text(pair: Pair, workload: str, farthest: Pair, lost: Ratio) -> str:
    where = f"{place_text(pair.placement)}, which {shared_text(pair.shared)}"
    return (
        f"Two {threads_text(workload, 2)} on {where}, take {ratio_text(lost)} times as long as on "
        f"{place_text(farthest.placement)}, which {shared_text(farthest.shared)}: the nearer "
        "two share what they need."
    )


def _vector_unit(
    sweep: Sweep, pair: Pair, slower: Mapping[str, Collection[int]]
) -> tuple[Ratio, str] | None:
    """How much less the second thread brings to the vector form than to the scalar one."""
    one = Placement(pair.placement.cpus[:1], 1)
    cells = [
        sweep.cell(form, place) for form in ("scalar", "vector") for place in (one, pair.placement)
    ]
    if any(cell is None or is_mixed(cell.placement, slower[cell.workload]) for cell in cells):
        return None
    scalar_one, scalar_two, vector_one, vector_two = (cell for cell in cells if cell)
    scalar = _gain(sweep, scalar_one, scalar_two)
    vector = _gain(sweep, vector_one, vector_two)
    text = (
        f"{place_text(pair.placement)} share a vector unit, or what feeds it: two vector threads "
        f"there are {ratio_text(ratio_of(vector))} times as fast as one, two scalar threads "
        f"{ratio_text(ratio_of(scalar))} times."
    )
    return ratio_of([a - b for a, b in zip(scalar, vector, strict=True)]), text


def _gain(sweep: Sweep, one: Cell, two: Cell) -> list[float]:
    """Logarithms of what two threads gain over one on the slower of their CPUs."""
    own = beside_slowest(sweep, two)
    return logarithms(one, two) if own is None else [-lost for lost in own]


def _turns(sweep: Sweep) -> list[str]:
    """Several threads that are no faster than one: they take turns at something."""
    told = []
    for workload in sweep.workloads:
        for order in sweep.orders[:1]:
            cells = [cell for one in order.placements if (cell := sweep.cell(workload, one))]
            slow = slower_cpus(sweep, workload).keys()
            several = [
                cell
                for cell in cells
                if cell.placement.threads > 1 and not slow & {*cell.placement.cpus}
            ]
            if not several or cells[0].placement.threads != 1:
                continue
            gains = [ratio(cells[0], cell) for cell in several]
            placement = several[-1].placement
            on_one = len(placement.cpus) == 1
            if not all(gain.is_one or (on_one and not gain.is_more) for gain in gains):
                told += _forced(workload, cells)
                continue
            what = (
                f"{place_text(placement)} itself."
                if on_one
                else "something that they share: a lock or a limit of the program, or what all "
                "these CPUs share, such as memory. Or a real-time program has one of the CPUs at "
                "times: rtscope threads lists those."
            )
            told.append(
                f"{placement.threads} {threads_text(workload, 2)} on {place_text(placement)} are "
                f"{ratio_text(gains[-1])} times as fast as one: they take turns at {what}"
            )
    return told


def _forced(workload: str, cells: Sequence[Cell]) -> list[str]:
    """More threads than CPUs, against a thread for each of the same CPUs."""
    told = []
    fair = {
        cell.placement.cpus: cell
        for cell in cells
        if cell.placement.threads == len(cell.placement.cpus)
    }
    for cell in cells:
        place = cell.placement
        if place.threads > len(place.cpus) and place.cpus in fair:
            gain = ratio(fair[place.cpus], cell)
            if gain.is_one:
                told.append(
                    f"{place.threads} {threads_text(workload, 2)} on {place_text(place)} are "
                    f"{ratio_text(gain)} times as fast as {len(place.cpus)}: they take turns at "
                    "the CPUs."
                )
    return told


def _misfits(sweep: Sweep, curve: Curve) -> list[str]:
    bent = kink(curve)
    if bent is None or bent.miss < SMALLEST_MISFIT:
        return []
    places = {one.threads: set(one.cpus) for one in curve.order.placements}
    came = places[bent.beyond] - places[bent.up_to]
    slow = sorted(came & slower_cpus(sweep, curve.workload).keys())
    why = (
        f"of which {cpus_text(slow)} {'are' if slow[1:] else 'is'} slower by "
        f"{'themselves' if slow[1:] else 'itself'}."
        if slow
        else "so from there on they share more than the serial part."
    )
    return [
        f"Amdahl's law describes {curve.workload}, {curve.order.name}, up to {bent.up_to} threads; "
        f"{bent.beyond} take {bent.miss * 100:.0f} % longer than it says, {why}"
    ]


def _unlike(sweep: Sweep) -> list[str]:
    """CPUs of another speed."""
    told = []
    for workload in sweep.workloads:
        if slower := slower_cpus(sweep, workload):
            fast = [cpu for cpu in alone(sweep, workload) if cpu not in slower]
            worst = max(slower.values(), key=lambda one: one.value)
            up_to = "up to " * (len({one.value for one in slower.values()}) > 1)
            told.append(
                f"One {threads_text(workload)} takes {up_to}{ratio_text(worst)} times as long on "
                f"{cpus_text(sorted(slower))} as on {cpus_text(fast)}: the CPUs are not alike, "
                "which the laws of scaling take for granted. What they call a serial fraction is "
                "in part the wait for the slower CPUs."
            )
    return told


def interference(sweep: Sweep) -> list[str]:
    """Who disturbs, and by how much; a sentence each, the worst first."""
    told = []
    for workload in sweep.workloads:
        if not sweep.idle_cells(workload):
            told.append(f"{workload} was not measured alone: nothing is said of what disturbs it.")
        found = slowdowns(sweep, workload)
        loud = [one for one in found if _differs(one.ratio)]
        for one in loud:
            much = f"takes {ratio_text(one.ratio)} times as long beside {one.cell.load}"
            told.append(f"{workload} {much} on {cpus_text(sweep.load_cpus)}.")
        quiet = [one for one in found if one not in loud]
        unknown = [one for one in quiet if one.ratio.may_matter]
        names = ", ".join(one.cell.load for one in quiet if one not in unknown)
        if names:
            told.append(f"No evidence that {workload} suffers 5 % or more from {names}.")
        if unknown:
            names = ", ".join(one.cell.load for one in unknown)
            reach = max((one.ratio.high or math.inf for one in unknown), default=math.inf)
            reached = f": it may take {reach:.2f} times as long" if reach < math.inf else ""
            told.append(
                f"Too few data to say whether {workload} suffers from {names}{reached}. "
                f"{more_text(sweep.rounds)}"
            )
    return told


def _differs(one: Ratio) -> bool:
    """Whether a load makes it slower, or faster, by more than chance and by 5 %."""
    return one.is_sure and abs(one.value - 1) >= SMALLEST_GAIN - 1
