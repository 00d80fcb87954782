# SPDX-License-Identifier: GPL-2.0-only
"""The Run: one execution of one probe under one load on one target."""

from collections.abc import Sequence
from typing import Final, Literal

import msgspec

from rtscope.model.histogram import Histogram
from rtscope.model.machine import Machine
from rtscope.model.scaling import Swept
from rtscope.model.timeline import Explanation
from rtscope.model.tuning import Tuning

FORMAT_VERSION = 1

Status = Literal["complete", "interrupted", "threshold", "watchdog", "failed"]
FINAL: Final = frozenset({"complete", "threshold", "watchdog"})
"""how a run ends that need not be measured again"""


class RunWarning(msgspec.Struct, frozen=True):
    """Something that lessens what the figures are worth; shown wherever they are."""

    code: str
    """stable, for scripts: no-rt-priority, rt-throttling, no-memlock, ..."""
    text: str


class Sample(msgspec.Struct, frozen=True):
    """One of the worst samples."""

    time_ns: int
    """since the run's start"""
    latency_ns: int
    cpu: int | None = None


class Taker(msgspec.Struct, frozen=True):
    """A thread of the measured program that took events."""

    name: str
    """as the kernel shows it; main for the main thread"""
    tid: int
    priority: int
    """0: an ordinary thread"""
    cpu: int | None
    """the CPU it was pinned to"""
    count: int
    """events that it took"""


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


class Thread(msgspec.Struct, frozen=True):
    """What one measuring thread saw. A figure is None when there was no sample to make it of."""

    thread: int
    cpu: int | None
    """the CPU it was pinned to; None where it could not be pinned (SCHED_DEADLINE)"""
    policy: str
    priority: int
    count: int
    histogram: Histogram
    min_ns: int | None = None
    max_ns: int | None = None
    mean_ns: float | None = None
    stddev_ns: float | None = None
    missed: int | None = 0
    """periods that passed while the thread was late; None where the tool did not count them"""
    name: str = ""
    """what tells it from the probe's other threads: a clock, a method; "" where all are alike"""
    facts: dict[str, float] = {}
    """the probe's own figures, their units in their names"""
    takers: list[Taker] = []
    """of signal and event: which threads took the events, who took most first"""
    worst: list[Sample] = []
    windows: Windows = Windows()


class Matrix(msgspec.Struct, frozen=True):
    """A table of figures that belong to no thread alone. All lists of rows have the same shape."""

    name: str
    """what was measured: message, L2, read, ..."""
    unit: str
    """of the figures: ns, ratio, bytes_per_s"""
    rows: list[str]
    columns: list[str]
    value: list[list[float | None]]
    """median of the repeats of each cell, row by row; None where nothing was measured"""
    low: list[list[float | None]]
    """lower limit of that median, of 95 % confidence"""
    high: list[list[float | None]]
    repeats: list[list[list[float]]] = []
    """of each cell, in the order measured; empty where they are not kept"""

    def __post_init__(self) -> None:
        tables: list[Sequence[Sequence[object]]] = [self.value, self.low, self.high]
        for figures in tables + [self.repeats] * bool(self.repeats):
            if len(figures) != len(self.rows) or any(
                len(row) != len(self.columns) for row in figures
            ):
                raise ValueError(f"the matrix {self.name[:40]!r} has not the shape of its labels")


class LoadWork(msgspec.Struct, frozen=True):
    """One load and the work it really did."""

    name: str
    strength: int | None = None
    """worker processes"""
    seed: int | None = None
    seconds: float = 0.0
    work: dict[str, int] = {}
    """totals by unit, such as {"bytes_written": 1048576}; empty where it cannot be counted"""


class Phase(msgspec.Struct, frozen=True):
    """A stretch of the run: the load coming up, the measuring; times since the run's start."""

    name: str
    from_ns: int
    """negative before the start"""
    to_ns: int


IdleMode = Literal["default", "limit", "off"]


