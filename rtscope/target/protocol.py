# SPDX-License-Identifier: GPL-2.0-only
"""The agent's lines as typed records (docs/reference/protocol.md). A target is untrusted."""

from collections.abc import Iterable
from typing import Annotated, Final, Literal, get_args

import msgspec

from rtscope.model.description import Description
from rtscope.model.errors import RtscopeError
from rtscope.model.machine import Throttling
from rtscope.model.points import Points
from rtscope.model.progress import Count, Moment, Ns, Progress, Quantity, ThreadIndex
from rtscope.model.run import IdleMode
from rtscope.model.threads import Threads
from rtscope.model.tuning import Change

PROTOCOL_VERSION = 1
_LONGEST_SHOWN = 120
THROTTLING: Final = "agent:throttling"
"""the path of what the line `throttling` has, among the files"""
_MOST_FILES: Final = 40_000
_MOST_FILES_SIZE: Final = 128 * 1024 * 1024

CpuIndex = Annotated[int, msgspec.Meta(ge=0, lt=65536)]
Priority = Annotated[int, msgspec.Meta(ge=0, le=99)]
Short = Annotated[str, msgspec.Meta(max_length=64)]
Text = Annotated[str, msgspec.Meta(max_length=4096)]
"""a sentence, a name or a path"""
MOST_CPUS: Final = 1024
"""CPUS_MAX of the agent"""
MOST_BUCKETS: Final = 55_296
"""HISTOGRAM_BUCKETS of the agent"""
MOST_EXCEEDANCES: Final = 131_072
"""twice EXCEEDANCES_MAX of the agent"""
Labels = Annotated[list[Short], msgspec.Meta(max_length=MOST_CPUS)]
Cells = Annotated[
    list[Annotated[list[Quantity | None], msgspec.Meta(max_length=MOST_CPUS)]],
    msgspec.Meta(max_length=MOST_CPUS),
]
Repeats = Annotated[
    list[
        Annotated[
            list[Annotated[list[Quantity], msgspec.Meta(max_length=1024)]],
            msgspec.Meta(max_length=MOST_CPUS),
        ]
    ],
    msgspec.Meta(max_length=MOST_CPUS),
]
Seconds = Annotated[float, msgspec.Meta(ge=0, le=2**63 / 1e9)]


class Line(msgspec.Struct, frozen=True, tag_field="type"):
    """The common part of every line: its type."""


class Hello(Line, frozen=True, tag="hello"):
    """The first line of every verb."""

    protocol: int
    agent: str
    description: Count = 0
    """version of what `describe` prints; 0: the agent has no such command"""
    arch: str = ""
    pid: Count = 0
    probes: list[str] = []
    loads: list[str] = []


class AgentWarning(Line, frozen=True, tag="warning"):
    """A warning about the results."""

    code: Short
    text: Text


class Refusal(Line, frozen=True, tag="refusal"):
    """The agent refuses options. Older agents have the sentence on standard error only."""

    options: Annotated[list[Short], msgspec.Meta(max_length=16)]
    """names without dashes, the one to change first"""
    text: Text


class File(Line, frozen=True, tag="file"):
    """One of the kernel's files."""

    path: str
    text: str | None = None
    base64: bytes | None = None


class ThrottlingFound(Line, frozen=True, tag="throttling"):
    """The kernel's mechanisms that stop real-time threads."""

    throttling: Throttling


class Symbols(Line, frozen=True, tag="symbols"):
    """Some of the kernel's functions: lines of hexadecimal address, name, perhaps [module]."""

    text: str


class StartThread(msgspec.Struct, frozen=True):
    """A measuring thread as it was set up."""

    thread: ThreadIndex
    policy: str
    priority: Priority
    name: str = ""
    cpu: CpuIndex | None = None
    tid: Count = 0


class StartLoad(msgspec.Struct, frozen=True):
    """A load as it was set up."""

    name: str
    strength: Count = 0
    seed: Count = 0


class StartIdleStates(msgspec.Struct, frozen=True):
    """The limit on the exit latency of idle states: the one asked for, and that of all holders."""

    mode: IdleMode
    limit_ns: Ns | None = None
    effective_ns: Ns | None = None


class Start(Line, frozen=True, tag="start"):
    """Sampling begins; what was asked, as the agent understood it."""

    probe: str
    utc_ns: Ns
    interval_ns: Ns
    policy: str
    priority: Priority
    threads: list[StartThread]
    monotonic_ns: Ns | None = None
    """the same moment on CLOCK_MONOTONIC"""
    duration_ns: Ns = 0
    samples: Count = 0
    loads: list[StartLoad] = []
    options: dict[str, str | int | float | bool] = {}
    metrics: list[str] = msgspec.field(default_factory=list, name="facts")
    """all that a thread of this probe may have; N stands for a number"""
    high_resolution: bool | None = None
    idle_states: StartIdleStates | None = None
    throttling: Throttling | None = None
    notice_address: Count = 0
    """address of the agent's function that is called for each new worst sample; 0: unknown"""


