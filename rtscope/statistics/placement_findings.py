# SPDX-License-Identifier: GPL-2.0-only
"""Findings about a placement series. Every difference among them was tested (placing.py)."""

from collections.abc import Collection, Iterator, Mapping, Sequence

from rtscope.model.finding import CpusNotMeasured, Finding
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
    Times,
    VectorUnitShared,
)
from rtscope.model.placement_series import Cell, MeasuredSeries
from rtscope.model.scaling import Pair, Placement
from rtscope.statistics.placing import (
    SMALLEST_GAIN,
    Choice,
    Curve,
    Ratio,
    alone,
    beside_slowest,
    chosen,
    corrected,
    curves,
    is_mixed,
    jitter,
    kink,
    logarithms,
    ratio,
    ratio_of,
    slowdowns,
    slower_cpus,
    time_ns,
)
from rtscope.statistics.scaling import SMALLEST_MISFIT


def advice(series: MeasuredSeries) -> list[Finding]:
    """Return what each workload of a series should do: where to run, or which loads slow it."""
    if series.has_loads:
        return list(_interference(series))
    return [_advised(series, workload) for workload in series.workloads]


def placement_findings(series: MeasuredSeries) -> list[Finding]:
    """Return why: what CPUs share, where laws fail, and which CPUs were not used."""
    if series.has_loads:
        return list(_not_used(series))
    return [
        *_shared(series),
        *_turns(series),
        *(found for curve in curves(series) for found in _misfits(series, curve)),
        *_unlike(series),
        *_not_used(series),
    ]


def _times(one: Ratio) -> Times:
    return Times(one.value, one.low, one.high)


def _threads(cell: Cell) -> Threads:
    return Threads(cell.placement.threads, list(cell.placement.cpus), jitter(cell))


def _advised(series: MeasuredSeries, workload: str) -> Finding:
    cells = series.idle_cells(workload)
    choice = chosen(cells)
    if choice is None:
        return NoSingleThread(workload=workload)
    best, gain, several = _threads(choice.best), choice.gain, choice.at_most
    if gain and not gain.is_more:
        return PlacementUndecided(
            severity="undecided",
            workload=workload,
            threads=best,
            speedup=_times(gain),
            rounds=series.rounds,
        )
    if gain is None and several is None and len(cells) == 1:
        return OnlyPlacement(workload=workload, threads=best)
    if gain is None and several and several.may_matter and not several.is_one:
        return PlacementUndecided(
            severity="undecided",
            workload=workload,
            threads=None,
            speedup=_times(several),
            rounds=series.rounds,
        )
    slower = slower_cpus(series, workload)
    return BestPlacement(
        workload=workload,
        best=best,
        speedup=_times(gain) if gain else None,
        several=_times(several) if several and gain is None else None,
        several_not_faster=bool(several and several.is_one),
        serial=_serial(choice) if gain is None and several is None and choice.serial else None,
        largest=_largest(cells, choice.best) if gain else None,
        elsewhere=Elsewhere(
            choice.worst and _threads(choice.worst[0]),
            choice.worst and _times(choice.worst[1]),
            [_threads(cell) for cell in choice.alike],
        ),
        as_fast_counts=choice.undecided if gain else [],
        fast_cpus=[cpu for cpu in best.cpus if cpu not in slower] if slower else [],
        slow_cpus=sorted(slower),
    )


def _serial(choice: Choice) -> Serial:
    return Serial(
        sorted({cell.placement.threads for cell in choice.serial}),
        max(cell.busy_cpus or 0.0 for cell in choice.serial),
        choice.best.busy_cpus or 0.0,
    )


def _largest(cells: Sequence[Cell], best: Cell) -> Largest | None:
    """Return what the largest number of threads brings; None where it is the best."""
    most = max(cell.placement.threads for cell in cells)
    if most <= best.placement.threads:
        return None
    other = min((cell for cell in cells if cell.placement.threads == most), key=time_ns)
    lost = ratio(other, best)
    return Largest(_threads(other), _times(ratio(best, other)), _times(lost), lost.is_more)


def _not_used(series: MeasuredSeries) -> Iterator[Finding]:
    placed = {cpu for cell in series.cells for cpu in cell.placement.cpus} | {*series.load_cpus}
    offline = [cpu.number for cpu in series.machine.cpus if not cpu.online]
    unused = [cpu.number for cpu in series.machine.cpus if cpu.online and cpu.number not in placed]
    if offline:
        yield CpusNotMeasured(cpus=offline, offline=True)
    if unused:
        yield CpusNotMeasured(cpus=unused, offline=False)


def _shared(series: MeasuredSeries) -> list[Finding]:
    """Return what two threads at a pair lose against the farthest pair, and in vector code.

    The pairs of all workloads are corrected together, and so are those of the vector unit.
    """
    slower = {workload: slower_cpus(series, workload) for workload in series.workloads}
    compared = []
    for workload, slow in slower.items():
        alike = [
            (pair, cell)
            for pair in series.pairs
            if (cell := series.cell(workload, pair.placement))
            and not is_mixed(pair.placement, slow)
        ]
        compared += [
            (pair, workload, alike[-1][0], _lost(series, near, alike[-1][1], slow))
            for pair, near in alike[:-1]
        ]
    losses = corrected([lost for *_, lost in compared])
    units = [(pair, *unit) for pair in series.pairs if (unit := _vector_unit(series, pair, slower))]
    excess = corrected([one for _, one, _ in units])
    found: list[Finding] = []
    for pair in series.pairs:
        found += [
            NearCpusSlower(
                workload=workload,
                near=list(pair.placement.cpus),
                near_share=pair.shared,
                far=list(far.placement.cpus),
                far_share=far.shared,
                slowdown=_times(lost),
            )
            for (one, workload, far, _), lost in zip(compared, losses, strict=True)
            if one is pair and lost.is_more
        ]
        found += [
            finding
            for (one, _, finding), more in zip(units, excess, strict=True)
            if one is pair and more.is_more
        ]
    return found


