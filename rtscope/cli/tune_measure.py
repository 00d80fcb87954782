# SPDX-License-Identifier: GPL-2.0-only
"""rtscope tune measure: the effect of each step of a profile."""

from pathlib import Path
from typing import Annotated

import typer

from rtscope.cli.emitting import EmitOption
from rtscope.cli.measure import probe_options
from rtscope.cli.measuring import Outputs, measure_and_end
from rtscope.cli.options import (
    Break,
    Force,
    Fresh,
    Interval,
    JUnitFile,
    NoReport,
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
)
from rtscope.cli.probe_command import complete_probe
from rtscope.engine.planfile import made_plan
from rtscope.model.cpulist import parse_cpu_list
from rtscope.model.errors import RtscopeError
from rtscope.tuning.profile import shipped_names

DEFAULT_DURATION = "30s"


def profile_names(incomplete: str) -> list[str]:
    """Complete the name of a profile."""
    return [name for name in shipped_names() if name.startswith(incomplete)]


ProfileArgument = Annotated[
    str,
    typer.Argument(
        metavar="PROFILE",
        help="Profile: a name of `rtscope tune list`, or a file (docs/reference/tune.md).",
        autocompletion=profile_names,
    ),
]
CpusOption = Annotated[
    str | None,
    typer.Option(
        "--cpus",
        metavar="LIST",
        help="CPUs to isolate, such as 1-3 or 1-N (N: the last CPU), for profiles that use them.",
    ),
]


def measure_steps(
    profile: ProfileArgument,
    cpus: CpusOption = None,
    steps: Annotated[
        str | None,
        typer.Option(
            metavar="LIST",
            help="Measure only these steps, such as 0,3; 0 is as booted. [default: all]",
        ),
    ] = None,
    rounds: Annotated[
        int, typer.Option(min=1, max=1000, help="Number of rounds of all steps.")
    ] = 5,
    probe: Annotated[
        str,
        typer.Option(help="Probe, as in rtscope measure.", autocompletion=complete_probe),
    ] = "cyclic",
    load: Annotated[
        list[str] | None,
        agent_option(
            "load", "--load", "-L", default="idle", text="Measure under this load; may be repeated"
        ),
    ] = None,
    duration: Annotated[
        str | None,
        agent_option(
            "duration", default=DEFAULT_DURATION, text="Duration of each step in each round"
        ),
    ] = None,
    samples: Samples = None,
    interval: Interval = None,
    measure_cpus: Annotated[str | None, agent_option("cpus", "--measure-cpus")] = None,
    priority: Priority = None,
    policy: PolicyName = None,
    option: ProbeOption = None,
    break_at: Break = None,
    seed: Annotated[
        int, agent_option("seed", default="", text="Seed of the order, loads and phases")
    ] = 1,
    worst: Worst = None,
    watchdog: Watchdog = None,
    idle_states: Annotated[str | None, agent_option("idle-states", default="default")] = None,
    budget: Annotated[
        list[str] | None,
        typer.Option(
            "--budget",
            "-B",
            metavar="LIMIT",
            help="Exit with status 1 unless each run meets this limit.",
        ),
    ] = None,
    target: Targets = None,
    seeds: Seeds = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", "-n", help="Print the cells and exit.")
    ] = False,
    tag: Tags = None,
    fresh: Fresh = False,
    report: Report = None,
    no_report: NoReport = False,
    junit: JUnitFile = None,
    emit: EmitOption = None,
    force: Force = False,
    json: Annotated[
        bool,
        typer.Option(
            "--json",
            help="Print each run, and at the end the effect of each step, as lines of JSON.",
        ),
    ] = False,
    quiet: Quiet = False,
) -> None:
    """Measure a system as booted and after each step of a profile, and show the effect of each.

    Every run applies the steps up to its own and undoes them at its end. Each round measures all
    steps in a new order, so that other changes of the system are not mistaken for an effect. Steps
    that need a boot are not applied. After Ctrl-C the same command continues.

    \b
    sudo rtscope tune measure isolated-cores --cpus 1-3 --load mixed
    sudo rtscope tune measure ./our-board.toml --rounds 10 -D 1m --steps 0,2
    rtscope tune measure isolated-cores --cpus 1-N -D 5s --rounds 2 -t vm:6.12-rt-amd64,cpus=4
    """
    outputs = Outputs(
        report=report,
        no_report=no_report,
        junit=junit,
        emit=emit,
        force=force,
        json=json,
        quiet=quiet,
        table=True,
    )
    outputs.check()
    table = {
        "probes": [probe],
        "loads": load or ["idle"],
        "intervals": [time_ns(interval, "interval")] if interval else [],
        "policies": [policy] if policy else [],
        "priority": priority,
        "cpus": measure_cpus,
        "duration": time_ns(duration or (None if samples else DEFAULT_DURATION), "duration"),
        "samples": samples,
        "break": time_ns(break_at, "break"),
        "worst": worst,
        "watchdog": time_ns(watchdog, "watchdog"),
        "idle_states": idle_states,
        "options": probe_options(option or []),
        "tune": {"profile": profile, "cpus": cpus, "steps": _step_numbers(steps)},
    }
    file = made_plan(
        {
            "title": f"{Path(profile).name.removesuffix('.toml')}, step by step",
            "measure": [table],
            "seed": seed,
            "seeds": seeds,
            "repetitions": rounds,
            "targets": list(dict.fromkeys(target or ["local"])),
            "budget": [{"limits": budget}] if budget else [],
        }
    )
    measure_and_end(file, outputs, dry_run=dry_run, fresh=fresh, tags=tag)


def _step_numbers(text: str | None) -> list[int]:

    try:
        return parse_cpu_list(text or "")
    except RtscopeError:
        raise RtscopeError(
            f"--steps {str(text)[:40]} is no list of steps: write numbers, such as 0,2-3"
        ) from None
