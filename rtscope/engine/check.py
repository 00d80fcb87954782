# SPDX-License-Identifier: GPL-2.0-only
"""Validate all cells of a plan before anything is measured."""

import difflib
import re
from collections.abc import Callable, Sequence
from typing import Final

import msgspec
from msgspec.structs import fields

from rtscope.engine.cells import Cell
from rtscope.engine.dryrun import dry_run, dry_run_on
from rtscope.engine.explain import check_explainable
from rtscope.engine.placement import check_placements
from rtscope.engine.planfile import PlanFile
from rtscope.engine.targets import target_of
from rtscope.engine.tuned import filled
from rtscope.engine.until import until_limits
from rtscope.lab.vm import vm_target
from rtscope.model.budget import METRICS, Limit, parse_limit
from rtscope.model.errors import BootError, OptionsRefusedError, RtscopeError
from rtscope.model.machine import Machine
from rtscope.model.plan import Measure, PlacementSeries
from rtscope.model.quantity import PERIODIC
from rtscope.model.request import Request
from rtscope.model.tomlfile import Place
from rtscope.references.library import reference_named
from rtscope.target import protocol
from rtscope.target.agent import Target
from rtscope.target.description import our_description

_LISTS: Final = {"load": "loads", "interval": "intervals", "policy": "policies"}
"""keys of [[measure]] that are lists of an option's values"""
_OF_A_PROGRAM: Final = "exec"
_START_NS: Final = 100_000_000
"""to start the agent, and to write and store its result"""
_LOAD_NS: Final = 500_000_000
"""additional time to start and to stop a load"""


def check_cells(file: PlanFile, cells: Sequence[Cell]) -> dict[str, protocol.Start]:
    """Return the agent's start line for each cell of a [[measure]] table, by the cell's name.

    The local agent validates the cells of all targets. Raises RtscopeError with the file's line
    for the first cell that it refuses.
    """
    measured = [cell for cell in cells if isinstance(cell.work, Request)]
    known = [probe.name for probe in our_description().probes]
    for cell in measured:
        if refusal := _unknown_probe(cell.request.probe, known):
            raise file.refusal((*cell.where, "probes"), refusal)
        for text in cell.request.budget:
            parse_limit(text)
    targets = _targets(file)
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
            # The local agent validates for a VM, too, because a boot is slow; only CPUs may differ.
            request = msgspec.structs.replace(request, cpus=None)
        _check_modules(file, cell, targets[cell.target])
        key = msgspec.json.encode(request)
        if key not in asked:
            asked[key] = _ask(file, cell, request)
        planned[cell.name] = asked[key]
        for text in cell.request.budget:
            _check_limit(file, cell, asked[key], text)
    return planned


def _targets(file: PlanFile) -> dict[str, Target]:
    """Reach the plan's targets. Raises RtscopeError with the file's line."""
    targets = {}
    for number, name in enumerate(file.plan.targets):
        try:
            targets[name] = target_of(name)
        except BootError as error:
            raise BootError(str(file.refusal(("targets", number), str(error)))) from None
        except RtscopeError as error:
            raise file.refusal(("targets", number), str(error)) from None
    return targets


def _check_lab(file: PlanFile, cell: Cell, target: Target) -> None:
    """Refuse requests that the target cannot run. Raises RtscopeError."""
    if cell.seeds and target.capabilities.seed is None:
        raise file.refusal(
            ("seeds",),
            f"{cell.target} has no seeds: they are for the lab. A real machine varies by itself: "
            "measure longer, or name a target vm:KERNEL",
        )
    if isinstance(cell.work, PlacementSeries):
        try:
            check_placements(cell.work, target)
        except RtscopeError as error:
            raise file.refusal(cell.where, str(error)) from None
        return
    for name, given in (("samples-file", cell.work.samples_file), ("explain", cell.explain)):
        if cell.seeds and given:
            raise file.refusal(
                cell.where, f"{name} is for one run: give the seed of one instead of several seeds"
            )
    try:
        until_limits(cell.until)
        if cell.until and cell.seeds:
            raise RtscopeError("until is for one run: give one seed instead of several seeds")
    except RtscopeError as error:
        raise file.refusal((*cell.where, "until"), str(error)) from None
    if cell.explain and not cell.watch:
        try:
            check_explainable(target, cell.explain, cell.work)
        except RtscopeError as error:
            raise file.refusal((*cell.where, "explain"), str(error)) from None


