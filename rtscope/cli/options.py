"""Options that several commands have."""

from pathlib import Path
from typing import Annotated

import typer

Force = Annotated[bool, typer.Option("--force", "-f", help="Overwrite files.")]
Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]
JsonRuns = Annotated[bool, typer.Option("--json", help="Print each run as a line of JSON.")]
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
NoReport = Annotated[bool, typer.Option("--no-report", help="Write no HTML report.")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="No progress.")]
Report = Annotated[
    Path | None, typer.Option("--report", metavar="FILE", help="Where the HTML report goes.")
]
