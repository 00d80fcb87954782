# SPDX-License-Identifier: GPL-2.0-only
"""The Run: one execution of one probe under one load on one target."""

from collections.abc import Sequence
from typing import Final, Literal

import msgspec

from rtscope.model.histogram import Histogram
from rtscope.model.machine import Machine
from rtscope.model.recording import Recording
from rtscope.model.scaling import SeriesRecord
from rtscope.model.timeline import Explanation
from rtscope.model.tuning import Tuning

FORMAT_VERSION = 1


class ProgramTime(msgspec.Struct, frozen=True):
    """The time that a program took from the measured CPUs."""

    name: str
    total_ns: int
    longest_ns: int
    """without a switch to another task"""
    runs: int
    """how often it got a measured CPU"""


Status = Literal["complete", "interrupted", "threshold", "watchdog", "failed"]
FINAL: Final = frozenset({"complete", "threshold", "watchdog"})
"""how a run ends that need not be measured again"""


class RunWarning(msgspec.Struct, frozen=True):
    """A limitation of the results; shown wherever they are."""

    code: str
    """stable, for scripts: no-rt-priority, rt-throttling, no-memlock, ..."""
    text: str


class Sample(msgspec.Struct, frozen=True):
    """One of the worst samples."""

    time_ns: int
    """since the run's start"""
    latency_ns: int
    cpu: int | None = None


class Waiter(msgspec.Struct, frozen=True):
    """A thread of the measured program that received events."""

    name: str
    """as in the kernel; main for the main thread"""
    tid: int
    priority: int
    """0: an ordinary thread"""
    cpu: int | None
    """the CPU it was pinned to"""
    count: int
    """events that it received"""


class Windows(msgspec.Struct, frozen=True):
    """Latency over time: one entry a window, in order; lists of equal length."""

    end_ns: list[int] = []
    """end of each window since the run's start"""
    count: list[int] = []
    mean_ns: list[float] = []
    max_ns: list[int] = []

    def __post_init__(self) -> None:
        if not len(self.end_ns) == len(self.count) == len(self.mean_ns) == len(self.max_ns):
            raise ValueError("windows lists end_ns, count, mean_ns and max_ns differ in length")


class Exceedances(msgspec.Struct, frozen=True):
    """The samples of a thread above a threshold, in order of time. Raises ValueError."""

    above_ns: int
    """the threshold: every larger sample is here, but for those that were dropped"""
    time_ns: list[int]
    """deadlines since the start of measuring"""
    latency_ns: list[int]
    dropped: int = 0
    """samples that came faster than they could be kept"""

    def __post_init__(self) -> None:
        if len(self.time_ns) != len(self.latency_ns) or any(
            latency <= self.above_ns for latency in self.latency_ns
        ):
            raise ValueError("the exceedances contradict each other")


class Thread(msgspec.Struct, frozen=True):
    """The results of one measuring thread. A metric is None if there was no sample."""

    thread: int
    cpu: int | None
    """the CPU it was pinned to; None if it could not be pinned (SCHED_DEADLINE)"""
    policy: str
    priority: int
    count: int
    histogram: Histogram
    min_ns: int | None = None
    max_ns: int | None = None
    mean_ns: float | None = None
    stddev_ns: float | None = None
    missed: int | None = 0
    """periods that passed while the thread was late; None if the tool did not count them"""
    name: str = ""
    """name of its series: a clock, a method; "" if the probe has one series"""
    metrics: dict[str, float] = msgspec.field(default_factory=dict, name="facts")
    """the probe's metrics, with their units in their names"""
    waiters: list[Waiter] = msgspec.field(default_factory=list, name="takers")
    """of signal and event: the threads that received the events, most events first"""
    worst: list[Sample] = []
    windows: Windows = Windows()
    exceedances: Exceedances | None = None
    """if they were asked for"""


class Matrix(msgspec.Struct, frozen=True):
    """A table of values of pairs or sets of CPUs. All lists of rows have the same shape."""

    name: str
    """the measured quantity: message, L2, read, ..."""
    unit: str
    """of the values: ns, ratio, bytes_per_s"""
    rows: list[str]
    columns: list[str]
    value: list[list[float | None]]
    """median of the repeats of each cell, row by row; None if it was not measured"""
    low: list[list[float | None]]
    """lower limit of that median, of 95 % confidence"""
    high: list[list[float | None]]
    repeats: list[list[list[float]]] = []
    """of each cell, in chronological order; empty if they were not recorded"""

    def __post_init__(self) -> None:
        tables: list[Sequence[Sequence[object]]] = [self.value, self.low, self.high]
        for values in tables + [self.repeats] * bool(self.repeats):
            if len(values) != len(self.rows) or any(
                len(row) != len(self.columns) for row in values
            ):
                raise ValueError(f"the matrix {self.name[:40]!r} has not the shape of its labels")


class LoadWork(msgspec.Struct, frozen=True):
    """One load and its counted work."""

    name: str
    strength: int | None = None
    """worker processes"""
    seed: int | None = None
    seconds: float = 0.0
    work: dict[str, int] = {}
    """totals by unit, such as {"bytes_written": 1048576}; empty if it cannot be counted"""


