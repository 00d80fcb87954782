"""What a sweep says of where threads should run, what they share and what disturbs them.

Every sentence that tells a difference was tested (statistics/placing.py).
"""

from collections.abc import Sequence
from typing import Final

from rtscope.model.cpulist import format_cpu_list
from rtscope.model.scaling import Cell, Pair, Placement, Sweep
from rtscope.model.units import format_ns
from rtscope.report.words import plain
from rtscope.statistics.confidence import LEVEL
from rtscope.statistics.placing import (
    SMALLEST_GAIN,
    Curve,
    Ratio,
    curves,
    jitter,
    kink,
    logarithms,
    ratio,
    ratio_of,
    recommended,
    slowdowns,
    time_ns,
)
from rtscope.statistics.scaling import SMALLEST_MISFIT, Fit

_WIDE: Final = 1.25
"""above this, limits leave room for a disturbance that matters"""


def advice(sweep: Sweep) -> list[str]:
    """What to do, one sentence a workload."""
    told = []
    for workload in sweep.workloads:
        cells = _idle(sweep, workload)
        singles = [cell for cell in cells if cell.placement.threads == 1]
        if not singles:
            continue
        best, one = recommended(cells), min(singles, key=time_ns)
        if best.placement.threads == 1:
            tail = "; more threads are not faster" if len(cells) > len(singles) else ""
            told.append(f"Use {_on(best.placement)} for one {_threads(workload)}{tail}.")
            continue
        gain = ratio(one, best)
        doubt = "" if gain.is_more else " That it is faster is not sure: give more --rounds."
        told.append(
            f"Use {_on(best.placement)} for {best.placement.threads} {_threads(workload, 2)}: "
            f"{ratio_text(gain)} times as fast as one{_jitter_text(best)}.{doubt}"
            f"{_against_most(cells, best)}{_against_elsewhere(cells, best)}"
        )
    return told


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
    return f" {most} threads on {_on(other.placement)} {how}{_jitter_text(other)}."


def _against_elsewhere(cells: Sequence[Cell], best: Cell) -> str:
    """What the same number of threads costs at the worst other place."""
    same = [cell for cell in cells if cell.placement.threads == best.placement.threads]
    worst = max(same, key=time_ns)
    lost = ratio(worst, best)
    if worst is best or not lost.is_more:
        return ""
    return f" On {_on(worst.placement)} they take {ratio_text(lost)} times as long."


def findings(sweep: Sweep) -> list[str]:
    """What is shared, what is gained, and where the laws fail; a sentence each."""
    return [
        *(text for pair in sweep.pairs for text in _shared(sweep, pair)),
        *_turns(sweep),
        *(text for curve in curves(sweep) for text in _misfits(curve)),
        *_kinds(sweep),
    ]


def _shared(sweep: Sweep, pair: Pair) -> list[str]:
    """What two threads at this pair lose against those farthest apart, and against another form."""
    told = []
    where = f"{_on(pair.placement)}, which {shared_text(pair.shared)}"
    farthest = sweep.pairs[-1]
    for workload in sweep.workloads:
        near = sweep.cell(workload, pair.placement)
        far = sweep.cell(workload, farthest.placement)
        if near and far and near is not far and (lost := ratio(near, far)).is_more:
            told.append(
                f"Two {_threads(workload, 2)} on {where}, take {ratio_text(lost)} times as long as "
                f"on {_on(farthest.placement)}, which {shared_text(farthest.shared)}: the nearer "
                "two share what they need."
            )
    unit = _vector_unit(sweep, pair)
    return [*told, f"{_on(pair.placement)} {unit}"] if unit else told


def _vector_unit(sweep: Sweep, pair: Pair) -> str:
    """Whether the second thread brings less to the vector form than to the scalar one."""
    one = Placement(pair.placement.cpus[:1], 1)
    cells = [
        sweep.cell(form, place) for form in ("scalar", "vector") for place in (one, pair.placement)
    ]
    if any(cell is None for cell in cells):
        return ""
    scalar_one, scalar_two, vector_one, vector_two = (cell for cell in cells if cell)
    scalar = logarithms(scalar_one, scalar_two)
    vector = logarithms(vector_one, vector_two)
    if not ratio_of([a - b for a, b in zip(scalar, vector, strict=True)]).is_more:
        return ""
    return (
        f"share a vector unit, or what feeds it: two vector threads there are "
        f"{ratio_text(ratio_of(vector))} times as fast as one, two scalar threads "
        f"{ratio_text(ratio_of(scalar))} times."
    )


def _turns(sweep: Sweep) -> list[str]:
    """Several threads that are no faster than one: they take turns at something."""
    told = []
    for workload in sweep.workloads:
        for order in sweep.orders[:1]:
            cells = [cell for one in order.placements if (cell := sweep.cell(workload, one))]
            several = [cell for cell in cells if cell.placement.threads > 1]
            if not several or cells[0].placement.threads != 1:
                continue
            gains = [ratio(cells[0], cell) for cell in several]
            placement = several[-1].placement
            on_one = len(placement.cpus) == 1
            if not all(gain.is_one or (on_one and not gain.is_more) for gain in gains):
                told += _forced(workload, cells)
                continue
            what = (
                f"{_on(placement)} itself"
                if on_one
                else "something that they share: a lock or a limit of the program, or what all "
                "these CPUs share, such as memory"
            )
            told.append(
                f"{placement.threads} {_threads(workload, 2)} on {_on(placement)} are "
                f"{ratio_text(gains[-1])} times as fast as one: they take turns at {what}."
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
                    f"{place.threads} {_threads(workload, 2)} on {_on(place)} are "
                    f"{ratio_text(gain)} times as fast as {len(place.cpus)}: they take turns at "
                    "the CPUs."
                )
    return told


