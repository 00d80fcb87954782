# SPDX-License-Identifier: GPL-2.0-only
"""Ask each target, before anything starts, whether and how it would measure each cell of a plan."""

import difflib
import re
from collections.abc import Callable, Sequence
from typing import Final

import msgspec

from rtscope.engine.cells import Cell
from rtscope.engine.planfile import PlanFile
from rtscope.engine.targets import target_of
from rtscope.engine.tuned import filled
from rtscope.lab.vm import vm_target
from rtscope.model.budget import FIGURES, Limit, parse_limit
from rtscope.model.errors import RtscopeError
from rtscope.model.machine import Machine
from rtscope.model.request import DryRun, Request
from rtscope.model.tomlfile import Place
from rtscope.references.library import reference_named
from rtscope.target import local, protocol
from rtscope.target.agent import Agent, Target
from rtscope.target.local import LOCAL

_SILENCE_S: Final = 20.0
_OF_A_PROGRAM: Final = "exec"
_START_NS: Final = 100_000_000
"""to start the agent, and to write and keep its result"""
_LOAD_NS: Final = 500_000_000
"""more, until a load is up and steady, and until it has ended"""


def check_cells(file: PlanFile, cells: Sequence[Cell]) -> dict[str, protocol.Start]:
    """What the agent will do in each cell, by the cell's name; ours is asked for all targets.

    Raises RtscopeError with the file's line for the first cell that it would refuse.
    """
    targets = {}
    for number, name in enumerate(file.plan.targets):
        try:
            targets[name] = target_of(name)
        except RtscopeError as error:
            raise file.refusal(("targets", number), f"targets: {error}") from None
    if file.plan.reference:
        try:
            reference_named(file.plan.reference)
        except RtscopeError as error:
            raise file.refusal(("reference",), f"reference: {error}") from None
    known = _known_probes()
    for cell in cells:
        if refusal := _unknown_probe(cell.request.probe, known):
            raise file.refusal(("measure", cell.table, "probes"), f"probes: {refusal}")
    asked: dict[bytes, protocol.Start] = {}
    planned = {}
    for cell in cells:
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


def check_tuning(
    file: PlanFile, cells: Sequence[Cell], machine_of: Callable[[str], Machine]
) -> None:
    """Refuse a profile whose CPUs a target has not, or that the agent may not apply there.

    The lab's machines are left to the measuring: to boot one takes longer than to fail. Raises
    RtscopeError with the file's line.
    """
    last: dict[tuple[int, str], Cell] = {}
    for cell in cells:
        tuning, known = cell.request.tuning, last.get((cell.table, cell.target))
        if tuning and not cell.emulated:
            before = known.request.tuning if known else None
            if before is None or tuning.step > before.step:
                last[cell.table, cell.target] = cell
    for (table, target), cell in last.items():
        try:
            rehearsed_on(target_of(target), filled(cell.request, machine_of(target)))
        except RtscopeError as error:
            sentence = str(error).removeprefix(f"rtscope-agent {cell.request.probe}: ")
            raise file.refusal(("measure", table, "tune"), f"tune: {sentence}") from None


def check_probe(name: str) -> None:
    """Raise RtscopeError, with the nearest names, if the agent has no such probe."""
    if refusal := _unknown_probe(name, _known_probes()):
        raise RtscopeError(refusal)


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


def rehearse(request: Request, target: str = "local") -> protocol.Start:
    """What the agent would begin with for this request. Raises RtscopeError where it refuses.

    Ours is asked for every target: to boot one would take longer than to fail.
    """
    if target != "local":
        request = msgspec.structs.replace(request, cpus=None)
    return rehearsed_on(LOCAL, request)


def rehearsed_on(
    place: Target,
    request: Request,
    on_start: Callable[[Agent], None] = lambda agent: None,
) -> protocol.Start:
    """What the agent of that place would begin with. Raises RtscopeError where it refuses."""
    with place.started_agent(DryRun(request)) as agent:
        on_start(agent)
        for line in agent.lines(_SILENCE_S):
            if isinstance(line, protocol.Start):
                return line
    raise RtscopeError("the agent did not say what it would measure")


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
        return protocol.check_hello(next(agent.lines(_SILENCE_S))).probes


def _check_limit(file: PlanFile, cell: Cell, start: protocol.Start, text: str) -> None:
    try:
        check_limits(start, [parse_limit(text)], cell.target)
    except RtscopeError as error:
        rules = enumerate(file.plan.budget)
        number = next(number for number, rule in rules if text in rule.limits)
        raise file.refusal(("budget", number, "limits"), f"limits: {error}") from None


def _check_modules(file: PlanFile, cell: Cell, target: Target) -> None:
    """Refuse a cell that its kernel lacks a module for."""
    if not target.capabilities.modules:
        return
    try:
        vm_target(target.name).fitted(cell.request)
    except RtscopeError as error:
        number = file.plan.targets.index(cell.target)
        raise file.refusal(("targets", number), f"targets: {error}") from None


def _ask(file: PlanFile, cell: Cell, request: Request) -> protocol.Start:
    try:
        return rehearse(request)
    except RtscopeError as error:
        sentence = str(error).removeprefix(f"rtscope-agent {request.probe}: ")
        place: Place = ("measure", cell.table, *_to_blame(request))
        keys = "".join(f"{part}: " for part in place[2:])
        raise file.refusal(place, f"{keys}{sentence}") from None


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
