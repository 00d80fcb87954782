# SPDX-License-Identifier: GPL-2.0-only
"""Ask each target, before anything starts, whether and how it would measure each cell of a plan."""

import difflib
import re
from collections.abc import Callable, Sequence
from typing import Final

import msgspec

from rtscope.engine.cells import Cell
from rtscope.engine.explain import check_explainable
from rtscope.engine.planfile import PlanFile
from rtscope.engine.rehearse import SILENCE_S, rehearse, rehearsed_on
from rtscope.engine.sweep import check_sweep
from rtscope.engine.targets import target_of
from rtscope.engine.tuned import filled
from rtscope.lab.vm import vm_target
from rtscope.model.budget import FIGURES, Limit, parse_limit
from rtscope.model.errors import RtscopeError
from rtscope.model.machine import Machine
from rtscope.model.plan import Sweep
from rtscope.model.request import DryRun, Request
from rtscope.model.tomlfile import Place
from rtscope.references.library import reference_named
from rtscope.target import local, protocol
from rtscope.target.agent import Target

_OF_A_PROGRAM: Final = "exec"
_START_NS: Final = 100_000_000
"""to start the agent, and to write and keep its result"""
_LOAD_NS: Final = 500_000_000
"""more, until a load is up and steady, and until it has ended"""


def check_cells(file: PlanFile, cells: Sequence[Cell]) -> dict[str, protocol.Start]:
    """Return how the agent will begin each cell that is not a sweep, by the cell's name.

    The agent of this machine is asked for all targets. Raises RtscopeError with the file's line
    for the first cell that it would refuse.
    """
    measured = [cell for cell in cells if isinstance(cell.work, Request)]
    known = _known_probes()
    for cell in measured:
        if refusal := _unknown_probe(cell.request.probe, known):
            raise file.refusal((*cell.where, "probes"), refusal)
        for text in cell.request.budget:
            parse_limit(text)
    targets = {}
    for number, name in enumerate(file.plan.targets):
        try:
            targets[name] = target_of(name)
        except RtscopeError as error:
            raise file.refusal(("targets", number), str(error)) from None
    if file.plan.reference:
        try:
            reference_named(file.plan.reference)
        except RtscopeError as error:
            raise file.refusal(("reference",), str(error)) from None
    for cell in cells:
        _check_lab(file, cell, targets[cell.target])
    asked: dict[bytes, protocol.Start] = {}
    planned = {}
    for cell in measured:
        request = msgspec.structs.replace(
            cell.request, seed=None, tuning=None, command=[], budget=[]
        )
        if cell.target != "local":
            # To boot it would take longer than to fail: its agent is as ours, its CPUs are not.
            request = msgspec.structs.replace(request, cpus=None)
        _check_modules(file, cell, targets[cell.target])
        key = msgspec.json.encode(request)
        if key not in asked:
            asked[key] = _ask(file, cell, request)
        planned[cell.name] = asked[key]
        for text in cell.request.budget:
            _check_limit(file, cell, asked[key], text)
    return planned


def _check_lab(file: PlanFile, cell: Cell, target: Target) -> None:
    """Refuse what only the lab can do, and sweeps that cannot run. Raises RtscopeError."""
    if cell.seeds and target.capabilities.seed is None:
        raise file.refusal(
            ("seeds",),
            f"{cell.target} has no seeds: they are for the lab. A real machine varies by itself: "
            "measure longer, or name a target vm:KERNEL",
        )
    if isinstance(cell.work, Sweep):
        try:
            check_sweep(cell.work, target)
        except RtscopeError as error:
            raise file.refusal(cell.where, str(error)) from None
        return
    for name, given in (("samples-file", cell.work.samples_file), ("explain", cell.explain)):
        if cell.seeds and given:
            raise file.refusal(
                cell.where, f"{name} is for one run: give the seed of one instead of several seeds"
            )
    if cell.explain:
        try:
            check_explainable(target, cell.explain, cell.work)
        except RtscopeError as error:
            raise file.refusal((*cell.where, "explain"), str(error)) from None


def check_tuning(
    file: PlanFile, cells: Sequence[Cell], machine_of: Callable[[str], Machine]
) -> None:
    """Refuse a profile whose CPUs a target has not, or that the agent may not apply there.

    The lab's machines are left to the measuring: to boot one takes longer than to fail. Raises
    RtscopeError with the file's line.
    """
    last: dict[tuple[int, str], Cell] = {}
    for cell in cells:
        tuning = cell.work.tuning if isinstance(cell.work, Request) else None
        known = last.get((cell.table, cell.target))
        if tuning and not target_of(cell.target).capabilities.side_by_side:
            before = known.request.tuning if known else None
            if before is None or tuning.step > before.step:
                last[cell.table, cell.target] = cell
    for (table, target), cell in last.items():
        try:
            rehearsed_on(target_of(target), filled(cell.request, machine_of(target)))
        except RtscopeError as error:
            sentence = str(error).removeprefix(f"rtscope-agent {cell.request.probe}: ")
            raise file.refusal(("measure", table, "tune"), sentence) from None


