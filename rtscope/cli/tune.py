# SPDX-License-Identifier: GPL-2.0-only
"""rtscope tune: change the settings of a system by a profile, and undo the changes."""

import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Annotated

import msgspec
import typer
from rich.table import Table

from rtscope.cli.groups import CommandGroup
from rtscope.cli.options import OneTarget
from rtscope.cli.targets import reached
from rtscope.cli.tune_measure import CpusOption, ProfileArgument, measure_steps, profile_names
from rtscope.cli.waiting import status
from rtscope.engine.interrupt import Interrupt
from rtscope.engine.measure import read_machine
from rtscope.model.errors import RtscopeError
from rtscope.model.request import TuneRequest, TuneVerb
from rtscope.model.run import RunWarning
from rtscope.model.tuning import BROKEN, Change
from rtscope.model.units import parse_time_ns
from rtscope.report.exchange.jsonlines import print_json
from rtscope.report.terminal.console import output_console
from rtscope.report.terminal.streams import complain, output_written
from rtscope.report.terminal.tuning import ChangesView, PlanView, counts_line
from rtscope.store.files import write_file
from rtscope.target.agent import Target
from rtscope.target.bounds import ANSWER_S, Span
from rtscope.target.command import tune_command
from rtscope.target.local import agent_path
from rtscope.target.protocol import AgentWarning
from rtscope.tuning.profile import (
    filled_rules,
    read_profile,
    rules_by_step,
    shipped_names,
    steps_of,
)
from rtscope.tuning.tuned import to_tuned
from rtscope.tuning.unit import systemd_unit
from rtscope.wording.plain import plain

_SILENCE_S = 90.0

app = typer.Typer(cls=CommandGroup, no_args_is_help=True)

JsonLines = Annotated[bool, typer.Option("--json", help="Print each change as a line of JSON.")]
Journal = Annotated[
    str | None,
    typer.Option(
        metavar="DIR",
        help="Directory of the journal on the target. [default: /var/lib/rtscope/tune]",
    ),
]
MaybeProfile = Annotated[
    str | None,
    typer.Argument(metavar="PROFILE", help="[default: all]", autocompletion=profile_names),
]


@app.command("list")
def list_profiles(
    json: Annotated[
        bool, typer.Option("--json", help="Print each profile as a line of JSON.")
    ] = False,
) -> None:
    """List the profiles that come with rtscope."""
    profiles = [read_profile(name) for name in shipped_names()]
    if json:
        for one in profiles:
            print_json(one)
        return
    table = Table("profile", "wants", "what it is for", box=None, pad_edge=False)
    for one in profiles:
        table.add_row(one.name, "--cpus" if one.is_for_cpus else "", one.description)
    output_written(lambda: output_console().print(table))


@app.command()
def show(
    profile: ProfileArgument,
    cpus: CpusOption = None,
    target: OneTarget = "local",
    journal: Journal = None,
    every: Annotated[
        bool, typer.Option("--all", "-a", help="Print each change with its present value.")
    ] = False,
    json: JsonLines = False,
) -> None:
    """Show how many changes each step of `apply` would make. Changes nothing.

    \b
    sudo rtscope tune show isolated-cores --cpus 1-3
    sudo rtscope tune show isolated-cores --cpus 1-3 --all
    rtscope tune show ./our-board.toml --target vm:6.12-rt-amd64,cpus=4
    """
    place = reached(target)
    request = _request("show", profile, cpus, journal, place)
    changes, warnings = _changes(request, place, json=json)
    title = f"{profile} on {place.name}: {_plan_words(changes)}"
    if json:
        return
    if every:
        _print(title, changes, warnings)
        return
    view = PlanView(title, rules_by_step(read_profile(profile), request.rules), changes, warnings)
    output_written(lambda: output_console().print(view))


