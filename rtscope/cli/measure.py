# SPDX-License-Identifier: GPL-2.0-only
"""rtscope measure: run a probe under each load, show it live, judge it, keep it."""

import re
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, NoReturn

import typer

from rtscope.cli.interrupt import Interrupt
from rtscope.cli.live import measure_explained
from rtscope.cli.options import (
    Break,
    Force,
    IdleStates,
    Interval,
    JsonRuns,
    NoReport,
    OneTarget,
    Output,
    Phases,
    PolicyName,
    Priority,
    ProbeOption,
    Quiet,
    Report,
    Samples,
    Watchdog,
    Worst,
)
from rtscope.cli.outputs import Display, check_files, ended_by_watchdog, finish_run
from rtscope.cli.reportfile import write_report
from rtscope.cli.seeds import measure_seeds, several_seeds
from rtscope.cli.streams import complain
from rtscope.cli.targets import reached
from rtscope.engine.check import check_limits, check_probe, rehearse
from rtscope.engine.explain import explainable
from rtscope.engine.measure import read_machine
from rtscope.model.budget import Limit, parse_limit
from rtscope.model.errors import RtscopeError
from rtscope.model.machine import Machine
from rtscope.model.request import Request
from rtscope.model.run import Run
from rtscope.model.units import parse_time_ns
from rtscope.statistics.verdict import exit_code, judge

DEFAULT_DURATION = "60s"


def measure(
    probe: Annotated[
        str,
        typer.Argument(
            help="What to measure: cyclic, gtod, sched, noise, async, signal, event, daq, loop, "
            "pi, migrate, topology, memory or scaling."
        ),
    ] = "cyclic",
    load: Annotated[
        list[str] | None,
        typer.Option(
            "--load",
            "-L",
            metavar="LOAD",
            help="Measure once under each: idle, mixed, files:50, "
            "network:1+disk, 'stress-ng:--cpu 2', 'cmd:make -j4'. [default: idle]",
        ),
    ] = None,
    duration: Annotated[
        str | None,
        typer.Option(
            "--duration",
            "-D",
            metavar="TIME",
            help="How long under each load, such as 30s or 8h. "
            f"[default: the probe's own number of samples, or {DEFAULT_DURATION}]",
        ),
    ] = None,
    samples: Samples = None,
    interval: Interval = None,
    cpus: Annotated[
        str | None,
        typer.Option(
            "--cpus",
            "-a",
            metavar="LIST",
            help="0-3,8, first or all. [default: the probe's, mostly all]",
        ),
    ] = None,
    priority: Priority = None,
    policy: PolicyName = None,
    option: ProbeOption = None,
    break_at: Break = None,
    target: OneTarget = "local",
    budget: Annotated[
        list[str] | None,
        typer.Option(
            "--budget",
            "-B",
            metavar="LIMIT",
            help="Exit 1 unless the run meets it: 'max<50us', 'p99.99<30us' (default unit: us), "
            "'missed<1', 'inversions[inherit]<1' (a metric of the probe, for its threads of that "
            "name).",
        ),
    ] = None,
    seed: Annotated[
        int | None, typer.Option(min=0, help="Of loads and phases. [default: 1]")
    ] = None,
    seeds: Annotated[
        int | None,
        typer.Option(
            min=2,
            max=1000,
            metavar="N",
            help="In the lab: measure with N seeds from --seed on, side by side, and put them "
            "together.",
        ),
    ] = None,
    worst: Worst = None,
    explain: Annotated[
        int | None,
        typer.Option(
            metavar="COUNT",
            min=1,
            max=64,
            help="Tell how this many of the worst samples came about, function by function; "
            "for a vm: target in exact mode, whose run is made again for it.",
        ),
    ] = None,
    samples_file: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write every sample here, as TSV.")
    ] = None,
    watchdog: Watchdog = None,
    idle_states: IdleStates = None,
    output: Output = None,
    report: Report = None,
    no_report: NoReport = False,
    force: Force = False,
    json: JsonRuns = False,
    phases: Phases = False,
    quiet: Quiet = False,
    threads: Annotated[int | None, typer.Option(min=1, max=1024, hidden=True)] = None,
    mlockall: Annotated[bool, typer.Option("--mlockall", "-m", hidden=True)] = False,
    smp: Annotated[bool, typer.Option("--smp", "-S", hidden=True)] = False,
    histogram: Annotated[int | None, typer.Option(min=1, hidden=True)] = None,
) -> None:
    """
    One thread a CPU sleeps until a deadline and reads the clock when it runs again. Exit status: 0,
    1 when a budget fails or is inconclusive, 2 for bad use or when a result could not be
    written, 3 when the watchdog ended a run, 130 on Ctrl-C (the run is kept, marked
    partial).

    Options of cyclictest: -m, -S and --histogram N are accepted and change nothing (memory is
    locked, each CPU has a thread, histograms are complete). -t N is --cpus 0 to N-1. -h is help.

    \b
    rtscope measure --load idle --load mixed --duration 30s
    rtscope measure --target ssh:root@board --load mixed
    rtscope measure -a 2,3 -i 200us -p 95 -D 8h --budget 'max<50us' --budget 'p99.99<30us'
    """
    check_probe(probe)
    limits = [parse_limit(text) for text in budget or []]
    place = explainable(reached(target), explain or 0, worst)
    several = several_seeds(place, seeds, seed, samples_file, explain)
    loads = load or ["idle"]
    if samples_file and len(loads) > 1:
        raise RtscopeError("--samples-file holds one run: give one --load, or measure them in turn")
    requests = [
        Request(
            probe=probe,
            load=one,
            interval_ns=parse_time_ns(interval, "us") if interval else None,
            duration_ns=parse_time_ns(duration, "s") if duration else None,
            default_duration_ns=parse_time_ns(DEFAULT_DURATION, "s"),
            samples=samples,
            policy=policy,
            priority=priority,
            cpus=_cpus(cpus, threads),
            options=probe_options(option or []),
            threshold_ns=parse_time_ns(break_at, "us") if break_at else None,
            seed=seed,
            worst=worst,
            watchdog_ns=parse_time_ns(watchdog, "s") if watchdog else None,
            idle_states=idle_states,
            samples_file=str(samples_file.absolute()) if samples_file else None,
            budget=budget or [],
            command=["rtscope", *sys.argv[1:]],
        )
        for one in loads
    ]
    files = _outputs(output, loads)
    check_files([*files, report, samples_file], force=force)
    _check_requests(requests, limits, target)
    display = Display(json, quiet, phases)
    interrupt = Interrupt()
    runs: list[Run] = []
    machine: Machine | None = None
    failure: RtscopeError | None = None
    lost = False
    with interrupt.installed():
        for request, file in zip(requests, files, strict=True):
            try:
                machine = machine or read_machine(place, interrupt.watch)
                if interrupt.signal is not None:
                    break
                if several:
                    run = measure_seeds(request, several, machine, place, interrupt, quiet=quiet)
                    told = True
                else:
                    run, told = measure_explained(
                        request, machine, place, interrupt, explain, quiet=quiet
                    )
            except RtscopeError as error:
                failure = error
                break
            runs.append(run)
            kept = finish_run(run, judge(run, limits), file, display, force=force)
            lost |= not (told and kept)
            if interrupt.signal is not None:
                break
    if runs and not no_report:
        judgements = [judge(run, limits) for run in runs]
        lost |= not write_report(runs, judgements, runs[-1].id, report, json=json, quiet=quiet)
    _end(runs, limits, failure, interrupt, lost=lost)


