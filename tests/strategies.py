# SPDX-License-Identifier: GPL-2.0-only
"""Hypothesis strategies for the records of rtscope.model: every one that decode_run accepts."""

from datetime import UTC, datetime
from typing import get_args

from hypothesis import strategies as st

from rtscope.model.histogram import Histogram
from rtscope.model.machine import Cache, Cpu, IdleState, Interrupt, Machine
from rtscope.model.run import (
    Asked,
    LoadWork,
    Matrix,
    Run,
    RunWarning,
    Sample,
    Thread,
    Waiter,
    Windows,
)
from rtscope.model.timeline import (
    Call,
    CpuTrack,
    Explanation,
    FunctionTime,
    LedgerTerm,
    Remote,
    Stretch,
    TermKind,
)

TEXT = st.text(max_size=20)
COUNTS = st.integers(0, 2**40)
SPANS_NS = st.integers(1, 2**40)
CPUS = st.integers(0, 8191)
METRICS = st.floats(0, 1e12)


@st.composite
def histograms(draw: st.DrawFn, beyond: bool = True) -> Histogram:
    """A histogram of up to 30 buckets with any gaps between them; perhaps empty."""
    small = st.integers(0, 5000) | st.integers(0, 2**40)
    parts = draw(
        st.lists(st.tuples(small, st.integers(1, 2000), st.integers(1, 2**40)), max_size=30)
    )
    lower: list[int] = []
    end = 0
    for gap, width, _ in parts:
        lower.append(end + gap)
        end = lower[-1] + width
    count = draw(COUNTS) if beyond else 0
    return Histogram(
        lower,
        [width for _, width, _ in parts],
        [held for _, _, held in parts],
        count,
        draw(st.integers(end, end + 2**40)) if count else 0,
    )


def figures_of(histogram: Histogram) -> tuple[int | None, int | None]:
    """A minimum and a maximum in ns that agree with the histogram."""
    if not histogram.total:
        return None, None
    low = histogram.lower_ns[0] if histogram.lower_ns else histogram.beyond_ns
    if histogram.beyond_count:
        return low, histogram.beyond_ns + 1
    return low, histogram.lower_ns[-1] + histogram.width_ns[-1] - 1


@st.composite
def windows(draw: st.DrawFn) -> Windows:
    """Up to five windows."""
    rows = draw(st.lists(st.tuples(SPANS_NS, COUNTS, METRICS, SPANS_NS), max_size=5))
    ends = sorted(row[0] for row in rows)
    return Windows(ends, [row[1] for row in rows], [row[2] for row in rows], [r[3] for r in rows])


@st.composite
def threads(draw: st.DrawFn, number: int = 0, beyond: bool = True) -> Thread:
    """One thread whose figures agree with its histogram."""
    histogram = draw(histograms(beyond))
    low, high = figures_of(histogram)
    latencies = SPANS_NS if high is None else st.integers(0, high)
    return Thread(
        thread=number,
        cpu=draw(st.none() | CPUS),
        policy=draw(st.sampled_from(["fifo", "deadline", "other"])),
        priority=draw(st.integers(0, 99)),
        count=histogram.total,
        histogram=histogram,
        min_ns=low,
        max_ns=high,
        mean_ns=None if low is None or high is None else draw(st.floats(low, high)),
        stddev_ns=draw(st.none() | METRICS),
        missed=draw(st.none() | COUNTS),
        waiters=draw(
            st.lists(
                st.builds(Waiter, TEXT, COUNTS, st.integers(0, 99), st.none() | CPUS, COUNTS),
                max_size=3,
            )
        ),
        worst=draw(st.lists(st.builds(Sample, SPANS_NS, latencies, st.none() | CPUS), max_size=3)),
        windows=draw(windows()),
    )


def machines() -> st.SearchStrategy[Machine]:
    """A fingerprint with any text in it, control characters and markup included."""
    maybe = st.none() | TEXT
    return st.builds(
        Machine,
        hostname=maybe,
        architecture=maybe,
        cpu_model=maybe,
        cpus=st.lists(
            st.builds(
                Cpu,
                CPUS,
                governor=maybe,
                max_khz=st.none() | st.integers(-9, 2**40),
                peak_khz=st.none() | st.integers(-9, 2**40),
                capacity=st.none() | st.integers(-9, 2**40),
                kind=maybe,
            ),
            max_size=3,
        ),
        caches=st.lists(
            st.builds(Cache, st.integers(1, 4), TEXT, COUNTS, st.just([0])), max_size=2
        ),
        memory_bytes=st.none() | COUNTS,
        kernel_release=maybe,
        kernel_version=maybe,
        preemption=st.sampled_from([None, "rt", "full", "none"]),
        high_resolution_timers=st.none() | st.booleans(),
        idle_states=st.lists(st.builds(IdleState, TEXT, st.none() | COUNTS), max_size=2),
        interrupts=st.lists(st.builds(Interrupt, CPUS, TEXT, TEXT), max_size=2),
    )


