"""rtscope measure: run a probe under each load, show it live, judge it, keep it."""

import re
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NoReturn

import typer

from rtscope.cli.interrupt import Interrupt
from rtscope.cli.options import (
    Break,
    Force,
    Interval,
    JsonRuns,
    NoReport,
    OneTarget,
    Output,
    PolicyName,
    Priority,
    ProbeOption,
    Quiet,
    Report,
    Samples,
    Watchdog,
    Worst,
)
from rtscope.cli.outputs import check_files, copy_run, keep_run, show_run, write_report
from rtscope.cli.streams import complain
from rtscope.cli.targets import reached
from rtscope.model.errors import RtscopeError
from rtscope.model.units import parse_time_ns

if TYPE_CHECKING:
    from rtscope.model.budget import Limit
    from rtscope.model.machine import Machine
    from rtscope.model.run import Run

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
    method: Annotated[
        str | None,
        typer.Option(
            metavar="METHOD",
            help="Of cyclic: nanosleep or timerfd; of loop: relative, absolute, ... [default: "
            "nanosleep; all]",
        ),
    ] = None,
    where: Annotated[
        str | None,
        typer.Option(
            "--in",
            metavar="WHERE",
            help="Of loop: program, or kernel, the module rtloop's. [default: program]",
        ),
    ] = None,
    transfer: Annotated[
        str | None,
        typer.Option(metavar="WAY", help="Of daq: copy, mapped or scatter. [default: scatter]"),
    ] = None,
    arm: Annotated[
        str | None,
        typer.Option(metavar="WAY", help="Of daq: separate or atomic. [default: atomic]"),
    ] = None,
    via: Annotated[
        str | None,
        typer.Option(
            metavar="WAY",
            help="Of event: sigwait, sigio, read, poll, ...; of async: cond, futex, eventfd, ... "
            "[default: sigwait; cond]",
        ),
    ] = None,
    interrupts: Annotated[
        str | None,
        typer.Option(metavar="WAY", help="Of daq: one an event or a channel. [default: event]"),
    ] = None,
    phase: Annotated[
        str | None,
        typer.Option(
            metavar="PHASE",
            help="sweep moves the deadline within the interval; fixed. [default: sweep]",
        ),
    ] = None,
    distance: Annotated[
        str | None,
        typer.Option(
            "--distance",
            "-d",
            metavar="TIME",
            help="Thread N's interval is longer by N times this. [default: 0]",
        ),
    ] = None,
    option: ProbeOption = None,
    break_at: Break = None,
    target: OneTarget = "local",
    budget: Annotated[
        list[str] | None,
        typer.Option(
            "--budget",
            "-B",
            metavar="LIMIT",
            help="Exit 1 unless kept: 'max<50us', 'p99.99<30us', 'missed<1', "
            "'inversions[inherit]<1' (a fact of the probe, of its threads of that name).",
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
    output: Output = None,
    report: Report = None,
    no_report: NoReport = False,
    force: Force = False,
    json: JsonRuns = False,
    quiet: Quiet = False,
) -> None:
    """Measure how late this machine answers.

    One thread a CPU sleeps until a deadline and reads the clock when it runs again. Exit status: 0,
    1 when a budget is broken or not proven, 2 for bad use, 130 on Ctrl-C (the run is kept, marked
    partial).

    \b
    rtscope measure --load idle --load mixed --duration 30s
    rtscope measure --target ssh:root@board --load mixed
    rtscope measure -a 2,3 -i 200us -p 95 -D 8h --budget 'max<50us' --budget 'p99.99<30us'
    """
    from rtscope.cli.live import measure_explained
    from rtscope.cli.seeds import measure_seeds, several_seeds
    from rtscope.experiment.check import check_limits, rehearse
    from rtscope.experiment.explain import explainable
    from rtscope.experiment.measure import read_machine
    from rtscope.experiment.request import Request
    from rtscope.model.budget import parse_limit
    from rtscope.statistics.verdict import judge

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
            cpus=cpus,
            options=probe_options(
                option or [],
                {
                    "in": where,
                    "method": method,
                    "phase": phase,
                    "distance": distance,
                    "transfer": transfer,
                    "arm": arm,
                    "via": via,
                    "interrupts": interrupts,
                },
            ),
            threshold_ns=parse_time_ns(break_at, "us") if break_at else None,
            seed=seed,
            worst=worst,
            watchdog_ns=parse_time_ns(watchdog, "s") if watchdog else None,
            samples_file=str(samples_file.absolute()) if samples_file else None,
            budget=budget or [],
            command=["rtscope", *sys.argv[1:]],
        )
        for one in loads
    ]
    files = _outputs(output, loads)
    check_files([*files, report, samples_file], force=force)
    for request in requests:
        check_limits(rehearse(request, target), limits, target)
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
            lost |= not told
            runs.append(run)
            stored = keep_run(run)
            lost |= not stored
            if file:
                lost |= not copy_run(run, file, stored=stored, force=force)
            lost |= not show_run(run, judge(run, limits), stored=stored, json=json)
            if interrupt.signal is not None:
                break
    if runs and not no_report:
        judgements = [judge(run, limits) for run in runs]
        lost |= not write_report(runs, judgements, runs[-1].id, report, json=json)
    _end(runs, limits, failure, interrupt, lost=lost)


def _end(
    runs: Sequence["Run"],
    limits: Sequence["Limit"],
    failure: RtscopeError | None,
    interrupt: Interrupt,
    *,
    lost: bool,
) -> NoReturn:
    """End with the status that tells what became of the runs."""
    from rtscope.statistics.verdict import exit_code, judge

    if failure and interrupt.signal is None:
        raise failure
    if interrupt.signal is not None:
        if failure:
            complain(str(failure))
        raise typer.Exit(128 + interrupt.signal)
    unfinished = any(run.status != "complete" for run in runs)
    broken = any(exit_code(judge(run, limits)) for run in runs)
    raise typer.Exit(int(lost or unfinished or broken))


def probe_options(given: list[str], named: dict[str, str | None]) -> dict[str, str]:
    """A probe's own options by name, from `--option NAME=VALUE` and those that have one."""
    options = {name: value for name, value in named.items() if value is not None}
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
