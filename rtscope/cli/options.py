# SPDX-License-Identifier: GPL-2.0-only
"""Options that several commands have."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Annotated, Any, get_args

import typer

from rtscope.model.errors import RtscopeError
from rtscope.model.plan import AlgorithmForm, Policy


def _one_of(option: str, names: Sequence[str]) -> Callable[[str | list[str] | None], Any]:
    """Return what refuses other values of an option than these names, as RtscopeError."""

    def check(given: str | list[str] | None) -> str | list[str] | None:
        for value in [given] if isinstance(given, str) else given or []:
            if value not in names:
                listed = " or ".join([", ".join(names[:-1]), names[-1]])
                raise RtscopeError(f"{option} is {listed}, not '{value[:40]}'")
        return given

    return check


Break = Annotated[
    str | None,
    typer.Option(
        "--break",
        "-b",
        metavar="TIME",
        help="Stop at the first latency of TIME or more (default unit: us). If the kernel traces, "
        "mark and stop its trace there.",
    ),
]
Forms = Annotated[
    list[str] | None,
    typer.Option(
        "--form",
        "-f",
        metavar="FORM",
        callback=_one_of("--form", get_args(AlgorithmForm)),
        help="Of the algorithm: scalar or vector. [default: both]",
    ),
]
Force = Annotated[bool, typer.Option("--force", "-f", help="Overwrite files.")]
Interval = Annotated[
    str | None,
    typer.Option(
        "--interval",
        "-i",
        metavar="TIME",
        help="Between deadlines; a bare number is us. [default: the probe's; 1ms for cyclic]",
    ),
]
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
Output = Annotated[
    Path | None, typer.Option("--output", "-o", metavar="FILE", help="Write the run here too.")
]
Phases = Annotated[
    bool, typer.Option("--phases", help="Print when the load came up, ran and ended.")
]


PolicyName = Annotated[
    str | None,
    typer.Option(
        metavar="POLICY",
        callback=_one_of("--policy", get_args(Policy)),
        help="fifo, deadline or other. [default: the probe's, mostly fifo]",
    ),
]
Priority = Annotated[
    int | None,
    typer.Option("--priority", "-p", min=1, max=99, help="[default: the probe's; 80 for cyclic]"),
]
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
Samples = Annotated[
    int | None, typer.Option("--samples", "-l", min=1, help="Samples a thread instead.")
]
Watchdog = Annotated[
    str | None,
    typer.Option(
        metavar="TIME", help="End a run that starves the machine this long. [default: 10s]"
    ),
]
IdleStates = Annotated[
    str | None,
    typer.Option(
        "--idle-states",
        metavar="STATES",
        help="Idle states while measuring. off: hold /dev/cpu_dma_latency at 0, as cyclictest "
        "does; limit:TIME: hold it at TIME (default unit: us); default: leave the system as it is. "
        "[default: off for probes of wake-ups, default for the others and with a tuning profile]",
    ),
]
Worst = Annotated[
    int | None, typer.Option(min=0, max=64, help="Worst samples kept a thread. [default: 10]")
]
