# SPDX-License-Identifier: GPL-2.0-only
"""The state of a target for the rules: the files that the agent read there.

Every accessor raises NotSeen if the requested content is absent or garbled, so that a rule never
treats missing information as a correct setting.
"""

import re
from functools import cached_property
from typing import Final

import msgspec

from rtscope.audit.commandline import Parameter, parameters_of, value_of
from rtscope.audit.cpusets import isolated_by_cpusets
from rtscope.model.machine import Machine, Throttling
from rtscope.target.fingerprint import machine_of
from rtscope.target.fingerprint.files import (
    Files,
    config_of,
    cpu_list_of,
    line_of,
    number_of,
    text_of,
)

CPU: Final = "/sys/devices/system/cpu/"
_TASK: Final = re.compile(r"/proc/[0-9]{1,10}/task/([0-9]{1,10})/stat")
_STAT: Final = re.compile(r"\d+ \((.*)\) (\S(?: -?\d{1,20}){38,})\s*", re.DOTALL | re.ASCII)
_KERNEL_THREAD: Final = 0x00200000
_BOUND: Final = 0x04000000
_MASK: Final = re.compile(r"[0-9a-f]{1,8}(,[0-9a-f]{8}){0,255}")


class NotSeen(Exception):  # noqa: N818 - an answer, not an error
    """The reason why something could not be read, in words."""


class Task(msgspec.Struct, frozen=True):
    """A thread, from /proc/PID/task/TID/stat (proc_pid_stat(5))."""

    tid: int
    name: str
    kernel: bool
    bound: bool
    """the kernel does not allow moving it to other CPUs"""
    cpu: int
    """the CPU on which it ran last"""
    priority: int
    """1 to 99 for the real-time policies"""
    policy: int
    """numbered as in sched(7): 1 fifo, 2 round robin"""

    @property
    def real_time(self) -> bool:
        """Whether it runs with fifo or round robin."""
        return self.policy in (1, 2)


class State:
    """The readable state of a target."""

    def __init__(self, files: Files) -> None:
        """Make a state of these files; `files` maps the path of each to its content."""
        self.files = files

    @cached_property
    def machine(self) -> Machine:
        """The fingerprint."""
        return machine_of(self.files)

    @property
    def throttling(self) -> Throttling:
        """The mechanisms that stop real-time threads, as the agent found them."""
        found = self.machine.throttling
        if found is None:
            raise NotSeen("the agent does not report what stops real-time threads")
        return found

    def text(self, *paths: str) -> str:
        """The content of the first of these files that exists."""
        path = next((path for path in paths if path in self.files), None)
        if path is None:
            raise NotSeen(f"{' or '.join(paths)} does not exist or is not readable")
        return text_of(self.files, path)

    def line(self, *paths: str) -> str:
        """The content of the first of these files, on one line; may be empty."""
        self.text(*paths)
        path = next(path for path in paths if path in self.files)
        return line_of(self.files, path) or ""

    def number(self, path: str) -> int:
        """The number in a file."""
        self.text(path)
        number = number_of(self.files, path)
        if number is None:
            raise NotSeen(f"{path} contains no number")
        return number

    def cpus(self, path: str) -> set[int]:
        """The CPU list in a file."""
        self.text(path)
        cpus = cpu_list_of(self.files, path)
        if cpus is None:
            raise NotSeen(f"{path} contains no CPU list")
        return set(cpus)

    def mask(self, path: str) -> set[int]:
        """The CPU mask in a file, in the format of smp_affinity: groups of 32 CPUs, last first."""
        text = self.text(path).strip()
        if not _MASK.fullmatch(text):
            raise NotSeen(f"{path} contains no CPU mask")
        bits = int(text.replace(",", ""), 16)
        return {cpu for cpu in range(bits.bit_length()) if bits >> cpu & 1}

    @cached_property
    def config(self) -> dict[str, str]:
        """The kernel's configuration: {"CONFIG_HZ": "250"}."""
        config = config_of(self.files)
        if not config:
            raise NotSeen(
                "the kernel's configuration is neither in /proc/config.gz nor in "
                "/boot/config-RELEASE"
            )
        return config

    def built(self, option: str) -> bool:
        """Whether the kernel has an option, built in or as a module."""
        return self.config.get(option) in ("y", "m")

    def offers(self, path: str, option: str) -> bool:
        """Whether there is something to check: false if the kernel was built without it."""
        try:
            return path in self.files or self.built(option)
        except NotSeen:
            return True  # reading the file then raises NotSeen with the reason

    @cached_property
    def parameters(self) -> list[Parameter]:
        """The boot parameters."""
        return parameters_of(self.text("/proc/cmdline")[:16384])

    def parameter(self, name: str) -> str | None:
        """The last value of a boot parameter; empty if it has none, None if it is absent."""
        return value_of(self.parameters, name)

    @cached_property
    def present(self) -> set[int]:
        """The CPUs that the kernel may have."""
        return self.cpus(CPU + "possible")

    @cached_property
    def isolated_at_boot(self) -> set[int]:
        """The CPUs isolated by isolcpus=."""
        return self.cpus(CPU + "isolated")

    @cached_property
    def isolated(self) -> set[int]:
        """The CPUs isolated at boot or by control groups."""
        return self.isolated_at_boot | isolated_by_cpusets(self.files)

    @cached_property
    def nohz_full(self) -> set[int]:
        """The CPUs that stop the tick while they run one thread."""
        path = CPU + "nohz_full"
        if not self.offers(path, "CONFIG_NO_HZ_FULL") or self.line(path) == "(null)":
            return set()
        return self.cpus(path)

    @cached_property
    def tasks(self) -> list[Task]:
        """Every thread, in the order of the files."""
        found = []
        for path in self.files:
            match = _TASK.fullmatch(path)
            task = _task(int(match[1]), text_of(self.files, path)) if match else None
            if task:
                found.append(task)
        if not found:
            raise NotSeen("no thread's /proc/PID/task/TID/stat could be read")
        return found


def _task(tid: int, text: str) -> Task | None:
    match = _STAT.fullmatch(text)
    if not match:
        return None
    fields = match[2].split()
    flags = int(fields[6])
    return Task(
        tid=tid,
        name=" ".join("".join(c if c.isprintable() else " " for c in match[1][:64]).split()),
        kernel=bool(flags & _KERNEL_THREAD),
        bound=bool(flags & _BOUND),
        cpu=int(fields[36]),
        priority=int(fields[37]),
        policy=int(fields[38]),
    )


def release_at_least(state: State, major: int, minor: int) -> bool:
    """Whether the kernel's release is this or a later one. Raises NotSeen."""
    match = re.match(r"([0-9]{1,4})\.([0-9]{1,4})", state.machine.kernel_release or "")
    if not match:
        raise NotSeen("the kernel's release is not known")
    return (int(match[1]), int(match[2])) >= (major, minor)
