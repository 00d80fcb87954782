# SPDX-License-Identifier: GPL-2.0-only
"""rtscope measure: a probe under each load, judged by a budget."""

import re
from pathlib import Path
from typing import Annotated, Any

import typer

from rtscope.cli.emitting import EmitOption
from rtscope.cli.measuring import Outputs, measure_and_end
from rtscope.cli.options import (
    Break,
    Dask,
    Force,
    Fresh,
    GuestCommands,
    GuestFiles,
    GuestModules,
    IdleStates,
    Interval,
    JsonRuns,
    JUnitFile,
    KernelParameters,
    NoReport,
    Output,
    Phases,
    PolicyName,
    Priority,
    ProbeOption,
    Quiet,
    Report,
    Samples,
    Seeds,
    Tags,
    Targets,
    Watchdog,
    Worst,
    agent_option,
    time_ns,
    with_additions,
)
from rtscope.cli.probe_command import PROBES, complete_probe
from rtscope.engine.explain import WORST_DEFAULT
from rtscope.engine.planfile import made_plan
from rtscope.model.errors import RtscopeError
from rtscope.store.files import check_files

DEFAULT_DURATION = "60s"
_EXPLAINED = 10
"""samples that --above explains by default: as many as the agent keeps of each thread"""


def measure(
    probe: Annotated[
        str,
        typer.Argument(
            help=f"Probe: {', '.join(PROBES)}.",
            autocompletion=complete_probe,
        ),
    ] = "cyclic",
    load: Annotated[
        list[str] | None,
        agent_option(
            "load",
            "--load",
            "-L",
            default="idle",
            text="Measure once under this load, such as mixed, files:50, network:1+disk, "
            "'stress-ng:--cpu 2' or 'cmd:make -j4'; may be repeated",
        ),
    ] = None,
    duration: Annotated[
        str | None,
        agent_option(
            "duration",
            default=f"the probe's own number of samples, or {DEFAULT_DURATION}",
            text="Measure for TIME under each load, such as 30s, 5m or 8h",
        ),
    ] = None,
    samples: Samples = None,
    interval: Interval = None,
    cpus: Annotated[str | None, agent_option("cpus")] = None,
    priority: Priority = None,
    policy: PolicyName = None,
    option: ProbeOption = None,
    break_at: Break = None,
    target: Targets = None,
    module: GuestModules = None,
    file: GuestFiles = None,
    run: GuestCommands = None,
    append: KernelParameters = None,
    budget: Annotated[
        list[str] | None,
        typer.Option(
            "--budget",
            "-B",
            metavar="LIMIT",
            help="Exit with status 1 unless the run meets this limit: 'max<50us', 'p99.99<30us' "
            "(default unit: us), 'missed<1', 'inversions[inherit]<1' (a metric of the probe, for "
            "its threads of that name).",
        ),
    ] = None,
    until: Annotated[
        list[str] | None,
        typer.Option(
            metavar="LIMIT",
            help="Stop once this limit on a percentile is proven or hopeless: 'p99.999<50us' "
            "(default unit: us); may be repeated. It is also a --budget.",
        ),
    ] = None,
    seed: Annotated[int | None, agent_option("seed")] = None,
    seeds: Seeds = None,
    dask: Dask = None,
    worst: Worst = None,
    exceedances: Annotated[int | None, agent_option("exceedances")] = None,
    explain: Annotated[
        int | None,
        agent_option(
            "explain",
            text="Explain the N worst samples by the kernel's trace around them; on a vm: target "
            "in exact mode, repeat the run and explain it function by function",
        ),
    ] = None,
    above: Annotated[
        str | None,
        agent_option(
            "above",
            text="Explain only samples of TIME or more; the 10 worst of them without --explain",
        ),
    ] = None,
    explain_deep: Annotated[str | None, agent_option("explain-deep")] = None,
    samples_file: Annotated[Path | None, agent_option("samples-file")] = None,
    watchdog: Watchdog = None,
    idle_states: IdleStates = None,
    output: Output = None,
    report: Report = None,
    no_report: NoReport = False,
    junit: JUnitFile = None,
    emit: EmitOption = None,
    tag: Tags = None,
    fresh: Fresh = False,
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
    One thread on each CPU sleeps until a deadline and reads the clock when it runs again. After
    Ctrl-C the runs are kept, and the same command goes on with the loads that are left. Exit
    status: 0; 1 when a budget fails or is inconclusive, or a run ended early; 2 when the command
    is refused, nothing could be measured or a result could not be written; 3 when the watchdog
    ended a run; 130 on Ctrl-C.

    Options of cyclictest: -m, -S and --histogram N are accepted and change nothing (memory is
    locked, each CPU has a thread, histograms are complete). -t N is --cpus 0 to N-1. -h is help.

    \b
    rtscope measure --load idle --load mixed --duration 30s
    rtscope measure --target ssh:root@board --load mixed
    rtscope measure --target vm:x86_64-rt --module './mydriver period_us=500' --samples 10000
    rtscope measure -a 2,3 -i 200us -p 95 -D 8h --budget 'max<50us' --budget 'p99.99<30us'
    """
    outputs = Outputs(
        output=output,
        report=report,
        no_report=no_report,
        junit=junit,
        emit=emit,
        force=force,
        json=json,
        quiet=quiet,
        phases=phases,
    )
    outputs.check()
    check_files([samples_file], force=force)
    table = {
        "probes": [probe],
        "intervals": [time_ns(interval, "interval")] if interval else [],
        "policies": [policy] if policy else [],
        "priority": priority,
        "cpus": _cpus(cpus, threads),
        "duration": time_ns(duration, "duration"),
        "default_duration": None if until else time_ns(DEFAULT_DURATION, "duration"),
        "until": until or [],
        "samples": samples,
        "samples_file": str(samples_file.absolute()) if samples_file else None,
        "break": time_ns(break_at, "break"),
        "worst": explain if worst is None and (explain or 0) > WORST_DEFAULT else worst,
        "exceedances": exceedances,
        "explain": explain or (_EXPLAINED if above else 0),
        "above": time_ns(above, "above"),
        "explain_deep": explain_deep,
        "watchdog": time_ns(watchdog, "watchdog"),
        "idle_states": idle_states,
        "options": probe_options(option or []),
    }
    loads = load or ["idle"]
    targets = [with_additions(one, module, file, run, append) for one in target or ["local"]]
    plan = made_plan(
        {
            "title": f"rtscope measure {probe}",
            "measure": [table | named for named in _tables(loads)],
            "order": "as written",
            "seed": seed,
            "seeds": seeds,
            "targets": list(dict.fromkeys(targets)),
            "budget": [{"limits": budget}] if budget else [],
        }
    )
    measure_and_end(plan, outputs, fresh=fresh, tags=tag, dask=dask)


def _tables(loads: list[str]) -> list[dict[str, Any]]:
    """Return the differing keys of the [[measure]] tables: one table for each repeated load."""
    if len(set(loads)) == len(loads):
        return [{"loads": loads}]
    times = [loads[:at].count(load) + 1 for at, load in enumerate(loads)]
    names = ["" if count == 1 else f"measurement {count}" for count in times]
    return [{"loads": [load], "name": name} for load, name in zip(loads, names, strict=True)]


def _cpus(cpus: str | None, threads: int | None) -> str | None:
    """Return the CPUs to measure; cyclictest's -t N means the first N."""
    if threads is None:
        return cpus
    if cpus is not None:
        raise RtscopeError("-t N is --cpus 0 to N-1: give -t N or --cpus, not both")
    return f"0-{threads - 1}" if threads > 1 else "0"


def probe_options(given: list[str]) -> dict[str, str]:
    """Return a probe's own options by name, from `--option NAME=VALUE`."""
    options = {}
    for one in given:
        name, equals, value = one.partition("=")
        if not (equals and re.fullmatch(r"[a-z][a-z-]*", name)):
            raise RtscopeError(f"'{one}' is not an option of a probe: write NAME=VALUE")
        options[name] = value
    return options
