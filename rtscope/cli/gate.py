# SPDX-License-Identifier: GPL-2.0-only
"""rtscope gate: is a candidate slower than a baseline, from several runs of each."""

import re
from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperCommand

from rtscope.cli.emitting import EmitOption, checked_emits
from rtscope.cli.options import Force, Json, JUnitFile
from rtscope.model.errors import RtscopeError
from rtscope.model.run import Run
from rtscope.report.exchange.case import cases_of_gate
from rtscope.report.exchange.jsonlines import print_json
from rtscope.report.exchange.junit import gate_junit_report
from rtscope.report.observers.emitted import emitted
from rtscope.report.terminal.console import output_console
from rtscope.report.terminal.gate import CalibrationView, GateView
from rtscope.statistics.gate import calibrated, gate
from rtscope.store.files import check_files, write_file
from rtscope.store.naming import runs_named

_PERCENT = re.compile(r"([0-9]{1,3}(?:\.[0-9]{1,3})?)\s*%")


class GateCommand(TyperCommand):
    """A command whose words after `--` are the candidate's runs."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:  # noqa: ANN401 - typer's own
        """Make the words after `--` values of --candidate."""
        if "--" in args:
            at = args.index("--")
            args = [*args[:at], *(f"--candidate={word}" for word in args[at + 1 :])]
        return super().parse_args(ctx, args)


def gate_command(
    baseline: Annotated[
        list[str],
        typer.Argument(
            metavar="BASELINE... -- CANDIDATE...",
            help="Ids of runs or of experiments, last, last~1, or files; at least 2 runs a side.",
        ),
    ],
    candidate: Annotated[
        list[str] | None,
        typer.Option(metavar="RUN", help="A run of the candidate, as after `--`."),
    ] = None,
    margin: Annotated[
        str,
        typer.Option(metavar="PERCENT", help="A candidate may be slower by this much."),
    ] = "5%",
    calibrate: Annotated[
        bool,
        typer.Option(
            "--calibrate",
            help="Print how much the runs of one system differ, and which change a gate would "
            "find; without a candidate.",
        ),
    ] = False,
    junit: JUnitFile = None,
    emit: EmitOption = None,
    force: Force = False,
    json: Json = False,
) -> None:
    """
    The unit is the run, not the sample: each run gives one metric per percentile, of its response
    times. A candidate fails if some percentile or the spread of the runs is larger by more than the
    margin, with an error probability of 1 % over all of them; it passes if every percentile is
    below the margin, each with 1 %. Everything else is inconclusive, with the number of runs that
    would probably decide. Exit status: 0 pass, 1 fail or inconclusive, 2 refused.

    \b
    rtscope gate --margin 10% 3fa9 -- 71c0
    rtscope gate before-*.json -- after-*.json --junit gate.xml
    rtscope gate --calibrate 3fa9
    """
    check_files([junit], force=force)
    emits = checked_emits(emit, json=json, force=force)
    left = _runs(baseline)
    if calibrate:
        if candidate:
            raise RtscopeError("--calibrate takes the runs of one system and no candidate")
        if emits:
            raise RtscopeError("--emit writes verdicts, and --calibrate has none: leave one out")
        told = calibrated(left, _margin(margin))
        if json:
            print_json(told)
        else:
            output_console().print(CalibrationView(told))
        return
    if not candidate:
        raise RtscopeError(
            "the candidate's runs are missing: rtscope gate BASELINE... -- CANDIDATE..."
        )
    verdict = gate(left, _runs(candidate), _margin(margin))
    if json:
        print_json(verdict)
    elif not any(one.replaces_output for one in emits):
        output_console().print(GateView(verdict))
    if junit:
        _write(junit, gate_junit_report(verdict), force=force)
    written = emitted(
        emits, cases_of_gate(verdict), lambda: gate_junit_report(verdict), force=force
    )
    raise typer.Exit(int(verdict.outcome != "pass") if written else 2)


def _write(path: Path, data: bytes, *, force: bool) -> None:
    write_file(data, path, "the JUnit file", overwrite=force)


def _runs(names: list[str]) -> list[Run]:
    return [run for name in names for run in runs_named(name)]


def _margin(text: str) -> float:
    found = _PERCENT.fullmatch(text.strip())
    if not found or float(found[1]) > 100:
        raise RtscopeError(f"--margin '{text}' is not a margin from 0% to 100%, such as 5%")
    return float(found[1]) / 100
