# SPDX-License-Identifier: GPL-2.0-only
"""What is to be measured, and the agent's command line for it."""

from collections.abc import Sequence
from typing import Final

import msgspec

from rtscope.model.errors import RtscopeError
from rtscope.model.plan import IdleStatesText
from rtscope.model.tuning import TuningStep

PROGRESS_NS: Final = 250_000_000

_SESSION_OPTIONS: Final = (
    *("affinity", "break", "cpu-counts", "cpus", "default-duration", "dry-run", "duration"),
    *(
        "help",
        "idle-states",
        "interval",
        "json",
        "load",
        "load-cpus",
        "loops",
        "mlockall",
        "nanosleep",
        "nsecs",
        "policy",
        "prio",
        "priority",
    ),
    *("progress", "quiet", "samples", "samples-file", "seed", "smp", "tune", "tune-journal"),
    *("watchdog", "worst"),
)
"""what the agent takes for every probe, also by its beginning"""
_OWN_ALL_THE_SAME: Final = {("loop", "in")}
"""a probe's option that is the beginning of one of these, and meant where it stands whole"""


class Request(msgspec.Struct, frozen=True):
    """What to measure. Times are in nanoseconds; None leaves the agent's default."""

    probe: str = "cyclic"
    load: str = "idle"
    interval_ns: int | None = None
    duration_ns: int | None = None
    default_duration_ns: int | None = None
    """where neither a duration nor samples are given and the probe has no end of its own"""
    samples: int | None = None
    policy: str | None = None
    priority: int | None = None
    cpus: str | None = None
    threshold_ns: int | None = None
    seed: int | None = None
    worst: int | None = None
    watchdog_ns: int | None = None
    idle_states: IdleStatesText | None = None
    """default, off or limit:TIME; None: the probe's own, and default with a tuning profile"""
    samples_file: str | None = None
    options: dict[str, str] = {}
    """the probe's own options, as the agent names them without their dashes"""
    load_cpus: str | None = None
    """where the loads run; None: everywhere"""
    program: list[str] = []
    """of exec: the user's command"""
    tuning: TuningStep | None = None
    """what is changed of the machine for this measurement alone"""
    budget: list[str] = []
    command: list[str] = []

    @property
    def loops_in_kernel(self) -> bool:
        """Whether what is measured is a loop of the kernel's and none of the agent's."""
        return self.probe == "loop" and self.options.get("in") == "kernel"


def agent_arguments(request: Request, rules: Sequence[str] = ()) -> list[str]:
    """The agent's command line for a request, which changes the machine by these rules meanwhile.

    Raises RtscopeError where an option is not the probe's own: the record would not tell of it.
    """
    for name in request.options:
        own = (request.probe, name) in _OWN_ALL_THE_SAME
        if not own and any(known.startswith(name) for known in _SESSION_OPTIONS):
            raise RtscopeError(
                f"'{name}' is not an option of the probe's own but one of every measurement: "
                "rtscope measure --help and docs/plans.md tell how it is given"
            )
    options: dict[str, str | int | None] = {
        "--cpus": request.cpus,
        "--policy": request.policy,
        "--priority": request.priority,
        "--samples": request.samples,
        "--seed": request.seed,
        "--worst": request.worst,
        "--samples-file": request.samples_file,
        "--load-cpus": request.load_cpus,
        "--idle-states": request.idle_states or ("default" if request.tuning else None),
        "--load": None if request.load == "idle" else request.load,
        "--progress": f"{PROGRESS_NS}ns",
    }
    times = {
        "--interval": request.interval_ns,
        "--duration": request.duration_ns,
        "--default-duration": request.default_duration_ns,
        "--break": request.threshold_ns,
        "--watchdog": request.watchdog_ns,
    }
    options |= {name: f"{ns}ns" for name, ns in times.items() if ns is not None}
    options |= {f"--{name}": value for name, value in request.options.items()}
    return [
        request.probe,
        "--json",
        *(f"{name}={value}" for name, value in options.items() if value is not None),
        *(["--cpu-counts"] if request.tuning else []),
        *(f"--tune={rule}" for rule in rules),
        *(["--", *request.program] if request.program else []),
    ]