@app.command()
def apply(
    profile: ProfileArgument,
    cpus: CpusOption = None,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")] = False,
    target: OneTarget = "local",
    journal: Journal = None,
    json: JsonLines = False,
) -> None:
    """Show the changes, ask, make them, and check that they hold.

    Each change is in a journal before it is made, so `undo` restores it after any failure. Exit
    status: 0, 1 where a change did not hold or failed, 2 for bad use, 130 on Ctrl-C.

    \b
    sudo rtscope tune apply isolated-cores --cpus 1-3
    sudo rtscope tune apply minimal --yes
    """
    place = reached(target)
    request = _request("apply", profile, cpus, journal, place)
    if not yes:
        if json or not (sys.stdin.isatty() and sys.stdout.isatty()):
            raise RtscopeError(
                "nobody can be asked here: look at `rtscope tune show`, then give --yes"
            )
        planned = msgspec.structs.replace(request, verb="show")
        changes, warnings = _changes(planned, place)
        _print(f"{profile} on {place.name}: {_plan_words(changes)}", changes, warnings)
        if not changes:
            return
        typer.confirm("Make these changes?", abort=True)
    changes, warnings = _changes(request, place, json=json)
    if not json:
        wrong = [one for one in changes if one.state != "applied"]
        _print(_applied_words(profile, changes), wrong, warnings)
        if changes and not place.capabilities.lasting:
            complain(f"{place.name} has ended with this command, and its settings with it")
        elif changes:
            typer.echo(f"rtscope tune undo {request.profile} undoes them", err=True)
    _end_by(changes)


@app.command()
def undo(
    profile: MaybeProfile = None,
    target: OneTarget = "local",
    journal: Journal = None,
    json: JsonLines = False,
) -> None:
    """Undo the changes of a profile, or of all profiles.

    Settings that others changed since then are reported, not reverted. So are threads that ended.

    \b
    sudo rtscope tune undo isolated-cores
    sudo rtscope tune undo
    """
    place = _lasting(target)
    request = TuneRequest("undo", _name_in_journal(profile), journal=journal)
    changes, warnings = _changes(request, place, json=json)
    if not json:
        _print("undone" if changes else "there is nothing to undo", changes, warnings)
    _end_by(changes)


@app.command("status")
def print_status(
    profile: MaybeProfile = None,
    target: OneTarget = "local",
    journal: Journal = None,
    json: JsonLines = False,
) -> None:
    """Show which changes are in effect, and which ended with a boot or were reverted.

    \b
    sudo rtscope tune status
    """
    place = _lasting(target)
    request = TuneRequest("status", _name_in_journal(profile), journal=journal)
    changes, warnings = _changes(request, place, json=json)
    if not json:
        title = f"changed on {place.name}" if changes else "no profile is applied"
        _print(title, changes, warnings)
    _end_by(changes)


@app.command()
def hold(
    profile: ProfileArgument,
    cpus: CpusOption = None,
    unit: Annotated[
        bool,
        typer.Option(
            "--unit", help="Print a systemd unit that holds the profile from boot on, and exit."
        ),
    ] = False,
    keep: Annotated[
        bool,
        typer.Option("--keep", help="Leave the changes in effect at the end; `undo` reverts them."),
    ] = False,
    poll: Annotated[
        str | None,
        typer.Option(
            "--poll",
            metavar="TIME",
            help="Time between two checks for settings that other programs changed, which are set "
            "again; 0: never. [default: 10s]",
        ),
    ] = None,
    target: OneTarget = "local",
    journal: Journal = None,
    json: JsonLines = False,
) -> None:
    """Apply a profile, also to new threads and interrupts, until Ctrl-C.

    The kernel reports those. Settings that another program changes are set again, at growing
    intervals and at most six times each. At the end everything is restored.

    \b
    sudo rtscope tune hold isolated-cores --cpus 1-3
    rtscope tune hold minimal --unit | sudo tee /etc/systemd/system/rtscope-minimal.service
    """
    place = _lasting(target)
    request = msgspec.structs.replace(
        _request("hold", profile, cpus, journal, place),
        keep=keep,
        poll_ns=None if poll is None else parse_time_ns(poll, "s"),
    )
    if unit:
        if place.name != "local":
            raise RtscopeError("--unit is for the local machine: run it on the target")
        words = tune_command(request, json=False)
        typer.echo(systemd_unit(request.profile or "", str(agent_path()), words), nl=False)
        return

    def print_change(change: Change) -> None:
        values = [change.old, change.new]
        if change.state == "restored":
            values.reverse()
        typer.echo(
            plain(f"{change.state}: {change.what}: {' -> '.join(values)} {change.why}".rstrip())
        )

    if not json:
        complain(f"holding {profile} on {place.name} until Ctrl-C")
    changes, _ = _changes(request, place, json=json, each=print_change, silence_s=float("inf"))
    _end_by(list({(one.kind, one.where): one for one in changes}.values()))