def _misfits(curve: Curve) -> list[str]:
    bent = kink(curve)
    if bent is None or bent.miss < SMALLEST_MISFIT:
        return []
    return [
        f"Amdahl's law describes {curve.workload}, {curve.order.name}, up to {bent.up_to} threads; "
        f"{bent.beyond} take {bent.miss * 100:.0f} % longer than it says, so from there on they "
        "share more than the serial part."
    ]


def _kinds(sweep: Sweep) -> list[str]:
    """CPUs of another speed."""
    told = []
    for workload in sweep.workloads:
        singles = [cell for cell in _idle(sweep, workload) if cell.placement.threads == 1]
        if len(singles) < 2:
            continue
        fast, slow = min(singles, key=time_ns), max(singles, key=time_ns)
        lost = ratio(slow, fast)
        if lost.is_more:
            told.append(
                f"One {_threads(workload)} takes {ratio_text(lost)} times as long on "
                f"{_on(slow.placement)} as on {_on(fast.placement)}: the CPUs are not alike, which "
                "the laws of scaling take for granted."
            )
    return told


def interference(sweep: Sweep) -> list[str]:
    """Who disturbs, and by how much; a sentence each, the worst first."""
    told = []
    for workload in sweep.workloads:
        quiet = []
        for one in slowdowns(sweep, workload):
            if one.p_value > 1 - LEVEL or abs(one.ratio.value - 1) < SMALLEST_GAIN - 1:
                quiet.append(one)
                continue
            much = f"takes {ratio_text(one.ratio)} times as long beside {one.cell.load}"
            told.append(f"{workload} {much} on {cpus_text(sweep.load_cpus)}.")
        if quiet:
            names = ", ".join(one.cell.load for one in quiet)
            wide = any(one.ratio.high is None or one.ratio.high > _WIDE for one in quiet)
            doubt = " But the limits are wide: give more --rounds." if wide else ""
            told.append(f"No evidence that it suffers 5 % or more from {names}.{doubt}")
    return told


def ratio_text(one: Ratio) -> str:
    """1.87 (1.85 to 1.90)."""
    if one.low is None or one.high is None:
        return f"{one.value:.2f}"
    return f"{one.value:.2f} ({one.low:.2f} to {one.high:.2f})"


def shared_text(shared: str) -> str:
    """What the kernel says that two CPUs share, as the end of a sentence."""
    if not shared:
        return "share no core, cache or package"
    return f"share {'an' if shared.startswith('L') else 'a'} {shared}"


def curve_name(curve: Curve) -> str:
    """A workload and the order of its CPUs."""
    return f"{plain(curve.workload)}, {curve.order.name}"


def law_text(law: Fit) -> str:
    """A fit's parameters: serial fraction 5.2 % (5.0 to 5.4)."""
    contention = "serial fraction" if law.law == "Amdahl" else "contention"
    parts = [f"one thread {format_ns(law.one_thread_ns.value)}"]
    parts.append(f"{contention} {_percent(law.contention.value, 2)} %{_within(law, 'contention')}")
    if law.coherency:
        parts.append(f"coherency {_percent(law.coherency.value, 3)} %{_within(law, 'coherency')}")
    if law.fastest is not None and law.coherency and (law.coherency.low or 0) > 0:
        parts.append(f"fastest with {law.fastest:.0f} threads")
    return ", ".join(parts)


def _within(law: Fit, name: str) -> str:
    parameter = getattr(law, name)
    if parameter.low is None:
        return ""
    places = 2 if name == "contention" else 3
    return f" ({_percent(parameter.low, places)} to {_percent(parameter.high, places)})"


def _percent(share: float, places: int) -> str:
    text = f"{share * 100:.{places}f}".replace("-", "−")
    return text if float(text.replace("−", "-")) else f"{0:.{places}f}"


def _idle(sweep: Sweep, workload: str) -> list[Cell]:
    return [cell for cell in sweep.cells if cell.workload == workload and cell.load == "idle"]


def _jitter_text(cell: Cell) -> str:
    share = jitter(cell)
    return "" if share is None else f", with {share * 100:.1f} % jitter"


def _threads(workload: str, count: int = 1) -> str:
    kind = f"{workload} " if workload in ("scalar", "vector") else ""
    return f"{kind}thread{'s' if count > 1 else ''}"


def _on(placement: Placement) -> str:
    return cpus_text(placement.cpus)


def cpus_text(cpus: Sequence[int]) -> str:
    """CPU 3, or CPUs 0-3, 8."""
    return f"CPU{'s' if len(cpus) > 1 else ''} {format_cpu_list(cpus).replace(',', ', ')}"