def explanations() -> st.SearchStrategy[Explanation]:
    """A timeline with any text in it, whose parts need not fit together."""
    stretches = st.none() | st.lists(st.builds(Stretch, SPANS_NS, SPANS_NS, TEXT), max_size=2)
    calls = st.lists(st.builds(Call, SPANS_NS, SPANS_NS, st.integers(0, 9), TEXT), max_size=4)
    return st.builds(
        Explanation,
        thread=st.integers(0, 3),
        time_ns=SPANS_NS,
        latency_ns=SPANS_NS,
        source=TEXT,
        cause=calls,
        calls=calls,
        functions=st.lists(st.builds(FunctionTime, TEXT, SPANS_NS), max_size=10),
        tasks=stretches,
        interrupts_off=stretches,
        preemption_off=stretches,
        notes=st.lists(TEXT, max_size=2),
        task=TEXT,
        before_ns=SPANS_NS,
        after_ns=SPANS_NS,
        tracks=st.lists(tracks(), max_size=2),
        ledger=st.lists(terms(), max_size=3),
    )


def tracks() -> st.SearchStrategy[CpuTrack]:
    """A CPU around a sample."""
    stretches = st.lists(st.builds(Stretch, SPANS_NS, SPANS_NS, TEXT), max_size=2)
    return st.builds(CpuTrack, st.integers(0, 99), stretches, stretches)


def terms() -> st.SearchStrategy[LedgerTerm]:
    """A term of a ledger, whose other party has any name."""
    remotes = st.none() | st.builds(Remote, TEXT, st.none() | st.integers(0, 99), TEXT)
    cpus = st.lists(st.integers(0, 99), max_size=2)
    kinds = st.sampled_from(get_args(TermKind))
    return st.builds(LedgerTerm, kinds, TEXT, SPANS_NS, cpus, TEXT, remotes)


@st.composite
def matrices(draw: st.DrawFn) -> Matrix:
    """A matrix whose labels may be those of CPUs, and whose figures need not fit together."""
    labels = st.lists(st.sampled_from(["CPU 0", "CPU 1", "CPU 2"]) | TEXT, max_size=3)
    rows, columns = draw(labels), draw(labels | st.just(["4096", "8192", "65536"]))
    line = st.lists(st.none() | st.floats(-1e9, 1e9), min_size=len(columns), max_size=len(columns))
    tables = st.lists(line, min_size=len(rows), max_size=len(rows))
    name = st.sampled_from(["awake", "message", "scalar", "L3", "speed", "latency", "read"]) | TEXT
    unit = st.sampled_from(["ratio", "ns", "bytes_per_s"]) | TEXT
    cells = st.lists(st.floats(-1e9, 1e9), max_size=20)
    repeats: st.SearchStrategy[list[list[list[float]]]] = st.lists(
        st.lists(cells, min_size=len(columns), max_size=len(columns)),
        min_size=len(rows),
        max_size=len(rows),
    ) | st.just([])
    return Matrix(
        draw(name),
        draw(unit),
        rows,
        columns,
        draw(tables),
        draw(tables),
        draw(tables),
        draw(repeats),
    )


@st.composite
def runs(draw: st.DrawFn, most_threads: int = 3, beyond: bool = True) -> Run:
    """A whole run; `beyond` allows samples beyond the end of the histograms."""
    count = draw(st.integers(0, most_threads))
    start = draw(st.datetimes(datetime(1970, 1, 2), datetime(2099, 1, 1)))
    return Run(
        id=draw(st.text("0123456789abcdef", min_size=16, max_size=16)),
        created=start.replace(tzinfo=UTC, microsecond=0).strftime("%Y-%m-%dT%H:%M:%SZ"),
        probe=draw(st.sampled_from(["cyclic", "oslat", "timerlat-irq", "topology", "memory"])),
        status=draw(
            st.sampled_from(["complete", "interrupted", "threshold", "watchdog", "failed"])
        ),
        load=draw(st.sampled_from(["idle", "mixed:2"]) | TEXT),
        machine=draw(machines()),
        threads=[draw(threads(number, beyond)) for number in range(count)],
        asked=draw(
            st.builds(
                Asked,
                command=st.lists(TEXT, max_size=3),
                interval_ns=st.none() | SPANS_NS,
                budget=st.lists(TEXT, max_size=2),
            )
        ),
        elapsed_ns=draw(st.none() | SPANS_NS),
        matrices=draw(st.lists(matrices(), max_size=4)),
        loads=draw(
            st.lists(
                st.builds(LoadWork, TEXT, work=st.dictionaries(TEXT, COUNTS, max_size=2)),
                max_size=2,
            )
        ),
        warnings=draw(st.lists(st.builds(RunWarning, TEXT, TEXT), max_size=2)),
        source=draw(st.sampled_from(["rtscope", "cyclictest"])),
        target=draw(TEXT),
        agent_version=draw(st.none() | TEXT),
        explanations=draw(st.lists(explanations(), max_size=2)),
    )
