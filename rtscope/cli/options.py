# SPDX-License-Identifier: GPL-2.0-only
"""Options that several commands have."""

from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import typer

from rtscope.lab.machine import with_options
from rtscope.model.description import Option
from rtscope.model.errors import RtscopeError
from rtscope.model.units import parse_time_ns
from rtscope.store.search import Search, parse_condition, parse_moment
from rtscope.target.description import our_description
from rtscope.wording.options import default_of, help_words, wanted_words


def agent_option(
    name: str,
    *flags: str,
    of: str | None = None,
    default: str | None = None,
    text: str | None = None,
) -> Any:  # noqa: ANN401 - what typer.Option returns
    """Return an option of the agent as an option of a command.

    It is one of the probe or command `of`, or of every probe. `flags` are its names at the command
    where they differ, `default` and `text` its default and help where rtscope has others. An empty
    `default` is for a parameter with a default of its own.
    """
    try:
        option = our_description().option(name, of)
    except KeyError:
        raise RtscopeError(
            f"the agent in build/native is older than this checkout and lacks --{name}: run "
            "`make agent`"
        ) from None
    own = [f"--{name}", *([f"-{option.letter}"] if option.letter else [])]
    return typer.Option(
        *(flags or own),
        metavar=option.metavar,
        help=help_words(option, _default(option, of) if default is None else default, text),
        callback=_checked(option, (flags or own)[0]),
        autocompletion=choices_of(option),
    )


def time_ns(text: str | None, name: str, of: str | None = None) -> int | None:
    """Return the nanoseconds of this option of `of`, or of every probe; None if it was left out.

    Raises RtscopeError.
    """
    return parse_time_ns(text, our_description().option(name, of).unit) if text else None


def choices_of(option: Option) -> Callable[[str], list[str]] | None:
    """Return what completes an option's value."""
    if option.name == "load":
        return lambda incomplete: [
            load.name for load in our_description().loads if load.name.startswith(incomplete)
        ]
    if option.choices:
        return lambda incomplete: [one for one in option.choices if one.startswith(incomplete)]
    return None


def _default(option: Option, of: str | None) -> str | None:
    """Return the default for a help that is not of one probe."""
    default = default_of(option)
    differs = any(option.name in one.presets for one in our_description().probes)
    if of or not default or not differs:
        return default
    return f"the probe's; {default} for cyclic"


def _checked(option: Option, flag: str) -> Callable[[typer.CallbackParam, Any], Any]:
    """Return what refuses values that the agent would refuse, as RtscopeError."""

    def is_accepted(value: Any) -> bool:  # noqa: ANN401 - of the parameter's type
        match option.kind:
            case "choice":
                return value in option.choices
            case "number":
                return option.in_range(int(value))
            case "time":
                return option.in_range(parse_time_ns(value, option.unit))
            case _:
                return True

    def check(param: typer.CallbackParam, given: Any) -> Any:  # noqa: ANN401
        for value in given if isinstance(given, list) else [given]:
            if value is not None and not is_accepted(value):
                wanted = wanted_words(option)
                raise RtscopeError(f"{flag} '{str(value)[:40]}' is not {wanted}")
        # Typer before 0.19 reads the None of a list that is absent as a list itself.
        return given if given is not None or not param.multiple else []

    return check


