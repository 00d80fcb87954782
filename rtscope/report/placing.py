"""What a sweep says of where threads should run, what they share and what disturbs them.

Every sentence that tells a difference was tested (statistics/placing.py).
"""

import math
from collections.abc import Sequence
from typing import Final

from rtscope.model.cpulist import format_cpu_list
from rtscope.model.scaling import Pair, Placement
from rtscope.model.sweep import Cell, Sweep
from rtscope.model.units import format_ns
from rtscope.report.words import plain
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
from rtscope.statistics.scaling import SMALLEST_MISFIT, Fit

_WIDE: Final = 1.25
"""above this, limits leave room for a gain or a disturbance that matters"""
_MOST_PLACES: Final = 3
"""of those that are as good"""


def advice(sweep: Sweep) -> list[str]:
    """What to do, one sentence or some for a workload."""
    told = []
    for workload in sweep.workloads:
        cells = _idle(sweep, workload)
        choice = chosen(cells)
        if choice:
            text = _advised(workload, cells, choice, sweep.rounds)
            told.append(text + _fast_ones(sweep, workload, choice.best.placement))
        else:
            told.append(f"One {_threads(workload)} alone was not measured: nothing is advised.")
    return told


def _advised(workload: str, cells: Sequence[Cell], choice: Choice, rounds: int) -> str:
    best, gain = choice.best, choice.gain
    where, kind = _on(best.placement), _threads(workload, 2)
    if gain and not gain.is_more:
        return (
            f"Too few data to say how many {kind} to use: {best.placement.threads} on {where} are "
            f"{ratio_text(gain)} times as fast as one, which chance may have made. {_more(rounds)}"
        )
    if gain is None:
        return _one_thread(workload, cells, choice, rounds)
    return (
        f"Use {where} for {best.placement.threads} {kind}: {ratio_text(gain)} times as fast as one"
        f"{_jitter_text(best)}.{_against_most(cells, best)}{_elsewhere(choice)}"
        f"{_undecided(choice)}"
    )


def _one_thread(workload: str, cells: Sequence[Cell], choice: Choice, rounds: int) -> str:
    """Where none of several is faster, or where nothing else was measured."""
    where, several = _on(choice.best.placement), choice.at_most
    told = f"Use {where} for one {_threads(workload)}"
    if several is None and len(cells) == 1:
        return f"Only one {_threads(workload)} on {where} was measured: nothing is to choose."
    if several is None:
        return f"{told}.{_elsewhere(choice)}"
    if several.is_one:
        return f"{told}; more threads are not faster.{_elsewhere(choice)}"
    much = ratio_text(several)
    if several.high is not None and several.high <= _WIDE:
        return f"{told}; no evidence that more are faster: {much} times.{_elsewhere(choice)}"
    return (
        f"Too few data to say how many {_threads(workload, 2)} to use: no evidence that more than "
        f"one is faster, but several may be {much} times as fast. {_more(rounds)}"
    )


def _more(rounds: int) -> str:
    return f"Give more --rounds than {rounds}."


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


def _elsewhere(choice: Choice) -> str:
    """What the same number of threads costs at the other places."""
    told = ""
    verb = "they take" if choice.best.placement.threads > 1 else "it takes"
    if choice.worst:
        cell, lost = choice.worst
        told += f" On {_on(cell.placement)} {verb} {ratio_text(lost)} times as long."
    if choice.alike:
        places = [_on(cell.placement) for cell in choice.alike[:_MOST_PLACES]]
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
    held = []
    for workload in sweep.workloads:
        alike = [
            (pair, cell)
            for pair in sweep.pairs
            if (cell := sweep.cell(workload, pair.placement)) and not is_mixed(sweep, cell)
        ]
        held += [
            (pair, workload, alike[-1][0], _lost(sweep, near, alike[-1][1]))
            for pair, near in alike[:-1]
        ]
    losses = corrected([lost for *_, lost in held])
    units = [(pair, *unit) for pair in sweep.pairs if (unit := _vector_unit(sweep, pair))]
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


