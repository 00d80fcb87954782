# SPDX-License-Identifier: GPL-2.0-only
"""An ensemble: one request measured with several seeds, side by side, and the union of its runs.

A VM that counts instructions repeats itself exactly: only another seed gives new samples.
"""

from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, as_completed
from typing import Protocol

import msgspec

from rtscope.engine.agent_group import AgentGroup
from rtscope.engine.measure import instructions, measure
from rtscope.model.errors import RtscopeError
from rtscope.model.machine import Machine
from rtscope.model.request import Request
from rtscope.model.run import LoadWork, Member, Run, Status, Thread
from rtscope.statistics.metrics import merge, metrics_of_run
from rtscope.store.database import new_run_id
from rtscope.target.agent import Agent, Stoppable, Target
from rtscope.target.protocol import AnyLine


class Nodes(Stoppable, Protocol):
    """Other computers that measure."""

    def submit(
        self,
        measure: Callable[[Request, Machine, Callable[[Agent], None], Target], Run],
        target: Target,
        request: Request,
        machine: Machine,
    ) -> "Future[Run]":
        """Begin to measure there."""
        ...


def measure_alone(
    request: Request, machine: Machine, on_start: Callable[[Agent], None], target: Target
) -> Run:
    """Measure on a target, here or on a node. Raises RtscopeError."""
    return measure(request, machine, on_start, _ignore, target)


def measure_ensemble(
    request: Request,
    seeds: Sequence[int],
    machine: Machine,
    agents: AgentGroup,
    on_done: Callable[[Run], None],
    target: Target,
    at_once: int,
    nodes: Nodes | None = None,
) -> Run:
    """Measure once with each of `seeds`, `at_once` of them side by side, and return their union.

    With `nodes` they are measured there, as many at once as these take. `agents` gets all agents,
    so that a signal can interrupt them: what was measured until then is kept. `on_done` gets each
    run as it ends. Raises RtscopeError where one cannot be measured, or none was.
    """

    def measure_member(seed: int) -> Run | None:
        if agents.interrupted:
            return None
        one = msgspec.structs.replace(request, seed=seed)
        try:
            if nodes:
                return nodes.submit(measure_alone, target, one, machine).result()
            return measure_alone(one, machine, agents.watch, target)
        except RtscopeError:
            if agents.interrupted:
                return None
            raise

    runs: dict[int, Run] = {}
    with ThreadPoolExecutor(len(seeds) if nodes else at_once) as pool:
        future_seeds = {pool.submit(measure_member, seed): seed for seed in seeds}
        try:
            for future in as_completed(future_seeds):
                run = future.result()
                if run:
                    runs[future_seeds[future]] = run
                    on_done(run)
        except BaseException:
            agents.interrupt()
            raise
    if not runs:
        raise RtscopeError("interrupted before anything was measured")
    return union([(seed, runs[seed]) for seed in seeds if seed in runs], len(seeds))


def union(members: Sequence[tuple[int, Run]], asked: int) -> Run:
    """Return one run with the samples of all members by thread, and each member by its seed.

    It is complete where all of the `asked` members are. Raises RtscopeError where they hold more
    samples than can be counted.
    """
    runs = [run for _, run in members]
    unfinished = [run.status for run in runs if run.status != "complete"]
    if len(runs) < asked:
        unfinished.append("interrupted")
    status: Status = unfinished[0] if unfinished else "complete"
    warnings = {(warning.code, warning.text): warning for run in runs for warning in run.warnings}
    together = msgspec.structs.replace(runs[0], threads=_threads(runs))
    lab = together.lab
    if lab:
        lab = msgspec.structs.replace(lab, instructions=instructions(together, lab))
    return msgspec.structs.replace(
        together,
        id=new_run_id(),
        status=status,
        lab=lab,
        elapsed_ns=sum(run.elapsed_ns or 0 for run in runs),
        start_monotonic_ns=None,
        loads=_loads(runs),
        warnings=list(warnings.values()),
        members=[
            Member(
                seed,
                run.status,
                run.threads,
                run.elapsed_ns,
                run.loads,
                run.lab.console if run.lab else "",
            )
            for seed, run in members
        ],
    )


def _threads(runs: Sequence[Run]) -> list[Thread]:
    alike: dict[tuple[int, str], list[Thread]] = {}
    for run in runs:
        for thread in run.threads:
            alike.setdefault((thread.thread, thread.name), []).append(thread)
    return [_together(runs[0], threads) for threads in alike.values()]


def _together(run: Run, threads: list[Thread]) -> Thread:
    pooled = metrics_of_run(msgspec.structs.replace(run, threads=threads))
    worst = sorted(
        (sample for thread in threads for sample in thread.worst),
        key=lambda sample: -sample.latency_ns,
    )
    most = max(len(thread.worst) for thread in threads)
    first = threads[0]
    return Thread(
        thread=first.thread,
        cpu=first.cpu,
        policy=first.policy,
        priority=first.priority,
        count=pooled.count,
        histogram=merge([thread.histogram for thread in threads]),
        min_ns=pooled.min_ns,
        max_ns=pooled.max_ns,
        mean_ns=pooled.mean_ns,
        stddev_ns=pooled.stddev_ns,
        missed=pooled.missed,
        name=first.name,
        worst=worst[:most],
    )


def _loads(runs: Sequence[Run]) -> list[LoadWork]:
    alike: dict[tuple[int, str], list[LoadWork]] = {}
    for run in runs:
        for place, load in enumerate(run.loads):
            alike.setdefault((place, load.name), []).append(load)
    return [
        LoadWork(
            name=loads[0].name,
            strength=loads[0].strength,
            seconds=sum(load.seconds for load in loads),
            work={
                unit: sum(load.work.get(unit, 0) for load in loads)
                for unit in dict.fromkeys(unit for load in loads for unit in load.work)
            },
        )
        for loads in alike.values()
    ]


def _ignore(line: AnyLine) -> None:
    """Ignore a line: a guest sends all of them at the end."""
