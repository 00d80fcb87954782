# SPDX-License-Identifier: GPL-2.0-only
"""Requests to an agent, one type for each verb; target/command.py makes their words."""

from typing import Literal

import msgspec

from rtscope.model.plan import IdleStatesText
from rtscope.model.tuning import TuningStep


class Request(msgspec.Struct, frozen=True):
    """One measurement. Times are in nanoseconds; None leaves the agent's default."""

    probe: str = "cyclic"
    load: str = "idle"
    interval_ns: int | None = None
    duration_ns: int | None = None
    default_duration_ns: int | None = None
    """duration where neither duration nor samples are given and the probe has no end of its own"""
    samples: int | None = None
    policy: str | None = None
    priority: int | None = None
    cpus: str | None = None
    threshold_ns: int | None = None
    seed: int | None = None
    worst: int | None = None
    exceedances: int | None = None
    explain: int | None = None
    """number of worst samples around which the kernel's trace is recorded"""
    above_ns: int | None = None
    """only samples of that and more are explained"""
    explain_deep: str | None = None
    """the tracer that records in addition"""
    explain_stream: bool = False
    """each late sample's trace is sent soon after it"""
    league: bool = False
    """count the time of each program on the measured CPUs"""
    watchdog_ns: int | None = None
    idle_states: IdleStatesText | None = None
    """default, off or limit:TIME; None: the probe's own, and default with a tuning profile"""
    samples_file: str | None = None
    options: dict[str, str] = {}
    """the probe's own options, as the agent names them without their dashes"""
    load_cpus: str | None = None
    """CPUs of the loads; None: all"""
    program: list[str] = []
    """the user's command (probe exec)"""
    tuning: TuningStep | None = None
    """changes that the agent makes for this measurement and undoes afterwards"""
    budget: list[str] = []
    command: list[str] = []
    """the rtscope command that repeats this measurement"""

    @property
    def loops_in_kernel(self) -> bool:
        """Whether the module rtloop runs the loop that is measured, not the agent."""
        return self.probe == "loop" and self.options.get("in") == "kernel"


class DryRun(msgspec.Struct, frozen=True):
    """Check a measurement and report how it would start, without measuring."""

    request: Request


class MachineRequest(msgspec.Struct, frozen=True):
    """Read the files of /proc and /sys that the fingerprint is made of."""

    audit: bool = False
    """also those that the rules of `check` need"""
    activity: bool = False
    """only those that show whether the system is quiet"""


class SymbolsRequest(msgspec.Struct, frozen=True):
    """Read the addresses of the kernel's functions."""

    modules_only: bool = False


class ThreadsRequest(msgspec.Struct, frozen=True):
    """List the threads of the system, once or every `interval_ns`."""

    interval_ns: int | None = None


class PointsRequest(msgspec.Struct, frozen=True):
    """Read the measurement points of a program, once or every `interval_ns`, and switch them."""

    pid: int
    interval_ns: int | None = None
    histograms: bool = False
    enable: list[str] = []
    disable: list[str] = []
    pause: bool = False
    resume: bool = False
    reset: bool = False

    @property
    def changes(self) -> bool:
        """Whether this switches anything."""
        return bool(self.enable or self.disable or self.pause or self.resume or self.reset)


TuneVerb = Literal["show", "apply", "undo", "status", "hold"]


class TuneRequest(msgspec.Struct, frozen=True):
    """Change settings by a profile's rules, or undo or show what an earlier request changed."""

    verb: TuneVerb
    profile: str | None = None
    """name of the profile in the journal; None: every profile"""
    rules: list[str] = []
    """the profile's rules with the CPUs of the target"""
    journal: str | None = None
    """folder of the journal on the target; None: the agent's default"""
    keep: bool = False
    """leave the changes when `hold` ends"""
    poll_ns: int | None = None
    """time between two checks of `hold` for settings that others changed; 0: never"""


AgentRequest = (
    Request
    | DryRun
    | MachineRequest
    | SymbolsRequest
    | ThreadsRequest
    | PointsRequest
    | TuneRequest
)


def measurement_in(request: AgentRequest) -> Request | None:
    """Return the measurement that a request asks for or only checks; None for other verbs."""
    if isinstance(request, DryRun):
        return request.request
    return request if isinstance(request, Request) else None
