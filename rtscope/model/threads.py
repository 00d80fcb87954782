# SPDX-License-Identifier: GPL-2.0-only
"""The agent's `threads` line: the state of each thread (docs/reference/protocol.md)."""

from typing import Annotated, Final

import msgspec

from rtscope.model.cpulist import MOST_CPUS
from rtscope.model.progress import Count, Ns

RANK_DEADLINE: Final = -101
"""ranks above it are those of threads that stop a CPU for the kernel"""
LOWEST_REALTIME_RANK: Final = -2
"""fifo or rr, priority 1; in general -1 - priority"""

Number = Annotated[int, msgspec.Meta(ge=0, le=2**31 - 1)]
Name = Annotated[str, msgspec.Meta(max_length=256)]
CpuList = Annotated[str, msgspec.Meta(max_length=64 * 1024)]


class ThreadTimes(msgspec.Struct, frozen=True):
    """CPU time and context switches of a thread, in total or since the previous reading."""

    cpu_ns: Ns
    voluntary: Count | None = None
    """switches because it waited; None if the kernel does not report them"""
    forced: Count | None = None
    """switches while it could have continued"""


class SeenThread(msgspec.Struct, frozen=True):
    """One thread. A field that does not apply to its policy, or is unknown, is None."""

    pid: Number
    tid: Number
    name: Name
    kernel: bool
    rank: Annotated[int, msgspec.Meta(ge=-102, le=41)]
    """a thread of a lower rank preempts it: -102 stops the CPU, -101 is deadline, -1 - priority"""
    state: Annotated[str, msgspec.Meta(max_length=4)]
    """as in ps: R, S, D, I, ..."""
    cpu_ns: Ns
    policy: Annotated[str, msgspec.Meta(max_length=16)] | None = None
    """other, batch, idle, fifo, rr, deadline or ext"""
    priority: Annotated[int, msgspec.Meta(ge=1, le=99)] | None = None
    nice: Annotated[int, msgspec.Meta(ge=-20, le=19)] | None = None
    runtime_ns: Count | None = None
    deadline_ns: Count | None = None
    period_ns: Count | None = None
    inherited: bool = False
    """the rank is inherited from a thread that waits for a lock held by this one"""
    cpus: CpuList | None = None
    """CPUs that it may run on"""
    cpu: Annotated[int, msgspec.Meta(ge=0, lt=MOST_CPUS)] | None = None
    """CPU that it runs on, or ran on last"""
    isolated: bool = False
    """its CPU is isolated for real-time work"""
    wait_channel: Name | None = None
    wait_module: Name | None = None
    """module in which a program's real-time thread sleeps; needs root"""
    irq: Number | None = None
    """the interrupt whose handler it runs"""
    softirq: Name | None = None
    """soft interrupts that it serves: all, timers, rcu or network"""
    voluntary: Count | None = None
    forced: Count | None = None
    since: ThreadTimes | None = None
    """since the previous reading; None in the first"""

    @property
    def realtime(self) -> bool:
        """Whether it has, or has inherited, a real-time policy."""
        return self.rank <= LOWEST_REALTIME_RANK

    @property
    def own_rank(self) -> int:
        """Its rank without inheritance, if its own policy is a real-time policy; else 0."""
        if not self.inherited:
            return min(self.rank, 0)
        if self.policy == "deadline":
            return RANK_DEADLINE
        return -1 - self.priority if self.priority else 0


class Threads(msgspec.Struct, frozen=True, tag_field="type", tag="threads"):
    """One `threads` line; `msgspec.json.decode(line, type=Threads)` reads it."""

    time_ns: Ns
    """since the agent started reading"""
    threads: Annotated[list[SeenThread], msgspec.Meta(max_length=4_194_304)]
    """in order of preemption: a thread precedes those that it can preempt"""
    since_ns: Ns | None = None
    """time since the previous reading; None in the first"""
    realtime_kernel: bool = False
    """the kernel has PREEMPT_RT"""
    isolated: CpuList = ""
    """by isolcpus="""
    nohz_full: CpuList = ""
    partition: CpuList = ""
    """by cpusets that are isolated partitions"""