class Phase(msgspec.Struct, frozen=True):
    """A phase of the run, such as starting the load or measuring; times since the run's start."""

    name: str
    from_ns: int
    """negative before the start"""
    to_ns: int


IdleMode = Literal["default", "limit", "off"]


class IdleStates(msgspec.Struct, frozen=True):
    """The limit on the exit latency of the CPUs' idle states while a run was measured."""

    mode: IdleMode
    """off: held at 0; limit: held at limit_ns; default: unchanged"""
    limit_ns: int | None = None
    effective_ns: int | None = None
    """the lowest limit of any program at the start of the measurement; None: not readable"""


class Asked(msgspec.Struct, frozen=True):
    """The user's request."""

    command: list[str] = []
    """rtscope command that repeats this run"""
    interval_ns: int | None = None
    duration_ns: int | None = None
    samples: int | None = None
    policy: str | None = None
    priority: int | None = None
    cpus: str | None = None
    options: dict[str, str | int | float | bool] = {}
    """options of the probe: method, phase and distance_ns of cyclic"""
    threshold_ns: int | None = None
    loads: list[str] = []
    budget: list[str] = []
    scale: float = 1.0
    """factor of the plan's samples or duration (rtscope run --scale)"""


LabMode = Literal["exact", "fast", "kvm"]


class Lab(msgspec.Struct, frozen=True):
    """The VM of a lab run, in enough detail to repeat the run to the bit."""

    mode: LabMode
    """exact: time counts instructions, and every run is the same; fast and kvm: time is the host's,
    and kvm runs the guest's instructions on the host's CPU"""
    mips: float | None
    """million instructions a second of virtual time; None where it is the host's time"""
    cpus: int
    seed: int
    """of everything random: random numbers, memory layout, the phase of measuring"""
    qemu: str
    """version of the emulator"""
    command: list[str]
    """its whole command line; kernel and initramfs.cpio are the files with the hashes below"""
    kernel: str
    """its name in the lab"""
    kernel_source: str
    kernel_sha256: str
    config_sha256: str | None
    """None if the kernel's configuration is unknown"""
    initramfs_sha256: str
    patches: list[str] = []
    """patch series of the kernel, each with its hash; empty if the lab did not build it"""
    instructions: dict[str, float] = {}
    """min, mean and max of all threads in instructions; empty if time is the host's"""
    restored: bool = False
    """began from a snapshot that was taken when the boot was over; False: the run booted"""
    console: str = ""
    """the end of the console output of the kernel and the agent"""


class Member(msgspec.Struct, frozen=True):
    """One run of an ensemble: its request measured with one seed."""

    seed: int
    """seed that repeats it alone"""
    status: Status
    threads: list[Thread]
    elapsed_ns: int | None = None
    loads: list[LoadWork] = []
    console: str = ""
    """console output of its guest in the lab"""


class Run(msgspec.Struct, frozen=True):
    """The stored record, from which every report is made."""

    id: str
    """sixteen hexadecimal digits"""
    created: str
    """start, ISO 8601 in UTC"""
    probe: str
    status: Status
    load: str
    """short name of the whole load: "idle", "mixed:2", "files:50+network:1" """
    machine: Machine
    threads: list[Thread]
    asked: Asked = Asked()
    elapsed_ns: int | None = None
    start_monotonic_ns: int | None = None
    """start on the system's CLOCK_MONOTONIC, which is close to the clock of its kernel log"""
    matrices: list[Matrix] = []
    """of topology and memory: relations of CPUs and of working sets"""
    loads: list[LoadWork] = []
    phases: list[Phase] = []
    """in order; empty if the tool did not report them"""
    warnings: list[RunWarning] = []
    source: str = "rtscope"
    """the tool that measured: rtscope, cyclictest, rtla timerlat, latmus, ..."""
    target: str = "local"
    experiment: str = ""
    """id of the run's experiment; "" for a single run"""
    cell: str = ""
    """name of its cell in the experiment's plan; unique within the experiment"""
    place: int | None = None
    """position of the cell in the plan's file; None for a single run"""
    agent_version: str | None = None
    explanations: list[Explanation] = []
    """of the worst samples, worst first"""
    recording: Recording | None = None
    """the kernel's trace that explanations were made from"""
    programs: list[ProgramTime] = []
    """that took time from the measured CPUs, most first; empty if they were not counted"""
    lab: Lab | None = None
    """of a lab run; None on hardware"""
    idle_states: IdleStates | None = None
    """None: not recorded"""
    tuning: Tuning | None = None
    """changes to the system for this run alone; None: nothing"""
    placement_series: SeriesRecord | None = msgspec.field(default=None, name="sweep")
    """of scale and interfere: the cells of the threads; None for the run of a probe"""
    members: list[Member] = []
    """of an ensemble: its runs, which the threads merge; empty for a single run"""
    tags: list[str] = []
    """labels of the user, by which runs are found"""
    format: Literal["rtscope-run"] = "rtscope-run"
    version: int = FORMAT_VERSION

    @property
    def machine_name(self) -> str | None:
        """The name of the system in lists. A guest of the lab has none but its target's."""
        return self.target if self.lab else self.machine.hostname
