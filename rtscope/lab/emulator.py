# SPDX-License-Identifier: GPL-2.0-only
"""One QEMU: its directory, its process, its time limits, and the reason of its end."""

import contextlib
import os
import re
import shutil
import signal
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import msgspec

from rtscope.lab.hostcpu import take_one_cpu
from rtscope.lab.lifetime import bound_to_parent
from rtscope.lab.machine import CONSOLE, PARALLEL, SAMPLES
from rtscope.model.errors import RtscopeError
from rtscope.target.bounds import Span
from rtscope.target.process import AgentProcess
from rtscope.target.protocol import AnyLine, End, Hello, Start

BOOT_LIMIT_S: Final = 300.0
_SLOWNESS: Final = 60
"""CPU seconds per second of virtual time at 1000 MIPS: 7 to 16 under load"""
_LEAST_SHARE: Final = 0.1
"""share of a CPU: an emulator that gets less for long counts as stuck"""
_NO_MORE_S: Final = 120.0
"""CPU time after which no more samples are expected"""
_POLL_S: Final = 0.2
_BLOCK_BYTES: Final = 4096
"""free bytes of a file system: below this a file cannot grow"""
_LONGEST_CONSOLE: Final = 64 * 1024
_MOST_SAMPLES: Final = 1 << 30
"""bytes: 35 million samples of about 30 bytes"""
_SHOWN_LINES: Final = 12
_CONTROL_C: Final = b"\x03"
_ESCAPES: Final = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]|[\x00-\x08\x0b-\x1f\x7f]")
_AGENT_SAID: Final = re.compile(r"^rtscope-agent.*$", re.MULTILINE)
_REFUSED_MODULE: Final = re.compile(r"cannot load the module \S*/(\w+)\.ko: ")
_HALTED: Final = "---[ end Kernel panic"
_PANIC: Final = re.compile(r"Kernel panic - not syncing: (.*)")
_BREAKPOINT: Final = re.compile(
    r"\bint3: 0000 (?:(?!\bCode:).)*\bCode:(?: [0-9a-f]{2})* ([0-9a-f]{2}) <", re.DOTALL
)
"""an x86 kernel that died of a breakpoint, and the byte in memory at that address"""
_INT3: Final = "cc"
STALE_CODE: Final = (
    "the emulator ran outdated code, a rare bug of QEMU before 8.1 with several CPUs: start it "
    "again"
)
_NANOSECONDS: Final = 1e9


