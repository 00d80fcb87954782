# SPDX-License-Identifier: GPL-2.0-only
"""Options that several commands have."""

from pathlib import Path
from typing import Annotated

import typer

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
Output = Annotated[
    Path | None, typer.Option("--output", "-o", metavar="FILE", help="Write the run here too.")
]
Phases = Annotated[
    bool, typer.Option("--phases", help="Print when the load came up, ran and ended.")
]
PolicyName = Annotated[
    str | None,
    typer.Option(
        metavar="POLICY", help="fifo, deadline or other. [default: the probe's, mostly fifo]"
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
