# SPDX-License-Identifier: GPL-2.0-only
"""rtscope gate: is a candidate slower than a baseline, from several runs of each?"""

import re
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any, Final

import typer
from typer.core import TyperCommand

from rtscope.cli.emitting import EmitOption, checked_emits
from rtscope.cli.measuring import Outputs, measured
from rtscope.cli.options import Force, Fresh, Json, JUnitFile, PlanTargets, Quiet
from rtscope.cli.targets import reached
from rtscope.engine.planfile import PlanFile, find_plan, plan_names
from rtscope.model.errors import RtscopeError
from rtscope.model.run import Run
from rtscope.report.exchange.case import cases_of_gate
from rtscope.report.exchange.jsonlines import print_json
from rtscope.report.exchange.junit import gate_junit_report
from rtscope.report.observers.emitted import Emit, emitted
from rtscope.report.terminal.console import output_console
from rtscope.report.terminal.gate import CalibrationView, GateView
from rtscope.report.terminal.streams import note
from rtscope.statistics.gate.calibration import FEWEST, calibrated
from rtscope.statistics.gate.gate import gate
from rtscope.statistics.gate.sides import cells_of_runs
from rtscope.store.baselines import (
    Baseline,
    baseline_names,
    baseline_runs,
    check_name,
    save_baseline,
)
from rtscope.store.files import check_files, write_file
from rtscope.store.naming import runs_named

_PERCENT: Final = re.compile(r"([0-9]{1,3}(?:\.[0-9]{1,3})?)\s*%")
_CALIBRATION_RUNS: Final = 20
_MISSING: Final = (
    "the {side}'s runs are missing: rtscope gate BASELINE... -- CANDIDATE..., or rtscope gate "
    "--plan PLAN --baseline NAME to measure the candidate"
)