class Emulator(AgentProcess):
    """QEMU with the agent inside; the agent's lines are QEMU's standard output."""

    def __init__(
        self,
        command: list[str],
        directory: Path,
        mips: float | None,
        limit_s: float,
        *,
        by_the_clock: bool = False,
    ) -> None:
        """Start `command` in `directory`; it must send hello within `limit_s` of its CPU time.
        `mips` is the rate of virtual time in exact mode. Raises RtscopeError if it cannot be
        started.
        """
        super().__init__(
            bound_to_parent(command, "KILL"), directory=directory, stdin=subprocess.PIPE
        )
        self._cpu = None if mips is None else take_one_cpu(self._process.pid)
        self._directory = directory
        self._mips = mips
        self._limit_s = self._ending_s = limit_s
        self._by_the_clock = by_the_clock
        self._parallel = PARALLEL in command
        self._begun_s = time.monotonic()
        self.hello = False
        self._said_all = False
        self._own_end = ""
        """why rtscope ended it"""

    def interrupt(self) -> None:
        """Ask the agent to end early, by a Control-C on its terminal. Before and after its lines
        the VM is killed.
        """
        self._interrupted = True
        if self._said_all or not self.hello:
            doing = "sending its samples" if self._said_all else "booting"
            self._own_end = f"interrupted while the guest was {doing}"
            self.kill()
            return
        stdin = self._process.stdin
        assert stdin is not None
        with contextlib.suppress(OSError, ValueError):
            stdin.write(_CONTROL_C)
            stdin.flush()

    def measuring_s(self, duration_s: float) -> float:
        """Limit of the emulator's CPU time in seconds for this much of the guest's time."""
        return duration_s * self._pace()

    def lines(self, silence_limit_s: float, span: Span = Span()) -> Iterator[AnyLine]:
        """Yield the agent's lines. Every wait is bounded: the boot, and the requested duration.
        The guest is silent while it measures, and slower than its own clock under load.
        """
        booted = msgspec.structs.replace(span, answer_s=self._limit_s + span.answer_s)
        for line in super().lines(self._limit_s, booted):
            match line:
                case Hello():
                    self.hello = True
                    self._silence_limit_s = min(self._limit_s, silence_limit_s)
                case Start():
                    spans = [line.duration_ns, line.samples * line.interval_ns]
                    asked_s = min((ns for ns in spans if ns), default=0) / _NANOSECONDS
                    self._silence_limit_s += asked_s * self._pace()
                case End():
                    self._said_all = True
            yield line

    def _pace(self) -> float:
        return _SLOWNESS * (self._mips or 1000.0) / 1000.0

    def spent_s(self) -> float:
        """Elapsed seconds for the time limits: CPU time, so that a busy host causes no timeout.
        If the emulator gets almost no CPU, for example because it is stopped, wall-clock time
        counts in part. With KVM only wall-clock time counts.
        """
        lasted_s = time.monotonic() - self._begun_s
        cpu_s = 0.0
        with contextlib.suppress(OSError):  # the process has ended
            cpu_s = time.clock_gettime(_cpu_clock(self._process.pid))
        return lasted_s if self._by_the_clock else max(cpu_s, lasted_s * _LEAST_SHARE)

    def samples(self) -> bytes:
        """The content of the agent's samples file, which is sent after the agent's last line.
        Bounded by the time without progress. Raises RtscopeError if it is incomplete.
        """
        path = self._directory / SAMPLES
        size, grown_s = 0, self.spent_s()
        while not self.has_ended(_POLL_S):
            if path.stat().st_size > _MOST_SAMPLES:
                self._own_end = (
                    f"the guest sent more than {_MOST_SAMPLES // 1024**2} MiB of samples"
                )
                self.kill()
            elif path.stat().st_size > size:
                size, grown_s = path.stat().st_size, self.spent_s()
            elif self._disk_is_full() or self.spent_s() > grown_s + _NO_MORE_S:
                self.kill()
        announced, _, data = path.read_bytes().partition(b"\n")
        if announced != str(len(data)).encode():
            raise RtscopeError(self._why_samples_are_missing())
        return data

    def _disk_is_full(self) -> bool:
        return shutil.disk_usage(self._directory).free < _BLOCK_BYTES

    def _why_samples_are_missing(self) -> str:
        if self._own_end:
            return self._own_end
        if self._disk_is_full():
            return (
                f"the guest's samples did not fit on the disk of {self._directory.parent}: free "
                "some space there, or set TMPDIR to another directory"
            )
        return f"the guest ended before it had sent all its samples{self._tail()}"

    def has_ended(self, wait_s: float = 0) -> bool:
        """Whether QEMU has ended by now or within `wait_s`."""
        try:
            self._process.wait(wait_s)
        except subprocess.TimeoutExpired:
            return False
        return True

    def close(self) -> None:
        """End QEMU; a guest that has sent its last line gets a moment to end by itself."""
        if not self.has_ended(5 if self.hello else 0):
            self._process.kill()
        super().close()
        if self._cpu:
            self._cpu.close()

    def is_beyond_hope(self) -> bool:
        """Whether the kernel has panicked and could not even reset the VM."""
        return _HALTED in self.console()

    def give_up_after(self, limit_s: float) -> None:
        """End a boot that exceeds its limit or cannot succeed; `spent_s` is its time. Raises
        RtscopeError then.
        """
        if self.is_beyond_hope():
            self.kill()
            raise RtscopeError(self.why_it_ended())
        if self.spent_s() > limit_s:
            self._silence_limit_s = limit_s
            self.kill()
            self._own_end = self.why_it_was_given_up()
            raise RtscopeError(self._own_end)

    def console(self) -> str:
        """The end of the console's output, without colours."""
        try:
            with (self._directory / CONSOLE).open("rb") as file:
                file.seek(max(0, file.seek(0, os.SEEK_END) - _LONGEST_CONSOLE))
                data = file.read(_LONGEST_CONSOLE)
        except OSError:
            return ""
        return _ESCAPES.sub("", data.decode(errors="replace"))

    def why_it_was_given_up(self) -> str:
        """The message for a guest that was silent for too long."""
        never = "the guest fell silent" if self.hello else "the guest never sent hello"
        limit = f"within {self._silence_limit_s:.0f} s"
        limit += "" if self._by_the_clock else " of the emulator's CPU time"
        return f"{never} {limit} and was ended{self._tail()}"

    def why_it_ended(self) -> str:
        """The message for a guest that ended before the agent's last line."""
        if self._own_end:
            return self._own_end
        ended = super().why_it_ended()
        console = self.console()
        if panic := panic_in(console, parallel=self._parallel):
            return f"the guest's kernel panicked: {panic}{self._tail()}"
        if said := self.agent_said():
            return said + _module_said(said, console) + _shell_said(said, console)
        if self._process.returncode == -signal.SIGKILL:
            return f"the guest was ended from outside{self._tail()}"
        if self._process.returncode:
            return f"QEMU could not run the guest: {ended}"
        return f"the guest ended before its last line{self._tail()}"

    def why(self, error: RtscopeError) -> str:
        """The message for a failed monitor: QEMU's end explains more than the error."""
        return self.why_it_ended() if self.has_ended(1) else str(error)

    def agent_said(self, after: int = 0) -> str:
        """The agent's first error `after` this position of the console; "" if there is none."""
        said = _AGENT_SAID.search(self.console(), after)
        return said[0] if said else ""

    def _tail(self) -> str:
        lines = [line.strip() for line in self.console().splitlines() if line.strip()]
        if not lines:
            return "; its console is empty"
        shown = "\n".join(f"    {line}" for line in lines[-_SHOWN_LINES:])
        return f"; the end of its console:\n{shown}"


