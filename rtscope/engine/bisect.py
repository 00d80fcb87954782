# SPDX-License-Identifier: GPL-2.0-only
"""The measurements of a bisection: each commit with several seeds, and what is stored of them."""

import os
from collections.abc import Callable, Sequence

import msgspec

from rtscope.engine.agent_group import AgentGroup
from rtscope.engine.check import check_limits
from rtscope.engine.dryrun import dry_run
from rtscope.engine.ensemble import measure_ensemble, union
from rtscope.engine.measure import read_machine
from rtscope.lab.bisect.commits import Commits, Workplace
from rtscope.lab.bisect.search import Result, Verdict
from rtscope.lab.vm import vm_target
from rtscope.model.budget import Limit
from rtscope.model.request import Request
from rtscope.model.run import Run
from rtscope.store import database


def check_measurement(request: Request, limits: Sequence[Limit]) -> None:
    """Check the measurement of a bisection before anything is built. Raises RtscopeError."""
    start = dry_run(msgspec.structs.replace(request, seed=None), "vm")
    check_limits(start, limits, "vm")


def measure_seeds(
    request: Request, target: str, seeds: Sequence[int], on_run: Callable[[Run], None]
) -> None:
    """Measure with each seed, as many at once as there are CPUs; `on_run` gets each run as it ends.

    Raises RtscopeError.
    """
    vm = vm_target(target)
    agents = AgentGroup()
    machine = read_machine(vm, agents.watch)
    measure_ensemble(request, seeds, machine, agents, on_run, vm, os.cpu_count() or 1)


def stored_sides(result: Result, commits: Commits, workplace: Workplace) -> Result:
    """Store a run with all seeds of the first bad commit and of the good one before it, for other
    commands. Raises RtscopeError.
    """
    if result.first_bad is None:
        return result
    return msgspec.structs.replace(
        result,
        before=_stored(result.before, commits, workplace),
        first_bad=_stored(result.first_bad, commits, workplace),
    )


def _stored(verdict: Verdict, commits: Commits, workplace: Workplace) -> Verdict:
    runs = commits.runs(verdict.commit, verdict.seeds)
    seeds = range(workplace.first_seed, workplace.first_seed + verdict.seeds)
    run = union(list(zip(seeds, runs, strict=True)), len(runs))
    database.save(run)
    kernel = workplace.kernel_of(verdict.commit)
    return msgspec.structs.replace(verdict, run=run.id, kernel=kernel.name if kernel else "")