class GateCommand(TyperCommand):
    """A command whose words after `--` are the candidate's runs."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:  # noqa: ANN401 - typer's own
        """Make the words after `--` values of --candidate."""
        if "--" in args:
            at = args.index("--")
            args = [*args[:at], *(f"--candidate={word}" for word in args[at + 1 :])]
        return super().parse_args(ctx, args)


def gate_command(
    runs: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="BASELINE... -- CANDIDATE...",
            help="Ids of runs or of experiments, last, last~1, or files; at least 2 runs a side.",
        ),
    ] = None,
    candidate: Annotated[
        list[str] | None,
        typer.Option(metavar="RUN", help="A run of the candidate, as after `--`."),
    ] = None,
    plan: Annotated[
        str | None,
        typer.Option(
            "--plan",
            "-p",
            metavar="PLAN",
            help="Measure this plan first: the candidate, or with --calibrate the baseline.",
            autocompletion=plan_names,
        ),
    ] = None,
    baseline: Annotated[
        str | None,
        typer.Option(
            "--baseline",
            "-b",
            metavar="NAME",
            help="The baseline that --calibrate measured and named.",
            autocompletion=lambda incomplete: [
                one for one in baseline_names() if one.startswith(incomplete)
            ],
        ),
    ] = None,
    number: Annotated[
        int | None,
        typer.Option(
            "--runs",
            "-n",
            min=2,
            max=10_000,
            help="Measure each cell of the plan so many times. [default: as many as the baseline "
            f"has; with --calibrate the plan's repetitions, or {_CALIBRATION_RUNS}]",
        ),
    ] = None,
    target: PlanTargets = None,
    margin: Annotated[
        str,
        typer.Option(metavar="PERCENT", help="A candidate may be slower by this much."),
    ] = "5%",
    calibrate: Annotated[
        bool,
        typer.Option(
            "--calibrate",
            help="Print how much the runs of one system differ, and which change a gate finds; "
            "with --plan measure them first.",
        ),
    ] = False,
    find: Annotated[
        str,
        typer.Option(
            metavar="PERCENT", help="With --calibrate: the change to find, above the margin."
        ),
    ] = "10%",
    fresh: Fresh = False,
    junit: JUnitFile = None,
    emit: EmitOption = None,
    force: Force = False,
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """
    The unit is the run, not the sample: each run gives one value per percentile, of its response
    times. A candidate fails if some percentile or the spread of the runs is larger by more than the
    margin, with an error probability of 1 % over all of them; it passes if every percentile is
    below the margin, each with 1 %. Everything else is inconclusive, with the number of runs that
    would probably decide. Runs of the exact lab with the same seeds are compared without a test.
    Exit status: 0 pass, 1 fail or inconclusive, 2 refused, 130 on Ctrl-C: the same command
    continues.

    \b
    rtscope gate --margin 10% 3fa9 -- 71c0
    rtscope gate before-*.json -- after-*.json --junit gate.xml
    rtscope gate --calibrate --plan gate --baseline v6.12
    rtscope gate --plan gate --baseline v6.12
    """
    check_files([junit], force=force)
    emits = checked_emits(emit, json=json, force=force)
    _check(runs, candidate, plan, baseline, number, target, calibrate=calibrate, emits=emits)
    accepted, change = percentage(margin, "--margin"), percentage(find, "--find")
    outputs = Outputs(no_report=True, emit=emit, force=force, quiet=quiet, verdict_alone=True)
    if calibrate:
        if plan and baseline:
            check_name(baseline, force=force)
        if plan:
            left = _measured(plan, target, number, outputs, fresh=fresh)
        else:
            left = _named(runs) if runs else baseline_runs(baseline or "")
        calibration = calibrated(left, accepted, change)
        if json:
            print_json(calibration)
        else:
            output_console().print(CalibrationView(calibration))
        if plan and baseline:
            _save(baseline, plan, left)
        return
    left = baseline_runs(baseline) if baseline else _named(runs)
    if plan:
        right = _measured(plan, target, number or _runs_a_cell(left), outputs, fresh=fresh)
    else:
        right = _named(candidate)
    verdict = gate(left, right, accepted)
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


def _check(
    runs: Sequence[str] | None,
    candidate: Sequence[str] | None,
    plan: str | None,
    baseline: str | None,
    number: int | None,
    target: Sequence[str] | None,
    *,
    calibrate: bool,
    emits: Sequence[Emit],
) -> None:
    """Refuse options that contradict each other, before anything is measured."""
    _check_words(candidate or ())
    if runs and baseline:
        raise RtscopeError("a baseline is given twice, by --baseline and by runs: leave one out")
    if (number or target) and not plan:
        raise RtscopeError("--runs and --target are for --plan: name a plan, such as gate")
    if calibrate:
        if candidate:
            raise RtscopeError("--calibrate takes the runs of one system and no candidate")
        if emits:
            raise RtscopeError("--emit writes verdicts, and --calibrate has none: leave one out")
        if runs and plan:
            raise RtscopeError("--calibrate takes runs, or a plan to measure: leave one out")
        if number is not None and number < FEWEST:
            raise RtscopeError(f"--calibrate needs at least {FEWEST} runs, better 20")
        if not (runs or plan or baseline):
            raise RtscopeError(
                "--calibrate needs runs: name them, or measure them with --plan gate --baseline "
                "NAME"
            )
        return
    if not (runs or baseline):
        raise RtscopeError(_MISSING.format(side="baseline"))
    if not (candidate or plan):
        raise RtscopeError(_MISSING.format(side="candidate"))
    if candidate and plan:
        raise RtscopeError("the candidate is given twice, by --plan and by runs: leave one out")


def _check_words(candidate: Sequence[str]) -> None:
    for word in candidate:
        if word.startswith("-"):
            raise RtscopeError(f"put {word} before `--`: only runs of the candidate may follow it")


def _measured(
    name: str,
    targets: Sequence[str] | None,
    number: int | None,
    outputs: Outputs,
    *,
    fresh: bool,
) -> list[Run]:
    """Measure a plan and return its runs. Raises RtscopeError where a cell has none."""
    file = find_plan(name)
    if number is None and file.plan.repetitions == 1:
        number = _CALIBRATION_RUNS
    if number is not None:
        file = file.with_changes(repetitions=number)
    file = _on(file, targets, outputs)
    results, _ = measured(file, outputs, fresh=fresh)
    bad = [one for one in results if one.run is None or one.run.status != "complete"]
    if bad:
        why = bad[0].failure or f"it ended early ({bad[0].verdict})"
        raise RtscopeError(
            f"{len(bad)} of {len(results)} runs could not be measured, the first, {bad[0].name}: "
            f"{why}; a gate needs them all: the same command tries these again"
        )
    return [one.run for one in results if one.run]


def _on(file: PlanFile, targets: Sequence[str] | None, outputs: Outputs) -> PlanFile:
    """The plan for these targets, each of which has been reached."""
    if not targets:
        return file
    with outputs.boot_failure_emitted(file.plan.title):
        for name in targets:
            reached(name)
    return file.with_changes(targets=list(dict.fromkeys(targets)))


def _save(name: str, plan: str, runs: Sequence[Run]) -> None:
    created = datetime.now(UTC).isoformat(timespec="seconds")
    title = find_plan(plan).plan.title
    save_baseline(Baseline(name, created, title, [run.id for run in runs]))
    note(
        f"baseline {name}: {len(runs)} runs; a candidate is measured and judged by rtscope gate "
        f"--plan {plan} --baseline {name}"
    )


def _runs_a_cell(runs: Sequence[Run]) -> int:
    return min(len(of_cell) for of_cell in cells_of_runs(runs).values())


def _write(path: Path, data: bytes, *, force: bool) -> None:
    write_file(data, path, "the JUnit file", overwrite=force)


def _named(names: Sequence[str] | None) -> list[Run]:
    return [run for name in names or [] for run in runs_named(name)]


def percentage(text: str, option: str) -> float:
    """Return 0.05 for 5%. Raises RtscopeError."""
    found = _PERCENT.fullmatch(text.strip())
    if not found or float(found[1]) > 100:
        raise RtscopeError(f"{option} '{text[:40]}' is not a part from 0% to 100%, such as 5%")
    return float(found[1]) / 100
