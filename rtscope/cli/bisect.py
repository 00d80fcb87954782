# SPDX-License-Identifier: GPL-2.0-only
"""rtscope lab bisect: the commit of a kernel tree after which the lab's figures get worse."""

import os
import sys
from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from rtscope.cli.gate import percentage
from rtscope.cli.measure import probe_options
from rtscope.cli.options import Interval, Json, ProbeOption, agent_option, time_ns
from rtscope.cli.probe_command import complete_probe
from rtscope.engine.bisect import check_measurement, measure_seeds, stored_sides
from rtscope.engine.interrupt import ended_by_signals
from rtscope.lab.bisect.commits import Commits, Wanted, Workplace, measurement_of
from rtscope.lab.bisect.rule import BudgetRule, MarginRule
from rtscope.lab.bisect.search import find_first_bad
from rtscope.lab.recipes import recipes
from rtscope.model.budget import parse_limit
from rtscope.model.request import Request
from rtscope.report.exchange.jsonlines import print_json
from rtscope.report.terminal.bisect import BisectProgress, BisectView
from rtscope.report.terminal.console import output_console
from rtscope.report.terminal.streams import complain


def _recipes(incomplete: str) -> list[str]:
    return [name for name in recipes().kernels if name.startswith(incomplete)]


def bisect(
    good: Annotated[
        str, typer.Option(metavar="REV", help="A commit with good figures, older than --bad.")
    ],
    kernel: Annotated[
        str,
        typer.Option(
            metavar="NAME",
            help="Build this kernel of `rtscope lab kernel list` from each commit; options of the "
            "VM may follow: x86_64-rt,mips=500.",
            autocompletion=_recipes,
        ),
    ],
    paths: Annotated[
        list[str] | None,
        typer.Argument(metavar="[PATH]...", help="Test only commits that change these paths."),
    ] = None,
    bad: Annotated[str, typer.Option(metavar="REV", help="A commit with bad figures.")] = "HEAD",
    tree: Annotated[
        Path,
        typer.Option(
            metavar="DIR",
            help="Git tree of the kernel. Its checkout and its own bisection stay as they are.",
        ),
    ] = Path(),
    budget: Annotated[
        list[str] | None,
        typer.Option(
            "--budget",
            "-B",
            metavar="LIMIT",
            help="A commit is bad if it breaks this limit: 'max<50us', 'p99.9<20us' (default "
            "unit: us); may be repeated.",
        ),
    ] = None,
    margin: Annotated[
        str,
        typer.Option(
            metavar="PERCENT",
            help="Without a budget, a commit is bad if a percentile is worse than that of the good "
            "commit by more than this.",
        ),
    ] = "5%",
    probe: Annotated[
        str,
        typer.Option(metavar="PROBE", help="Probe to measure.", autocompletion=complete_probe),
    ] = "cyclic",
    load: Annotated[
        str, agent_option("load", "--load", "-L", default="", text="Measure under this load")
    ] = "idle",
    samples: Annotated[int, agent_option("samples", default="")] = 10_000,
    interval: Interval = None,
    option: ProbeOption = None,
    seeds: Annotated[
        int,
        typer.Option(
            min=5,
            max=250,
            metavar="N",
            help="Measure each commit with N seeds; an undecided commit with up to 4 times as "
            "many.",
        ),
    ] = 10,
    config: Annotated[
        list[Path] | None,
        typer.Option(metavar="FRAGMENT", help="Additional configuration, after the recipe's."),
    ] = None,
    patches: Annotated[
        list[Path] | None,
        typer.Option(metavar="DIR", help="Patches to apply to each commit, after the recipe's."),
    ] = None,
    jobs: Annotated[
        int | None,
        typer.Option("--jobs", "-j", min=1, help="Parallel compiler jobs. [default: one per CPU]"),
    ] = None,
    json: Json = False,
) -> None:
    """Find the commit after which a kernel breaks a budget, or gets slower.

    `git bisect` runs in a worktree of its own. Each commit is built, booted in the lab in exact
    mode, and measured with several seeds, whose count decides. A commit that does not build or boot
    is skipped. After Ctrl-C, the same command continues; a measured commit is not measured again.
    Exit status: 0 found; 1 only commits are left that could not be tested; 2 refused; 130 on
    Ctrl-C.

    \b
    rtscope lab bisect --good v6.12 --bad HEAD --kernel x86_64-rt --budget 'p99.9<8us'
    rtscope lab bisect --tree ~/linux --good v6.12 --kernel arm64-rt --load mixed --margin 10%
    rtscope lab bisect --good v6.12 --kernel x86_64-rt -B 'max<20us' -- kernel/time kernel/sched
    """
    limits = [parse_limit(text) for text in budget or []]
    rule = BudgetRule(limits) if limits else MarginRule(percentage(margin, "--margin"))
    request = Request(
        probe=probe,
        load=load,
        samples=samples,
        interval_ns=time_ns(interval, "interval"),
        options=probe_options(option or []),
        budget=[limit.text for limit in limits],
    )
    wanted = Wanted(
        tree,
        kernel,
        request,
        [*map(Path.absolute, config or [])],
        [*map(Path.absolute, patches or [])],
    )
    with ended_by_signals():
        check_measurement(request, limits)
        workplace = Workplace(wanted)
        measurement = measurement_of(wanted)
    shown = BisectProgress(sys.stderr if json else sys.stdout)
    commits = Commits(
        workplace,
        measurement,
        partial(measure_seeds, request),
        jobs or len(os.sched_getaffinity(0)),
        shown.said,
        shown.counted,
    )
    try:
        with ended_by_signals(), workplace.alone():
            with shown:
                result = find_first_bad(
                    workplace.bisection, good, bad, paths or [], rule, seeds, commits.runs, shown
                )
            result = stored_sides(result, commits, workplace)
            workplace.clear(result)
    except SystemExit:
        complain("interrupted: the same command continues, with the figures measured so far")
        raise
    if json:
        print_json(result)
    else:
        output_console().print(BisectView(result))
    raise typer.Exit(int(result.first_bad is None))