def check_tuning(
    file: PlanFile, cells: Sequence[Cell], machine_of: Callable[[str], Machine]
) -> None:
    """Refuse a profile that the target's CPUs or permissions do not allow.

    VMs are not checked, because a boot is slow. Raises RtscopeError with the file's line.
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
            dry_run_on(target_of(target), filled(cell.request, machine_of(target)))
        except RtscopeError as error:
            sentence = str(error).removeprefix(f"rtscope-agent {cell.request.probe}: ")
            raise file.refusal(("measure", table, "tune"), sentence) from None


def _unknown_probe(name: str, known: Sequence[str]) -> str:
    """Return why there is no such probe, with the nearest names; empty if there is one."""
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
    """Refuse limits on metrics or threads that the probe does not have.

    Threads are only checked for the local target. Raises RtscopeError.
    """
    names = list(dict.fromkeys(thread.name for thread in start.threads if thread.name))
    for limit in limits:
        if limit.is_metric and not any(_names(metric, limit.metric) for metric in start.metrics):
            known = ", ".join([*start.metrics, *METRICS])
            raise RtscopeError(
                f"'{limit.text}' can never pass: {start.probe} has no metric '{limit.metric}', "
                f"only {known} and pNN.N, such as p99.9"
            )
        if limit.is_response and start.probe not in PERIODIC:
            raise RtscopeError(
                f"'{limit.text}' can never pass: response times need periodic deadlines, which "
                f"{start.probe} does not have; only {', '.join(PERIODIC)} has them"
            )
        if limit.series and limit.series not in names and target == "local":
            raise RtscopeError(
                f"'{limit.text}' can never pass: no thread of {start.probe} is called "
                f"'{limit.series}', only {', '.join(names) or 'threads without a name'}"
            )


def _names(pattern: str, metric: str) -> bool:
    return re.fullmatch(re.escape(pattern).replace("N", "[0-9]+"), metric) is not None


def cell_ns(start: protocol.Start) -> int | None:
    """Return how long a cell with this start line takes, in ns; None where that is not known.

    The lesser of its duration and the time that its samples take at its interval.
    """
    spans = [span for span in (start.duration_ns, start.samples * start.interval_ns) if span]
    if not spans:
        return None
    return min(spans) + _START_NS + (_LOAD_NS if start.loads else 0)


def _check_limit(file: PlanFile, cell: Cell, start: protocol.Start, text: str) -> None:
    try:
        check_limits(start, [parse_limit(text)], cell.target)
    except RtscopeError as error:
        rules = enumerate(file.plan.budget)
        number = next(number for number, rule in rules if text in rule.limits)
        raise file.refusal(("budget", number, "limits"), str(error)) from None


def _check_modules(file: PlanFile, cell: Cell, target: Target) -> None:
    """Refuse a cell whose kernel lacks a required module."""
    if not target.capabilities.modules:
        return
    try:
        vm_target(target.name).fitted(cell.request)
    except RtscopeError as error:
        number = file.plan.targets.index(cell.target)
        raise file.refusal(("targets", number), str(error)) from None


def _ask(file: PlanFile, cell: Cell, request: Request) -> protocol.Start:
    try:
        return dry_run(request)
    except OptionsRefusedError as error:
        measure = file.plan.measure[cell.table]
        place: Place = (*cell.where, *_refused_key(measure, request, error.options))
        raise file.refusal(place, error.reason if file.path else str(error)) from None
    except RtscopeError as error:
        raise file.refusal(cell.where, str(error)) from None


def _refused_key(measure: Measure, request: Request, options: Sequence[str]) -> tuple[str, ...]:
    """Return the first of the refused options that is a key of the table; empty for none."""
    table = {field.encode_name: getattr(measure, field.name) for field in fields(Measure)}
    for name in options:
        if name in request.options:
            return ("options", name)
        key = _LISTS.get(name, name.replace("-", "_"))
        if table.get(key) not in (None, []):
            return (key,)
    return ()