def _unknown_probe(name: str, known: Sequence[str]) -> str:
    """Return why this probe cannot be measured here, with the nearest names; empty if it can."""
    if name == _OF_A_PROGRAM:
        return (
            f"the probe {name} times a program, which is given to 'rtscope scale -- PROGRAM' or "
            f"'rtscope agent {name} -- PROGRAM'"
        )
    if name in known:
        return ""
    known = [one for one in known if one != _OF_A_PROGRAM]
    nearest = difflib.get_close_matches(name, known)
    guess = f". Did you mean {' or '.join(nearest)}?" if nearest else ""
    return f"no probe is called '{name[:40]}'; the probes are {', '.join(known)}{guess}"


def check_limits(start: protocol.Start, limits: Sequence[Limit], target: str = "local") -> None:
    """Refuse limits on facts that the probe never has, or on threads that it has not.

    On another target than this machine, the threads may be others. Raises RtscopeError.
    """
    names = list(dict.fromkeys(thread.name for thread in start.threads if thread.name))
    for limit in limits:
        if limit.is_fact and not any(_names(fact, limit.figure) for fact in start.facts):
            known = ", ".join([*start.facts, *FIGURES])
            raise RtscopeError(
                f"'{limit.text}' can never pass: {start.probe} has no figure '{limit.figure}', "
                f"only {known} and pNN.N, such as p99.9"
            )
        if limit.series and limit.series not in names and target == "local":
            raise RtscopeError(
                f"'{limit.text}' can never pass: no thread of {start.probe} is called "
                f"'{limit.series}', only {', '.join(names) or 'threads without a name'}"
            )


def _names(fact: str, figure: str) -> bool:
    return re.fullmatch(re.escape(fact).replace("N", "[0-9]+"), figure) is not None


def cell_ns(start: protocol.Start) -> int | None:
    """Nanoseconds that a cell takes which begins so; None where only the probe's own speed decides.

    The lesser of its duration and the time that its samples take at its interval.
    """
    spans = [span for span in (start.duration_ns, start.samples * start.interval_ns) if span]
    if not spans:
        return None
    return min(spans) + _START_NS + (_LOAD_NS if start.loads else 0)


def _known_probes() -> list[str]:
    with local.started_agent(DryRun(Request())) as agent:
        return protocol.check_hello(next(agent.lines(SILENCE_S))).probes


def _check_limit(file: PlanFile, cell: Cell, start: protocol.Start, text: str) -> None:
    try:
        check_limits(start, [parse_limit(text)], cell.target)
    except RtscopeError as error:
        rules = enumerate(file.plan.budget)
        number = next(number for number, rule in rules if text in rule.limits)
        raise file.refusal(("budget", number, "limits"), str(error)) from None


def _check_modules(file: PlanFile, cell: Cell, target: Target) -> None:
    """Refuse a cell that its kernel lacks a module for."""
    if not target.capabilities.modules:
        return
    try:
        vm_target(target.name).fitted(cell.request)
    except RtscopeError as error:
        number = file.plan.targets.index(cell.target)
        raise file.refusal(("targets", number), str(error)) from None


def _ask(file: PlanFile, cell: Cell, request: Request) -> protocol.Start:
    try:
        return rehearse(request)
    except RtscopeError as error:
        sentence = str(error).removeprefix(f"rtscope-agent {request.probe}: ")
        place: Place = (*cell.where, *_to_blame(request))
        raise file.refusal(place, sentence if file.path else str(error)) from None


def _to_blame(request: Request) -> tuple[str, ...]:
    """The key of [[measure]] without which the agent would take the request; empty for none."""
    without: dict[tuple[str, ...], Request] = {
        ("loads",): msgspec.structs.replace(request, load="idle"),
        ("intervals",): msgspec.structs.replace(request, interval_ns=None),
        ("policies",): msgspec.structs.replace(request, policy=None),
        ("priority",): msgspec.structs.replace(request, priority=None),
        ("cpus",): msgspec.structs.replace(request, cpus=None),
        ("duration",): msgspec.structs.replace(request, duration_ns=None),
        ("samples",): msgspec.structs.replace(request, samples=None),
        ("break",): msgspec.structs.replace(request, threshold_ns=None),
        ("watchdog",): msgspec.structs.replace(request, watchdog_ns=None),
        ("idle_states",): msgspec.structs.replace(request, idle_states=None),
    }
    for name in request.options:
        rest = {key: value for key, value in request.options.items() if key != name}
        without["options", name] = msgspec.structs.replace(request, options=rest)
    for key, changed in without.items():
        if changed != request:
            try:
                rehearse(changed)
            except RtscopeError:
                continue
            return key
    return ()