class WorstSample(msgspec.Struct, frozen=True):
    """One of a thread's worst samples."""

    time_ns: Ns
    latency_ns: Ns
    notice: Count = 0
    """the number of its call of notice_address, from 1"""
    cpu: CpuIndex | None = None


class ThreadWaiter(msgspec.Struct, frozen=True):
    """A thread of the measured program that received events of a series."""

    name: Annotated[str, msgspec.Meta(max_length=64)]
    tid: Count
    priority: Priority
    count: Count
    cpu: CpuIndex | None = None


class ThreadResult(Line, frozen=True, tag="thread"):
    """A measuring thread's metrics."""

    thread: ThreadIndex
    policy: str
    priority: Priority
    count: Count
    missed: Count
    early: Count
    name: str = ""
    cpu: CpuIndex | None = None
    min_ns: Ns | None = None
    max_ns: Ns | None = None
    mean_ns: Quantity | None = None
    stddev_ns: Quantity | None = None
    worst: Annotated[list[WorstSample], msgspec.Meta(max_length=64)] = []
    metrics: dict[str, float | None] = msgspec.field(default_factory=dict, name="facts")
    takers: Annotated[list[ThreadWaiter], msgspec.Meta(max_length=1024)] = []


class ThreadHistogram(Line, frozen=True, tag="histogram"):
    """A measuring thread's histogram."""

    thread: ThreadIndex
    lower_ns: Annotated[list[Ns], msgspec.Meta(max_length=MOST_BUCKETS)]
    width_ns: Annotated[list[Ns], msgspec.Meta(max_length=MOST_BUCKETS)]
    count: Annotated[list[Count], msgspec.Meta(max_length=MOST_BUCKETS)]


class ThreadExceedances(Line, frozen=True, tag="exceedances"):
    """The samples of a measuring thread above a threshold, in order of time."""

    thread: ThreadIndex
    above_ns: Ns
    """the threshold: every larger sample is here, but for those that were dropped"""
    dropped: Count
    time_ns: Annotated[list[Ns], msgspec.Meta(max_length=MOST_EXCEEDANCES)]
    """deadlines since the start"""
    latency_ns: Annotated[list[Ns], msgspec.Meta(max_length=MOST_EXCEEDANCES)]


class MatrixResult(Line, frozen=True, tag="matrix"):
    """A table of metrics, each the median of its repeats with that median's limits."""

    name: Annotated[str, msgspec.Meta(max_length=64)]
    unit: Annotated[str, msgspec.Meta(max_length=64)]
    rows: Labels
    columns: Labels
    value: Cells
    low: Cells
    high: Cells
    repeats: Repeats = []


class LoadResult(Line, frozen=True, tag="load"):
    """The work of a load during the measurement."""

    name: str
    strength: Count
    seed: Count
    seconds: Seconds
    work: dict[str, Count] = {}


class EndPhase(msgspec.Struct, frozen=True):
    """Start and end of the load's start-up, the measurement, and the load's end."""

    name: str
    from_ns: Moment
    to_ns: Moment


class TraceEvent(msgspec.Struct, frozen=True):
    """An event that was recorded."""

    name: Short
    """SYSTEM/NAME"""
    format: Annotated[str, msgspec.Meta(max_length=65_536)]
    """its file `format`"""


class Trace(Line, frozen=True, tag="trace"):
    """How the kernel's trace around the worst samples was recorded."""

    clock: Short
    page_size: Annotated[int, msgspec.Meta(ge=1024, le=2**20)]
    commit_size: Literal[4, 8]
    little_endian: bool
    deep: Short = "none"
    ring_kb: Count = 0
    """of each CPU"""
    events: Annotated[list[TraceEvent], msgspec.Meta(max_length=1024)] = []
    missing: Annotated[list[Short], msgspec.Meta(max_length=1024)] = []
    """events that this kernel lacks"""


class TracePart(msgspec.Struct, frozen=True):
    """The trace of one CPU around a sample."""

    cpu: CpuIndex
    complete: bool
    """no event between the deadline and the sample is missing"""
    pages: bytes