def _lost(series: MeasuredSeries, near: Cell, far: Cell, slower: Collection[int]) -> Ratio:
    """Return times of the near two over those of the far two.

    Where CPUs are slower by themselves, each side is relative to one thread on its slowest CPU.
    """
    is_slower = any(cpu in slower for cpu in (*near.placement.cpus, *far.placement.cpus))
    own = [beside_slowest(series, cell) for cell in (near, far)]
    if own[0] is None or own[1] is None or not is_slower:
        return ratio(near, far)
    return ratio_of([a - b for a, b in zip(own[0], own[1], strict=True)])


def _vector_unit(
    series: MeasuredSeries, pair: Pair, slower: Mapping[str, Collection[int]]
) -> tuple[Ratio, VectorUnitShared] | None:
    """Return how much less the second thread brings to vector code than to scalar code."""
    one = Placement(pair.placement.cpus[:1], 1)
    cells = [
        series.cell(form, place) for form in ("scalar", "vector") for place in (one, pair.placement)
    ]
    if any(cell is None or is_mixed(cell.placement, slower[cell.workload]) for cell in cells):
        return None
    scalar_one, scalar_two, vector_one, vector_two = (cell for cell in cells if cell)
    scalar = _gain(series, scalar_one, scalar_two)
    vector = _gain(series, vector_one, vector_two)
    found = VectorUnitShared(
        cpus=list(pair.placement.cpus),
        vector_speedup=_times(ratio_of(vector)),
        scalar_speedup=_times(ratio_of(scalar)),
    )
    return ratio_of([a - b for a, b in zip(scalar, vector, strict=True)]), found


def _gain(series: MeasuredSeries, one: Cell, two: Cell) -> list[float]:
    """Return logarithms of the speedup of two threads over one on the slower of their CPUs."""
    own = beside_slowest(series, two)
    return logarithms(one, two) if own is None else [-lost for lost in own]


def _turns(series: MeasuredSeries) -> Iterator[Finding]:
    """Yield several threads that are no faster than one."""
    for workload in series.workloads:
        for order in series.orders[:1]:
            cells = [cell for one in order.placements if (cell := series.cell(workload, one))]
            slow = slower_cpus(series, workload).keys()
            several = [
                cell
                for cell in cells
                if cell.placement.threads > 1 and not slow & {*cell.placement.cpus}
            ]
            if not several or cells[0].placement.threads != 1:
                continue
            gains = [ratio(cells[0], cell) for cell in several]
            on_one = len(several[-1].placement.cpus) == 1
            if all(gain.is_one or (on_one and not gain.is_more) for gain in gains):
                yield ThreadsTakeTurns(
                    workload=workload, threads=_threads(several[-1]), speedup=_times(gains[-1])
                )
            else:
                yield from _forced(workload, cells)


def _forced(workload: str, cells: Sequence[Cell]) -> Iterator[Finding]:
    """Yield more threads than CPUs that are no faster than one thread for each CPU."""
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
                yield ThreadsTakeTurns(
                    workload=workload,
                    threads=_threads(cell),
                    speedup=_times(gain),
                    than=len(place.cpus),
                )


def _misfits(series: MeasuredSeries, curve: Curve) -> Iterator[Finding]:
    bent = kink(curve)
    if bent is None or bent.miss < SMALLEST_MISFIT:
        return
    places = {one.threads: set(one.cpus) for one in curve.order.placements}
    added = places[bent.beyond] - places[bent.up_to]
    yield LawFails(
        workload=curve.workload,
        order=curve.order.name,
        up_to=bent.up_to,
        beyond=bent.beyond,
        excess=bent.miss,
        slow_cpus=sorted(added & slower_cpus(series, curve.workload).keys()),
    )


def _unlike(series: MeasuredSeries) -> Iterator[Finding]:
    """Yield CPUs of another speed."""
    for workload in series.workloads:
        if slower := slower_cpus(series, workload):
            worst = max(slower.values(), key=lambda one: one.value)
            yield SlowCpus(
                workload=workload,
                slow=sorted(slower),
                fast=[cpu for cpu in alone(series, workload) if cpu not in slower],
                slowdown=_times(worst),
                is_one_value=len({one.value for one in slower.values()}) == 1,
            )


def _interference(series: MeasuredSeries) -> Iterator[Finding]:
    """Yield the loads that slow each workload, the worst first."""
    for workload in series.workloads:
        if not series.idle_cells(workload):
            yield NoBaseline(workload=workload)
        found = slowdowns(series, workload)
        loud = [one for one in found if _differs(one.ratio)]
        for one in loud:
            yield Interference(
                workload=workload,
                load=one.cell.load,
                load_cpus=series.load_cpus,
                slowdown=_times(one.ratio),
            )
        rest = [one for one in found if one not in loud]
        unknown = [one for one in rest if one.ratio.may_matter]
        if quiet := [one.cell.load for one in rest if one not in unknown]:
            yield NoInterference(workload=workload, loads=quiet)
        if unknown:
            limits = [one.ratio.high for one in unknown]
            yield InterferenceUndecided(
                severity="undecided",
                workload=workload,
                loads=[one.cell.load for one in unknown],
                at_most=None if None in limits else max(high for high in limits if high),
                rounds=series.rounds,
            )


def _differs(one: Ratio) -> bool:
    """Return whether a load changes the time by more than chance and by 5 %."""
    return one.is_sure and abs(one.value - 1) >= SMALLEST_GAIN - 1
