# SPDX-License-Identifier: GPL-2.0-only
"""A machine of the lab that is booted to be looked at, and what is so with each of its kernels."""

from typing import Final, Literal

import msgspec

Told = dict[str, str]
"""By rule: a part of what it says."""


class Look(msgspec.Struct, frozen=True):
    """The machine after some more of its script."""

    name: str
    script: str = ""
    """of busybox's shell, with the functions of scripted.py"""
    adds: Told = {}
    """to the findings of the look before, or says more of one"""
    ends: frozenset[str] = frozenset()
    """of those"""
    blind: frozenset[str] = frozenset()
    """rules that cannot look, beside those of the machine"""
    seen_by: Literal["", "as_user"] = ""


class Booted(msgspec.Struct, frozen=True):
    """A machine, and the looks at it in their order."""

    name: str
    kernel: str
    """the fixture, or the name of one that the lab builds"""
    options: str
    """of the kernel's command line"""
    looks: list[Look]
    machine: str = "mode=fast,cpus=4"
    hardware: str = ""
    """the emulator's options in place of the board's own"""
    ring: Literal["check", "kernels", "long"] = "check"
    scripted: bool = True
    """else there is one look, as rtscope check takes it"""
    blind: frozenset[str] = frozenset({"power-governor", "power-turbo", "firmware-smi"})
    """rules that cannot look there"""
    may: frozenset[str] = frozenset()
    """rules of which the kernel decides each time anew whether they find something"""


TRACEFS: Final = frozenset({"tracing-tracer", "tracing-events", "tracing-probes"})
"""what root alone may read"""
EMULATED: Final[Told] = {"virtual-machine": "QEMU", "clock-tsc-stops": "no constant_tsc"}
"""What is wrong with each emulated PC."""
BOOTED: Final[Told] = {
    "timers-lockup-detector": "is on",
    "timers-machine-checks": "every 300 s",
    "memory-statistics": "every 1 s",
    "memory-compacts-ahead": "20 %",
    "power-mitigations": "against spectre_v2",
    "kernel-no-hz": "CONFIG_NO_HZ_FULL=y",
    "kernel-default-governor": "the default is schedutil",
}
"""What is so with Debian's kernels unless they are booted otherwise, or somebody changes it."""
DEBIAN: Final[Told] = {
    "kernel-other-governors": "ondemand",
    "kernel-drm": "CONFIG_DRM=m",
}
"""What is so with each of Debian's kernels."""
REAL_TIME: Final[Told] = {
    "clock-slow-source": "hpet",
    "sched-fair-server": "50ms of each 1s",
    "irq-equal-priorities": "have priority 50",
}
STANDARD: Final[Told] = {
    "kernel-preempt-rt": "preemption model voluntary",
    "irq-not-threaded": "interrupts disabled",
    "memory-compacts-locked": "may be moved",
}
LAB: Final[Told] = {
    "kernel-cpu-freq": "CONFIG_CPU_FREQ is not set",
    "kernel-irqsoff-tracer": "CONFIG_IRQSOFF_TRACER=y",
    "kernel-preempt-tracer": "CONFIG_PREEMPT_TRACER=y",
    "sched-fair-server": "CPUs 0: 50ms",
    "irq-equal-priorities": "have priority 50",
}
"""What is so with the lab's own real-time kernels."""
