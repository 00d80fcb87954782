# SPDX-License-Identifier: GPL-2.0-only
"""Findings about placement series: where threads should run, and which loads slow them."""

import msgspec

from rtscope.model.finding import Finding


class Times(msgspec.Struct, frozen=True):
    """A ratio of times with its 95 % limits; None where one round gives none."""

    value: float
    low: float | None = None
    high: float | None = None


class Threads(msgspec.Struct, frozen=True):
    """Threads on CPUs."""

    count: int
    cpus: list[int]
    jitter: float | None = None
    """99th percentile over median, minus 1; None for too few samples"""


class Serial(msgspec.Struct, frozen=True):
    """Numbers of threads of a program that did not run at the same time."""

    counts: list[int]
    busy_cpus: float
    one_busy_cpus: float
    """CPUs that one thread used"""


class Largest(msgspec.Struct, frozen=True):
    """The largest number of threads, compared with the best one."""

    threads: Threads
    speedup: Times
    slowdown: Times
    is_slower: bool


class Elsewhere(msgspec.Struct, frozen=True):
    """The same number of threads on other CPUs."""

    slowest: Threads | None = None
    slowdown: Times | None = None
    """of the slowest"""
    as_fast: list[Threads] = []
    """without evidence that they are slower"""


class BestPlacement(Finding, frozen=True, kw_only=True):
    """The fewest threads, and their CPUs, that are as fast as the fastest, to 5 %."""

    workload: str
    best: Threads
    speedup: Times | None = None
    """relative to one thread; None where one thread is best"""
    several: Times | None = None
    """speedup of the fastest placement of several threads, where one thread is best"""
    several_not_faster: bool = False
    """proven; otherwise there is no evidence that they are faster"""
    serial: Serial | None = None
    largest: Largest | None = None
    elsewhere: Elsewhere = Elsewhere()
    as_fast_counts: list[int] = msgspec.field(default_factory=list)
    """other numbers of threads without evidence that they differ"""
    fast_cpus: list[int] = msgspec.field(default_factory=list)
    """CPUs of the best placement that are not slower, where some CPUs of the system are"""
    slow_cpus: list[int] = msgspec.field(default_factory=list)


class PlacementUndecided(Finding, frozen=True, kw_only=True):
    """The rounds do not decide how many threads to use."""

    workload: str
    threads: Threads | None
    """that seem fastest; None where one thread seems as fast"""
    speedup: Times
    rounds: int


class OnlyPlacement(Finding, frozen=True, kw_only=True):
    """Only one placement was measured."""

    workload: str
    threads: Threads


class NoSingleThread(Finding, frozen=True, kw_only=True):
    """One thread alone was not measured, so nothing can be compared."""

    workload: str


class NearCpusSlower(Finding, frozen=True, kw_only=True):
    """Two threads are slower on CPUs that are close to each other."""

    workload: str
    near: list[int]
    near_share: str
    far: list[int]
    far_share: str
    slowdown: Times


class VectorUnitShared(Finding, frozen=True, kw_only=True):
    """A second thread brings less in vector code than in scalar code."""

    cpus: list[int]
    vector_speedup: Times
    scalar_speedup: Times


class ThreadsTakeTurns(Finding, frozen=True, kw_only=True):
    """Several threads are hardly faster than fewer."""

    workload: str
    threads: Threads
    speedup: Times
    than: int = 1
    """number of threads that they are compared with"""


class LawFails(Finding, frozen=True, kw_only=True):
    """Amdahl's law describes a workload only up to a number of threads."""

    workload: str
    order: str
    up_to: int
    beyond: int
    excess: float
    """time beyond the law's, as a share of it"""
    slow_cpus: list[int]
    """CPUs that were added and are slower by themselves"""


class SlowCpus(Finding, frozen=True, kw_only=True):
    """One thread takes longer on some CPUs than on others."""

    workload: str
    slow: list[int]
    fast: list[int]
    slowdown: Times
    """of the slowest"""
    is_one_value: bool


class Interference(Finding, frozen=True, kw_only=True):
    """A load on other CPUs changes the time of a workload."""

    workload: str
    load: str
    load_cpus: list[int]
    slowdown: Times


class NoInterference(Finding, frozen=True, kw_only=True):
    """Loads without evidence that they slow a workload by 5 % or more."""

    workload: str
    loads: list[str]


class InterferenceUndecided(Finding, frozen=True, kw_only=True):
    """Loads for which the rounds do not decide."""

    workload: str
    loads: list[str]
    at_most: float | None
    """highest upper limit of the slowdown"""
    rounds: int


class NoBaseline(Finding, frozen=True, kw_only=True):
    """A workload was not measured without a load."""

    workload: str
