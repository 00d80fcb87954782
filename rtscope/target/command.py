# SPDX-License-Identifier: GPL-2.0-only
"""The agent's command line for each request: no other module writes or parses these words."""

from typing import Final

import msgspec

from rtscope.model.description import Description
from rtscope.model.errors import OptionsRefusedError
from rtscope.model.request import (
    AgentRequest,
    DryRun,
    MachineRequest,
    PointsRequest,
    Request,
    SymbolsRequest,
    ThreadsRequest,
    TuneRequest,
    measurement_in,
)
from rtscope.target.description import check_known, our_description

WATCHDOG_CONNECTION: Final = "--tether=8s"
"""the agent ends when its standard input is silent for this long"""
_PROGRESS: Final = "--progress=250000000ns"
_WATCH_PROGRESS: Final = "--progress=1s"
_GUEST_PROGRESS: Final = "1s"
"""a guest's interval: its serial port may be slow, and its times are not exact then anyway"""
_GUEST_SAMPLES: Final = "/samples/all"


def command_of(request: AgentRequest, agent: Description | None = None) -> list[str]:
    """Return the words of a request to an agent of this description; None: of this release.

    Raises RtscopeError where an option is not the probe's own, as the record would not contain it,
    and where the agent is older than this rtscope and lacks what is asked.
    """
    words = _words(request)
    if agent and agent != our_description():
        check_known(words, agent)
    return words


def _words(request: AgentRequest) -> list[str]:
    match request:
        case Request():
            words = _measure(request)
        case DryRun():
            words = _measure(request.request, dry_run=True)
        case MachineRequest():
            flags = {"--audit": request.audit, "--activity": request.activity}
            words = ["machine", "--json", *_flags(flags)]
        case SymbolsRequest():
            words = ["symbols", "--json", *_flags({"--modules": request.modules_only})]
        case ThreadsRequest():
            words = ["threads", "--json", *_interval(request.interval_ns)]
        case PointsRequest():
            words = _points(request)
        case TuneRequest():
            words = tune_command(request, json=True)
    return words


def tune_command(request: TuneRequest, *, json: bool) -> list[str]:
    """Return the words of `tune`; a service file has them without --json."""
    return [
        "tune",
        request.verb,
        *_flags({"--json": json}),
        *_values({"--journal": request.journal}),
        *_flags({"--keep": request.keep}),
        *_values({"--poll": None if request.poll_ns is None else f"{request.poll_ns}ns"}),
        *_values({"--profile": request.profile}),
        *request.rules,
    ]


def guest_command(
    request: AgentRequest, seed: int, agent: Description | None = None, *, exact: bool
) -> list[str]:
    """Return the words for init of an emulated system, which runs the agent.

    The words lie on the agent's stack, so words of another length or order are another run. Where
    time counts instructions, writing every sample would be another run too. Therefore the agent
    always writes them there, without progress, and init sends them after the measurement if asked.
    """
    asked = measurement_in(request)
    if asked is None:
        return command_of(request, agent)
    sent = asked.samples_file is not None
    command_of(request, agent)
    bare = msgspec.structs.replace(asked, seed=None, samples_file=None)
    return [
        f"rtscope_seed={seed}",
        f"rtscope_send={int(sent)}",
        *_measure(bare, dry_run=isinstance(request, DryRun)),
        f"--progress={'0' if exact else _GUEST_PROGRESS}",
        *([f"--samples-file={_GUEST_SAMPLES}"] if exact or sent else []),
        f"--seed={seed}",
    ]


def _measure(request: Request, *, dry_run: bool = False) -> list[str]:
    _check_options(request)
    times = {
        "--interval": request.interval_ns,
        "--duration": request.duration_ns,
        "--default-duration": request.default_duration_ns,
        "--break": request.threshold_ns,
        "--watchdog": request.watchdog_ns,
        "--above": request.above_ns,
    }
    return [
        request.probe,
        "--json",
        *_values(
            {
                "--cpus": request.cpus,
                "--policy": request.policy,
                "--priority": request.priority,
                "--samples": request.samples,
                "--seed": request.seed,
                "--worst": request.worst,
                "--exceedances": request.exceedances,
                "--explain": request.explain,
                "--explain-deep": request.explain_deep,
                "--samples-file": request.samples_file,
                "--load-cpus": request.load_cpus,
                "--idle-states": request.idle_states or ("default" if request.tuning else None),
                "--load": None if request.load == "idle" else request.load,
            }
        ),
        _WATCH_PROGRESS if request.explain_stream else _PROGRESS,
        *_flags({"--explain-stream": request.explain_stream, "--league": request.league}),
        *_values({name: None if ns is None else f"{ns}ns" for name, ns in times.items()}),
        *_values({f"--{name}": value for name, value in request.options.items()}),
        *_flags({"--cpu-counts": request.tuning is not None}),
        *(f"--tune={rule}" for rule in (request.tuning.rules if request.tuning else ())),
        *_flags({"--dry-run": dry_run}),
        *(["--", *request.program] if request.program else []),
    ]


def _check_options(request: Request) -> None:
    """Refuse an option that is not the probe's own: the record would not contain it."""
    probe = our_description().probe(request.probe)
    own = {option.name for option in probe.options} if probe else set()
    session = {option.name for option in our_description().session}
    for name in request.options:
        if name in session:
            raise _refused(
                name,
                f"--{name} is an option of every measurement, not of the probe: see "
                "rtscope measure --help and docs/reference/plans.md",
            )
        if probe and name not in own:
            known = ", ".join(sorted(own)) or "none"
            raise _refused(name, f"{probe.name} has no option --{name}; it has {known}")


def _refused(name: str, reason: str) -> OptionsRefusedError:
    return OptionsRefusedError(reason, [name], reason)


def _points(request: PointsRequest) -> list[str]:
    switches = {"--pause": request.pause, "--resume": request.resume, "--reset": request.reset}
    return [
        "points",
        "--json",
        *(f"--enable={name}" for name in request.enable),
        *(f"--disable={name}" for name in request.disable),
        *_flags(switches),
        *_interval(request.interval_ns),
        *_flags({"--histograms": request.histograms}),
        str(request.pid),
    ]


def _interval(interval_ns: int | None) -> list[str]:
    return [] if interval_ns is None else [f"--interval={interval_ns}ns"]


def _values(options: dict[str, str | int | None]) -> list[str]:
    return [f"{name}={value}" for name, value in options.items() if value is not None]


def _flags(options: dict[str, bool]) -> list[str]:
    return [name for name, wanted in options.items() if wanted]