def _lost(sweep: Sweep, near: Cell, far: Cell) -> Ratio:
    """Times of the near two over those of the far; where CPUs are slower by themselves, each held
    against one thread on the slowest of its own."""
    cpus = {*near.placement.cpus, *far.placement.cpus}
    own = [beside_slowest(sweep, cell) for cell in (near, far)]
    if own[0] is None or own[1] is None or not cpus & slower_cpus(sweep, near.workload).keys():
        return ratio(near, far)
    return ratio_of([a - b for a, b in zip(own[0], own[1], strict=True)])


def _loss_text(pair: Pair, workload: str, farthest: Pair, lost: Ratio) -> str:
    where = f"{_on(pair.placement)}, which {shared_text(pair.shared)}"
    return (
        f"Two {_threads(workload, 2)} on {where}, take {ratio_text(lost)} times as long as on "
        f"{_on(farthest.placement)}, which {shared_text(farthest.shared)}: the nearer two share "
        "what they need."
    )


def _vector_unit(sweep: Sweep, pair: Pair) -> tuple[Ratio, str] | None:
    """How much less the second thread brings to the vector form than to the scalar one."""
    one = Placement(pair.placement.cpus[:1], 1)
    cells = [
        sweep.cell(form, place) for form in ("scalar", "vector") for place in (one, pair.placement)
    ]
    if any(cell is None or is_mixed(sweep, cell) for cell in cells):
        return None
    scalar_one, scalar_two, vector_one, vector_two = (cell for cell in cells if cell)
    scalar = _gain(sweep, scalar_one, scalar_two)
    vector = _gain(sweep, vector_one, vector_two)
    text = (
        f"{_on(pair.placement)} share a vector unit, or what feeds it: two vector threads there "
        f"are {ratio_text(ratio_of(vector))} times as fast as one, two scalar threads "
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
                f"One {_threads(workload)} takes {up_to}{ratio_text(worst)} times as long on "
                f"{cpus_text(sorted(slower))} as on {cpus_text(fast)}: the CPUs are not alike, "
                "which the laws of scaling take for granted. What they call a serial fraction is "
                "in part the wait for the slower CPUs."
            )
    return told


def _fast_ones(sweep: Sweep, workload: str, placement: Placement) -> str:
    """Which of the CPUs that are recommended are the fast ones, where others are slower."""
    slower = slower_cpus(sweep, workload)
    fast = [cpu for cpu in placement.cpus if cpu not in slower]
    if not slower or not fast:
        return ""
    if len(fast) == len(placement.cpus):
        return (
            f" {_on(placement)} {'are' if fast[1:] else 'is'} of the fast ones; "
            f"{cpus_text(sorted(slower))} {'are' if len(slower) > 1 else 'is'} slower."
        )
    are = "are the fast ones" if fast[1:] else "is the fast one"
    return f" {cpus_text(fast)} {are} of these."


def interference(sweep: Sweep) -> list[str]:
    """Who disturbs, and by how much; a sentence each, the worst first."""
    told = []
    for workload in sweep.workloads:
        if not _idle(sweep, workload):
            told.append(f"{workload} was not measured alone: nothing is said of what disturbs it.")
        found = slowdowns(sweep, workload)
        loud = [one for one in found if _differs(one.ratio)]
        for one in loud:
            much = f"takes {ratio_text(one.ratio)} times as long beside {one.cell.load}"
            told.append(f"{workload} {much} on {cpus_text(sweep.load_cpus)}.")
        quiet = [one for one in found if one not in loud]
        unknown = [one for one in quiet if one.ratio.high is None or one.ratio.high > _WIDE]
        names = ", ".join(one.cell.load for one in quiet if one not in unknown)
        if names:
            told.append(f"No evidence that {workload} suffers 5 % or more from {names}.")
        if unknown:
            names = ", ".join(one.cell.load for one in unknown)
            reach = max((one.ratio.high or math.inf for one in unknown), default=math.inf)
            reached = f": it may take {reach:.2f} times as long" if reach < math.inf else ""
            told.append(
                f"Too few data to say whether {workload} suffers from {names}{reached}. "
                f"{_more(sweep.rounds)}"
            )
    return told


def _differs(one: Ratio) -> bool:
    """Whether a load makes it slower, or faster, by more than chance and by 5 %."""
    return one.is_sure and abs(one.value - 1) >= SMALLEST_GAIN - 1


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
    least = law.contention.value if law.contention.low is None else law.contention.low
    if least > 1:
        parts[-1] += ": more than all, for several threads are slower than one"
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