Break = Annotated[str | None, agent_option("break")]
Forms = Annotated[
    list[str] | None,
    agent_option(
        "form",
        "--form",
        "-f",
        of="scaling",
        default="both",
        text="Compute the algorithm in this form; may be repeated",
    ),
]
GuestModules = Annotated[
    list[str] | None,
    typer.Option(
        "--module",
        metavar="'MODULE PARAMETERS'",
        help="Load this kernel module in the VM, with its parameters: a name, a .ko file, or a "
        "directory with its source, which is built for the VM's kernel; may be repeated.",
    ),
]
GuestFiles = Annotated[
    list[str] | None,
    typer.Option(
        "--file",
        metavar="PATH[:PATH]",
        help="Copy this file into the VM's /bin, or to the second path, or this directory's files "
        "into /; may be repeated.",
    ),
]
GuestCommands = Annotated[
    list[str] | None,
    typer.Option(
        "--run",
        metavar="COMMAND",
        help="Run this shell command in the VM before the agent starts; may be repeated.",
    ),
]
KernelParameters = Annotated[
    list[str] | None,
    typer.Option(
        "--append",
        metavar="PARAMETERS",
        help="Append these kernel parameters in the VM; may be repeated.",
    ),
]
Force = Annotated[bool, typer.Option("--force", "-f", help="Overwrite files.")]
Interval = Annotated[str | None, agent_option("interval")]
Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]
JsonRuns = Annotated[bool, typer.Option("--json", help="Print each run as a line of JSON.")]
Fresh = Annotated[
    bool, typer.Option("--fresh", help="Begin anew, also where an experiment is unfinished.")
]
JUnitFile = Annotated[
    Path | None,
    typer.Option("--junit", metavar="FILE", help="Write JUnit XML, a test case for each cell."),
]
NoReport = Annotated[bool, typer.Option("--no-report", help="Write no HTML report.")]
OneTarget = Annotated[
    str,
    typer.Option(
        "--target",
        "-t",
        metavar="TARGET",
        help="Where: local; ssh:USER@HOST[:PORT], or as ssh takes it; vm:KERNEL[,mode=exact|fast]"
        "[,cpus=N][,mips=N], a kernel of `rtscope lab kernel list`.",
    ),
]
Tags = Annotated[
    list[str] | None,
    typer.Option(
        "--tag",
        metavar="TAG",
        help="Store the runs with this tag, such as nightly, by which `rtscope list --tag` finds "
        "them; may be repeated.",
    ),
]
SearchMachine = Annotated[
    str, typer.Option("--machine", metavar="NAME", help="Host name or its beginning.")
]
SearchKernel = Annotated[
    str, typer.Option("--kernel", metavar="RELEASE", help="Kernel release or its beginning.")
]
SearchTags = Annotated[
    list[str] | None,
    typer.Option("--tag", metavar="TAG", help="Only runs with this tag; may be repeated."),
]
SearchMetrics = Annotated[
    list[str] | None,
    typer.Option(
        "--metric",
        metavar="CONDITION",
        help="Only runs with this metric of all threads, such as 'p99.9>50us' (default unit: us), "
        "'p99.9.response>1ms', 'missed>=1' or 'failed>0'; may be repeated.",
    ),
]
SearchSince = Annotated[
    str,
    typer.Option(
        "--since",
        metavar="DATE",
        help="Only runs that began then or later: 2026-11-01, or an age such as 90d, 2w or 12h.",
    ),
]
SearchBefore = Annotated[
    str,
    typer.Option("--before", metavar="DATE", help="Only runs that began earlier, as --since."),
]
Targets = Annotated[
    list[str] | None,
    typer.Option(
        "--target",
        "-t",
        metavar="TARGET",
        help="Where, once or several times: local; ssh:USER@HOST[:PORT], or as ssh takes it; "
        "vm:KERNEL[,mode=exact|fast][,cpus=N][,mips=N], a kernel of `rtscope lab kernel list`. "
        "[default: local]",
    ),
]
Seeds = Annotated[
    int | None,
    typer.Option(
        "--seeds",
        min=2,
        max=1000,
        metavar="N",
        help="In the lab: measure with N seeds, side by side, for one run that holds all samples.",
    ),
]
Scale = Annotated[
    float,
    typer.Option(
        "--scale",
        metavar="FACTOR",
        help="Multiply samples and durations by FACTOR, such as 0.01.",
    ),
]
Dask = Annotated[
    str | None,
    typer.Option(
        "--dask",
        metavar="ADDRESS",
        help="In the lab: measure on the nodes of the dask cluster with this scheduler, such as "
        "tcp://node1:8786 (docs/how-to/farm.md).",
    ),
]
Output = Annotated[
    Path | None, typer.Option("--output", "-o", metavar="FILE", help="Write the run here too.")
]
Phases = Annotated[
    bool, typer.Option("--phases", help="Print when the load came up, ran and ended.")
]


PlanTargets = Annotated[
    list[str] | None,
    typer.Option(
        "--target",
        "-t",
        metavar="TARGET",
        help="Target instead of the plan's: local, ssh:BOARD or vm:KERNEL, as in "
        "rtscope measure. May be given several times.",
    ),
]
PolicyName = Annotated[str | None, agent_option("policy")]
Priority = Annotated[int | None, agent_option("priority")]
ProbeOption = Annotated[
    list[str] | None,
    typer.Option(
        "--option",
        "-O",
        metavar="NAME=VALUE",
        help="The probe's option --NAME VALUE in another form.",
    ),
]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Print only the result.")]
Report = Annotated[
    Path | None, typer.Option("--report", metavar="FILE", help="Where the HTML report goes.")
]
Samples = Annotated[int | None, agent_option("samples")]
Watchdog = Annotated[str | None, agent_option("watchdog")]
IdleStates = Annotated[str | None, agent_option("idle-states")]
Worst = Annotated[int | None, agent_option("worst")]


def search_of(
    *,
    experiment: str = "",
    machine: str = "",
    kernel: str = "",
    tags: list[str] | None = None,
    without_tags: list[str] | None = None,
    metrics: list[str] | None = None,
    since: str = "",
    before: str = "",
    limit: int | None = None,
) -> Search:
    """Return what the options of a search ask for. Raises RtscopeError."""
    return Search(
        experiment=experiment.lower(),
        machine=machine,
        kernel=kernel,
        tags=tuple(tags or ()),
        without_tags=tuple(without_tags or ()),
        metrics=tuple(parse_condition(text) for text in metrics or ()),
        since=parse_moment(since, "--since") if since else None,
        before=parse_moment(before, "--before") if before else None,
        limit=limit,
    )


def with_additions(
    target: str,
    modules: list[str] | None,
    files: list[str] | None,
    commands: list[str] | None,
    parameters: list[str] | None,
) -> str:
    """Return the name of the VM with these additions. Raises RtscopeError for other targets."""
    added = {"load": modules, "file": files, "run": commands, "append": parameters}
    for key, values in added.items():
        target = with_options(target, key, values or [])
    return target