class IdleStates(msgspec.Struct, frozen=True):
    """The limit on the exit latency of the CPUs' idle states while a run was measured."""

    mode: IdleMode
    """off: held at 0; limit: held at limit_ns; default: left as the system had it"""
    limit_ns: int | None = None
    effective_ns: int | None = None
    """the least that any program held, read as measuring began; None: this user cannot read it"""


class Asked(msgspec.Struct, frozen=True):
    """What the user asked for."""

    command: list[str] = []
    """the rtscope command that repeats this run"""
    interval_ns: int | None = None
    duration_ns: int | None = None
    samples: int | None = None
    policy: str | None = None
    priority: int | None = None
    cpus: str | None = None
    options: dict[str, str | int | float | bool] = {}
    """the probe's own: method, phase and distance_ns of cyclic"""
    threshold_ns: int | None = None
    loads: list[str] = []
    budget: list[str] = []
    scale: float = 1.0
    """of its plan's samples or duration, how much was asked for (rtscope run --scale)"""


LabMode = Literal["exact", "fast", "kvm"]


class Lab(msgspec.Struct, frozen=True):
    """The emulated machine of a lab run: enough for somebody else to get the same bits."""

    mode: LabMode
    """exact: time counts instructions, and every run is the same; fast and kvm: time is the host's,
    and kvm runs the guest's instructions on the host's CPU"""
    mips: float | None
    """million instructions a second of virtual time; None where it is the host's time"""
    cpus: int
    seed: int
    """of what a machine leaves to chance: random numbers, memory layout, the phase of measuring"""
    qemu: str
    """version of the emulator"""
    command: list[str]
    """its whole command line; kernel and initramfs.cpio are the files with the hashes below"""
    kernel: str
    """name in the lab"""
    kernel_source: str
    kernel_sha256: str
    config_sha256: str | None
    """None where the kernel's configuration is not known"""
    initramfs_sha256: str
    patches: list[str] = []
    """series in the kernel, each with its hash; empty too where the lab did not build it"""
    instructions: dict[str, float] = {}
    """figures of all threads in instructions: min, mean, max; empty where time is the host's"""
    restored: bool = False
    """began from a snapshot that was taken when the boot was over; False: the run booted"""
    console: str = ""
    """the last of what the kernel and the agent wrote to the console"""


class Member(msgspec.Struct, frozen=True):
    """One run of an ensemble: its request measured with one seed."""

    seed: int
    """with which it can be repeated alone"""
    status: Status
    threads: list[Thread]
    elapsed_ns: int | None = None
    loads: list[LoadWork] = []
    console: str = ""
    """of its guest, where it ran in the lab"""


class Run(msgspec.Struct, frozen=True):
    """The record that the store keeps and that every report is made from."""

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
    """start on the machine's CLOCK_MONOTONIC, which its kernel log and traces are near to"""
    matrices: list[Matrix] = []
    """of topology and memory: what CPUs and working sets are to each other"""
    loads: list[LoadWork] = []
    phases: list[Phase] = []
    """in order; empty where the tool did not tell"""
    warnings: list[RunWarning] = []
    source: str = "rtscope"
    """the tool that measured: rtscope, cyclictest, oslat, rtla timerlat, jitterdebugger"""
    target: str = "local"
    experiment: str = ""
    """id of the experiment that this run is of; "" for a run of its own"""
    cell: str = ""
    """which cell of the experiment's plan it is, in words; unique within the experiment"""
    place: int | None = None
    """of the cell in its plan as that is written; None for a run of its own"""
    agent_version: str | None = None
    explanations: list[Explanation] = []
    """of the worst samples, how they came about; worst first"""
    lab: Lab | None = None
    """how the machine was emulated; None for a real one"""
    idle_states: IdleStates | None = None
    """None: not recorded"""
    tuning: Tuning | None = None
    """what was changed of the machine for this run alone; None: nothing"""
    sweep: Swept | None = None
    """of scale and interfere: what the threads are; None for the run of a probe"""
    members: list[Member] = []
    """of an ensemble, whose union the threads are; empty for a run by itself"""
    format: Literal["rtscope-run"] = "rtscope-run"
    version: int = FORMAT_VERSION