class TraceWindow(Line, frozen=True, tag="trace-window"):
    """The kernel's trace around one of the worst samples."""

    thread: ThreadIndex
    due_ns: Ns
    """the deadline, on CLOCK_MONOTONIC"""
    latency_ns: Ns
    parts: Annotated[list[TracePart], msgspec.Meta(max_length=1024)]
    cpu: CpuIndex | None = None
    tid: Count = 0
    """the late thread, if it is not one of the session's"""


class TraceEnd(Line, frozen=True, tag="trace-end"):
    """After the last window."""

    skipped: Count = 0
    """late samples whose trace was not sent"""


class LeagueProgram(msgspec.Struct, frozen=True):
    """The time that a program had the measured CPUs."""

    name: Short
    """empty: all programs that found no place in the table"""
    total_ns: Ns
    longest_ns: Ns
    runs: Count


class League(Line, frozen=True, tag="league"):
    """Who had the measured CPUs so far."""

    known_ns: Ns
    programs: Annotated[list[LeagueProgram], msgspec.Meta(max_length=1024)] = []


class End(Line, frozen=True, tag="end"):
    """The last line."""

    status: str
    time_ns: Ns = 0
    high_resolution: bool | None = None
    phases: Annotated[list[EndPhase], msgspec.Meta(max_length=64)] = []


AnyLine = (
    Hello
    | AgentWarning
    | Refusal
    | File
    | ThrottlingFound
    | Symbols
    | Start
    | Points
    | Threads
    | Change
    | Progress
    | ThreadResult
    | ThreadHistogram
    | ThreadExceedances
    | MatrixResult
    | LoadResult
    | Trace
    | TraceWindow
    | TraceEnd
    | League
    | End
)

_DECODER: msgspec.json.Decoder[AnyLine] = msgspec.json.Decoder(AnyLine)
_TYPES: Final = {line.__struct_config__.tag for line in get_args(AnyLine)}
UNKNOWN_LINE: Final = "unknown-line"
"""the code of the warning about a line of a type that a later release has added"""


class _AnyType(msgspec.Struct, frozen=True):
    type: Short


def decode_line(line: bytes) -> AnyLine:
    """Read one line of the agent.

    A line of an unknown type is read as a warning, UNKNOWN_LINE. Raises RtscopeError where the line
    is not of the protocol.
    """
    try:
        return _DECODER.decode(line)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        if (kind := _unknown_type(line)) is not None:
            return AgentWarning(
                UNKNOWN_LINE,
                f"lines of the type {kind!r} were ignored: this rtscope does not know that type, "
                "so the agent is probably newer; update rtscope to read them",
            )
        start = line[:_LONGEST_SHOWN].decode(errors="replace")
        raise RtscopeError(
            f"the agent sent a line that is not of protocol {PROTOCOL_VERSION} ({error}): {start!r}"
        ) from error


def _unknown_type(line: bytes) -> str | None:
    try:
        kind = msgspec.json.decode(line, type=_AnyType).type
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None
    return None if kind in _TYPES else kind


def check_hello(line: AnyLine) -> Hello:
    """The first line, which must be a hello of this protocol version. Raises RtscopeError."""
    if not isinstance(line, Hello):
        raise RtscopeError(
            "the first line is not hello: check that the program is an rtscope-agent"
        )
    if line.protocol != PROTOCOL_VERSION:
        raise RtscopeError(
            f"the agent speaks protocol {line.protocol}, this rtscope {PROTOCOL_VERSION}: "
            "install the same version of both"
        )
    return line


def check_description(hello: Hello, made_for: Description | None) -> None:
    """Refuse an agent that is older than the description its words were made for.

    Raises RtscopeError.
    """
    if made_for and hello.description < made_for.version:
        raise RtscopeError(
            f"the agent is older than this rtscope: its options are of version {hello.description} "
            f"and rtscope's of version {made_for.version}. Rebuild it with `make agents`"
        )


def files_of(lines: Iterable[AnyLine]) -> dict[str, str | bytes]:
    """The content of each file that the verb `machine` sent, by path.

    Raises RtscopeError where they are too many or too big.
    """
    files: dict[str, str | bytes] = {}
    size = 0
    for line in lines:
        if isinstance(line, ThrottlingFound):
            files[THROTTLING] = msgspec.json.encode(line.throttling)
        elif isinstance(line, File):
            content = line.base64 if line.base64 is not None else line.text
            if content is not None:
                files[line.path] = content
                size += len(line.path) + len(content)
            if len(files) > _MOST_FILES or size > _MOST_FILES_SIZE:
                raise RtscopeError(
                    f"the agent sent more than {_MOST_FILES} files or "
                    f"{_MOST_FILES_SIZE // 1024**2} MiB of them: check that it is an rtscope-agent"
                )
    return files
