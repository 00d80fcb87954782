# SPDX-License-Identifier: GPL-2.0-only
"""The common options of scale and interfere, and their plan."""

from collections.abc import Sequence
from typing import Annotated, Any, NoReturn

import typer

from rtscope.cli.measuring import Outputs, measure_and_end
from rtscope.cli.options import agent_option
from rtscope.engine.planfile import made_plan

DEFAULT_ROUNDS = 5
DEFAULT_DURATION = "500ms"

Program = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="[-- COMMAND...]",
        help="A program of yours, measured in place of the reference algorithm; {n} in its words "
        "becomes the number of threads.",
    ),
]
Table = Annotated[str | None, agent_option("table", "--table", of="scaling")]
Parallel = Annotated[int | None, agent_option("parallel", "--parallel", of="scaling")]
Rounds = Annotated[
    int, typer.Option("--rounds", "-r", min=2, max=1000, help="Measure each so many times.")
]
Duration = Annotated[
    str,
    agent_option("duration", default="", text="Duration of each measurement of the algorithm"),
]


def measure_placements(
    series: dict[str, Any],
    targets: list[str] | None,
    seeds: int | None,
    outputs: Outputs,
    *,
    fresh: bool,
    tags: Sequence[str] | None,
) -> NoReturn:
    """Measure one series on each target and end. Raises RtscopeError."""
    outputs.check()
    file = made_plan(
        {
            "title": f"rtscope {series['kind']}",
            "placement": [series],
            "seeds": seeds,
            "order": "as written",
            "targets": list(dict.fromkeys(targets or ["local"])),
        }
    )
    measure_and_end(file, outputs, fresh=fresh, tags=tags)
