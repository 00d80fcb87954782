# SPDX-License-Identifier: GPL-2.0-only
"""The agent's `threads` line: every thread of a machine as it is now (docs/protocol.md)."""

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
    """What a thread has done, in all or since the last look."""

    cpu_ns: Ns
    voluntary: Count | None = None
    """switches because it waited; None where the kernel does not tell"""
    forced: Count | None = None
    """switches although it would have run on"""


class SeenThread(msgspec.Struct, frozen=True):
    """One thread. What does not apply to its policy, or is not known, is None."""

    pid: Number
    tid: Number
    name: Name
    kernel: bool
    rank: Annotated[int, msgspec.Meta(ge=-102, le=41)]
    """who has a lower one preempts this: -102 stops the CPU, -101 is deadline, -1 - priority"""
    state: Annotated[str, msgspec.Meta(max_length=4)]
    """as ps writes it: R, S, D, I, ..."""
    cpu_ns: Ns
    policy: Annotated[str, msgspec.Meta(max_length=16)] | None = None
    """other, batch, idle, fifo, rr, deadline or ext"""
    priority: Annotated[int, msgspec.Meta(ge=1, le=99)] | None = None
    nice: Annotated[int, msgspec.Meta(ge=-20, le=19)] | None = None
    runtime_ns: Count | None = None
    deadline_ns: Count | None = None
    period_ns: Count | None = None
    inherited: bool = False
    """the rank is that of a thread that waits for a lock which this one has"""
    cpus: CpuList | None = None
    """those it may run on"""
    cpu: Annotated[int, msgspec.Meta(ge=0, lt=MOST_CPUS)] | None = None
    """the one it runs on, or ran on last"""
    isolated: bool = False
    """it sits on a CPU that is kept for real-time work"""
    wait_channel: Name | None = None
    wait_module: Name | None = None
    """the module in which a program's real-time thread sleeps, where root has looked"""
    irq: Number | None = None
    """the interrupt whose handler it runs"""
    softirq: Name | None = None
    """which soft interrupts it serves: all, timers, rcu or network"""
    voluntary: Count | None = None
    forced: Count | None = None
    since: ThreadTimes | None = None
    """since the last look; None in the first"""

    @property
    def realtime(self) -> bool:
        """Whether it has, or has inherited, a real-time policy."""
        return self.rank <= LOWEST_REALTIME_RANK

    @property
    def own_rank(self) -> int:
        """Its rank without what it has inherited, if it is of a real-time policy; else 0."""
        if not self.inherited:
            return min(self.rank, 0)
        if self.policy == "deadline":
            return RANK_DEADLINE
        return -1 - self.priority if self.priority else 0


class Threads(msgspec.Struct, frozen=True, tag_field="type", tag="threads"):
    """One `threads` line; `msgspec.json.decode(line, type=Threads)` reads it."""

    time_ns: Ns
    """since the agent began to look"""
    threads: Annotated[list[SeenThread], msgspec.Meta(max_length=4_194_304)]
    """who can preempt the others comes first"""
    since_ns: Ns | None = None
    """the time since the last look; None in the first"""
    realtime_kernel: bool = False
    """its kernel is one with PREEMPT_RT"""
    isolated: CpuList = ""
    """by isolcpus="""
    nohz_full: CpuList = ""
    partition: CpuList = ""
    """by cpusets that are isolated partitions"""