def _cpus(cpus: str | None, threads: int | None) -> str | None:
    """Return the CPUs to measure; cyclictest's -t N means the first N."""
    if threads is None:
        return cpus
    if cpus is not None:
        raise RtscopeError("-t N is --cpus 0 to N-1: give -t N or --cpus, not both")
    return f"0-{threads - 1}" if threads > 1 else "0"


def _check_requests(requests: Sequence[Request], limits: Sequence[Limit], target: str) -> None:
    """Before anything is measured, raise RtscopeError for what the agent would refuse."""
    for request in requests:
        check_limits(rehearse(request, target), limits, target)


def _end(
    runs: Sequence[Run],
    limits: Sequence[Limit],
    failure: RtscopeError | None,
    interrupt: Interrupt,
    *,
    lost: bool,
) -> NoReturn:
    """End with the status that tells what became of the runs."""
    if failure and interrupt.signal is None:
        raise failure
    if interrupt.signal is not None:
        if failure:
            complain(str(failure))
        raise typer.Exit(128 + interrupt.signal)
    unfinished = any(run.status != "complete" for run in runs)
    broken = any(exit_code(judge(run, limits)) for run in runs)
    if lost:
        raise typer.Exit(2)
    raise typer.Exit(ended_by_watchdog(runs) or int(unfinished or broken))


def probe_options(given: list[str]) -> dict[str, str]:
    """Return a probe's own options by name, from `--option NAME=VALUE`."""
    options = {}
    for one in given:
        name, equals, value = one.partition("=")
        if not (equals and re.fullmatch(r"[a-z][a-z-]*", name)):
            raise RtscopeError(f"'{one}' is not an option of a probe: write NAME=VALUE")
        options[name] = value
    return options


def _outputs(output: Path | None, loads: list[str]) -> Sequence[Path | None]:
    """The file of each load's run: FILE itself for one, FILE-<number>-<name> for several."""
    if output is None or len(loads) == 1:
        return [output] * len(loads)
    return [
        output.with_stem(f"{output.stem}-{number}-{re.sub(r'[^A-Za-z0-9]+', '-', load)[:40]}")
        for number, load in enumerate(loads, 1)
    ]