def panic_in(console: str, *, parallel: bool = True) -> str:
    """Why the kernel panicked, according to its console; "" if it did not.

    A kernel changes its jump labels behind a breakpoint. QEMU before 8.1, whose CPUs are emulated
    in `parallel`, does not lock the page that it translates, so that a CPU can keep a breakpoint
    which another has taken away since: no memory holds it. R. Henderson's "accel/tcg: Always lock
    pages before translation" (July 2023) mended that.
    """
    found = _PANIC.search(console)
    if not found:
        return ""
    breakpoint = _BREAKPOINT.search(console)
    stale = parallel and breakpoint is not None and breakpoint[1] != _INT3
    return f"{found[1].strip()} ({STALE_CODE})" if stale else found[1].strip()


def _module_said(said: str, console: str) -> str:
    """The kernel's log messages about a module that the agent could not load; "" if there are
    none.
    """
    refused = _REFUSED_MODULE.search(said)
    if not refused:
        return ""
    said_by_it = re.compile(rf"^(?:\[[^\]\n]*\] )?({refused[1]}: (?!loading).*?)\s*$", re.MULTILINE)
    lines = said_by_it.findall(console)
    return f": {lines[-1]}" if lines else ""


def _shell_said(said: str, console: str) -> str:
    """The shell's message about a command of the user's that failed; "" if there is none."""
    before = console.partition(said)[0].splitlines()
    last = before[-1].strip() if before else ""
    return f": {last}" if " ended with status " in said and last.startswith("sh: ") else ""


def _cpu_clock(pid: int) -> int:
    """The CPU-time clock of a process, as in clock_getcpuclockid(3)."""
    return (~pid << 3) | 2
