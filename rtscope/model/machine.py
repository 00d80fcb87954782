# SPDX-License-Identifier: GPL-2.0-only
"""The fingerprint of the system under test. A field that could not be read is None."""

from typing import Annotated, Literal

import msgspec

from rtscope.model.progress import Ns
from rtscope.model.units import format_duration_ns


class Cache(msgspec.Struct, frozen=True):
    """One cache and the CPUs that share it."""

    level: int
    kind: str
    """data, instruction or unified"""
    size_bytes: int
    shared_by: list[int]


class Cpu(msgspec.Struct, frozen=True):
    """One logical CPU as the kernel describes it."""

    number: int
    online: bool = True
    isolated: bool = False
    core: int | None = None
    package: int | None = None
    smt_siblings: list[int] = []
    """logical CPUs of the same core, this one included"""
    cluster: list[int] = []
    """logical CPUs of the same cluster, this one included; empty if the kernel reports none"""
    node: int | None = None
    """NUMA node"""
    governor: str | None = None
    driver: str | None = None
    min_khz: int | None = None
    max_khz: int | None = None
    peak_khz: int | None = None
    """highest frequency of the hardware; max_khz may be limited below it"""
    capacity: int | None = None
    """work per time at that frequency, 1024 for the system's fastest CPU; from the device tree"""
    kind: str | None = None
    """kind of core on systems with several: core or atom of a hybrid x86, Cortex-A53, ..."""


class IdleState(msgspec.Struct, frozen=True):
    """One idle state of cpu0."""

    name: str
    exit_latency_us: int | None = None
    disabled: bool = False


class Interrupt(msgspec.Struct, frozen=True):
    """One interrupt and the CPUs that may handle it."""

    number: int
    name: str
    affinity: str
    """CPU list, as in smp_affinity_list"""


class Share(msgspec.Struct, frozen=True):
    """The share of a mechanism on some CPUs: `runtime_ns` of each `period_ns`."""

    cpus: Annotated[str, msgspec.Meta(max_length=4096)]
    """CPU list"""
    runtime_ns: Ns
    period_ns: Ns

    def __str__(self) -> str:
        """CPUs 0-3: 50ms of each 1s."""
        times = (format_duration_ns(ns) for ns in (self.runtime_ns, self.period_ns))
        return f"CPUs {self.cpus}: {' of each '.join(times)}"


class Throttle(msgspec.Struct, frozen=True):
    """The state of one mechanism that stops real-time threads."""

    state: Literal["unknown", "none", "off", "idle", "on"]
    """none: the kernel lacks it; idle: nothing uses it"""
    why: Annotated[str, msgspec.Meta(max_length=256)]
    """the evidence; how to find out if the state is unknown"""
    shares: Annotated[list[Share], msgspec.Meta(max_length=1024)] = []
    """one for all CPUs with the same setting"""


class Throttling(msgspec.Struct, frozen=True):
    """Mechanisms that stop a real-time thread although no thread has a higher priority."""

    realtime: Throttle
    """real-time throttling, whose share is that of real-time threads"""
    fair_server: Throttle
    """gives its share to ordinary threads that wait"""
    ext_server: Throttle
    """gives its share to threads of a BPF scheduler that wait"""


class Machine(msgspec.Struct, frozen=True):
    """Fingerprint of the system under test."""

    hostname: str | None = None
    architecture: str | None = None
    cpu_model: str | None = None
    board: str | None = None
    """device-tree model or DMI product"""
    cpus: list[Cpu] = []
    caches: list[Cache] = []
    memory_bytes: int | None = None
    kernel_release: str | None = None
    kernel_version: str | None = None
    command_line: str | None = None
    preemption: str | None = None
    """rt, lazy, full, voluntary, none; None if unknown"""
    preemption_evidence: str | None = None
    """the source of that, in words"""
    hz: int | None = None
    clock_source: str | None = None
    clock_sources: list[str] = []
    high_resolution_timers: bool | None = None
    idle_driver: str | None = None
    idle_states: list[IdleState] = []
    rt_runtime_us: int | None = None
    """the sysctl, of each rt_period_us; it throttles only if `throttling` reports that"""
    rt_period_us: int | None = None
    throttling: Throttling | None = None
    """None if the agent does not report it"""
    microcode: str | None = None
    virtualisation: str | None = None
    """name of the hypervisor; "none" if none is detected; None if unknown"""
    interrupts: list[Interrupt] = []

    @property
    def is_virtual(self) -> bool:
        """Whether a hypervisor was detected."""
        return self.virtualisation not in (None, "none")