@app.command()
def export(
    profile: ProfileArgument,
    tuned: Annotated[
        bool, typer.Option("--tuned", help="As TuneD's tuned.conf. [required; the only format yet]")
    ] = False,
    cpus: CpusOption = None,
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", metavar="FILE", help="File to write. [default: print]"),
    ] = None,
    force: Annotated[bool, typer.Option("--force", "-f", help="Overwrite FILE.")] = False,
) -> None:
    """Write a profile in the format of another program that applies profiles.

    Parts that the other program cannot express are reported and left out.

    \b
    rtscope tune export isolated-cores --tuned --cpus 1-3 -o tuned.conf
    sudo install -D tuned.conf /etc/tuned/isolated-cores/tuned.conf
    sudo tuned-adm profile isolated-cores
    """
    if not tuned:
        raise RtscopeError("name a format: --tuned")
    chosen = read_profile(profile)
    last = steps_of(chosen, cpus)[-1]
    if "N" in last.cpus:
        raise RtscopeError(f"--cpus {last.cpus}: write the number of the last CPU in place of N")
    text, left_out = to_tuned(chosen, last.cpus)
    if output is None:
        typer.echo(text, nl=False)
    else:
        write_file(text.encode(), output, f"the profile {chosen.name}", overwrite=force)
        complain(f"wrote {output}")
    for one in left_out:
        complain(f"! left out: {one.what} {one.name}".rstrip() + f" of the step '{one.step}'")


app.command("measure")(measure_steps)


def _request(
    verb: TuneVerb, name: str, cpus: str | None, journal: str | None, place: Target
) -> TuneRequest:
    """Return the request for a whole profile on this target. Raises RtscopeError."""
    profile = read_profile(name)
    last = steps_of(profile, cpus)[-1]
    rules = last.rules
    if last.cpus:
        with status(f"reading {place.name}"):
            rules = filled_rules(rules, last.cpus, read_machine(place))
    elif cpus:
        complain(f"the profile {profile.name} does not use --cpus")
    return TuneRequest(verb, profile.name, rules, journal)


def _name_in_journal(profile: str | None) -> str | None:
    """Return the name of a profile whose file may have been removed."""
    return profile and profile.rpartition("/")[2].removesuffix(".toml")


def _lasting(name: str) -> Target:
    place = reached(name)
    if not place.capabilities.lasting:
        raise RtscopeError(
            f"{name} lives no longer than one command, so nothing stays changed there: "
            "rtscope tune show, apply and measure work in the lab"
        )
    return place


def _changes(
    request: TuneRequest,
    place: Target,
    *,
    json: bool = False,
    each: Callable[[Change], None] | None = None,
    silence_s: float = _SILENCE_S,
) -> tuple[list[Change], list[RunWarning]]:
    """Return the agent's report of each change; with `json` or `each`, print it line by line.

    Raises RtscopeError; typer.Exit where a signal ended it, which undoes the changes. With `each`
    a signal is the expected end.
    """
    interrupt = Interrupt()
    changes: list[Change] = []
    warnings: list[RunWarning] = []
    doing = status(f"{place.name}: {request.verb}", quiet=json or each is not None)
    with interrupt.installed(), place.started_agent(request) as agent, doing:
        interrupt.watch(agent)
        try:
            for line in agent.lines(silence_s, Span(max(ANSWER_S, silence_s))):
                if isinstance(line, AgentWarning):
                    warnings.append(RunWarning(line.code, line.text))
                    if json or each:
                        complain(line.text)
                elif isinstance(line, Change):
                    if json:
                        print_json(line)
                    elif each:
                        each(line)
                    changes.append(line)
        except RtscopeError as error:
            if interrupt.signal is None:
                raise
            complain(str(error))
    if interrupt.signal is not None and not each:
        if not json:
            _print("interrupted", changes, warnings)
        raise typer.Exit(128 + interrupt.signal)
    return changes, warnings


def _print(title: str, changes: Sequence[Change], warnings: Sequence[RunWarning]) -> None:

    output_written(lambda: output_console().print(ChangesView(title, changes, warnings)))


def _plan_words(changes: Sequence[Change]) -> str:
    return "this would be changed" if changes else "all is as the profile wants it"


def _applied_words(profile: str, changes: Sequence[Change]) -> str:

    return f"{profile}: {counts_line(changes)}" if changes else "all is as the profile wants it"


def _end_by(changes: Sequence[Change]) -> None:

    raise typer.Exit(int(any(one.state in BROKEN for one in changes)))
