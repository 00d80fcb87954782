"""One boot of an emulated machine, from its agent's first line to the end of QEMU."""

import contextlib
import re
import shutil
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import msgspec

from rtscope.lab.machine import CONSOLE, SAMPLES
from rtscope.model.errors import RtscopeError
from rtscope.model.run import Lab
from rtscope.target.process import AgentProcess
from rtscope.target.protocol import AnyLine, Hello, Start

BOOT_LIMIT_S: Final = 300.0
_SLOWNESS: Final = 60
"""host seconds that one second of virtual time may take at 1000 MIPS: under load it is 7 on a quiet
host"""
_END_S: Final = 120.0
_LONGEST_CONSOLE: Final = 64 * 1024
_SHOWN_LINES: Final = 12
_CONTROL_C: Final = b"\x03"
_ESCAPES: Final = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]|[\x00-\x08\x0b-\x1f\x7f]")
_AGENT_SAID: Final = re.compile(r"^rtscope-agent.*$", re.MULTILINE)
_PANIC: Final = re.compile(r"Kernel panic - not syncing: (.*)")


class Guest(AgentProcess):
    """QEMU with the agent inside, whose lines are QEMU's standard output."""

    def __init__(self, command: list[str], directory: Path, lab: Lab, boot_limit_s: float) -> None:
        """Start `command` in `directory`. Raises RtscopeError where it cannot be started."""
        # However rtscope itself ends, QEMU ends too.
        keeper = ["setpriv", "--pdeathsig=KILL", "--"] if shutil.which("setpriv") else []
        super().__init__([*keeper, *command], directory=directory, stdin=subprocess.PIPE)
        self._directory = directory
        self._lab = lab
        self._boot_limit_s = boot_limit_s
        self._hello = False
        self._interrupted = False

    def interrupt(self) -> None:
        """Ask the agent to end early, by a Control-C on its terminal; a boot is just ended."""
        if not self._hello:
            self._interrupted = True
            self.kill()
            return
        stdin = self._process.stdin
        assert stdin is not None
        with contextlib.suppress(OSError, ValueError):
            stdin.write(_CONTROL_C)
            stdin.flush()

    def lines(self, silence_limit_s: float) -> Iterator[AnyLine]:
        """Yield the agent's lines. Every wait is bounded: the boot's, and what was asked for.

        The guest is silent while it measures, and slower than its own clock under load.
        """
        pace = _SLOWNESS * (self._lab.mips or 1000.0) / 1000.0
        for line in super().lines(self._boot_limit_s):
            match line:
                case Hello():
                    self._hello = True
                    self._silence_limit_s = self._boot_limit_s + silence_limit_s * pace
                case Start():
                    spans = [line.duration_ns, line.samples * line.interval_ns]
                    asked_s = min((ns for ns in spans if ns), default=0) / 1e9
                    self._silence_limit_s += asked_s * pace
            yield line

    def samples(self) -> bytes:
        """What the agent wrote to its samples file, once the machine has ended by itself."""
        try:
            self._process.wait(_END_S + self._silence_limit_s)
        except subprocess.TimeoutExpired:
            self.kill()
            raise RtscopeError(f"the guest did not end after its last line{self._tail()}") from None
        return (self._directory / SAMPLES).read_bytes()

    def close(self) -> None:
        """End QEMU; a guest that has said its last line gets a moment to end by itself."""
        try:
            self._process.wait(5 if self._hello else 0)
        except subprocess.TimeoutExpired:
            self._process.kill()
        super().close()

    def lab(self) -> Lab:
        """How this machine is emulated, with its console so far."""
        return msgspec.structs.replace(self._lab, console=self._console())

    def why_it_was_given_up(self) -> str:
        """A sentence for a guest that said nothing for too long."""
        never = "the guest never said hello" if not self._hello else "the guest fell silent"
        return f"{never} within {self._silence_limit_s:.0f} s and was ended{self._tail()}"

    def why_it_ended(self) -> str:
        """A sentence for a guest that ended before the agent's last line."""
        if self._interrupted:
            return "interrupted while the guest was booting"
        console = self._console()
        if panic := _PANIC.search(console):
            return f"the guest's kernel panicked: {panic[1].strip()}{self._tail()}"
        if said := _AGENT_SAID.findall(console):
            return str(said[0])
        ended = super().why_it_ended()
        if self._process.returncode == -signal.SIGKILL:
            return f"the guest was ended from outside{self._tail()}"
        if self._process.returncode:
            return f"QEMU could not run the guest: {ended}"
        return f"the guest ended before it said all it had to say{self._tail()}"

    def _console(self) -> str:
        try:
            data = (self._directory / CONSOLE).read_bytes()
        except OSError:
            return ""
        return _ESCAPES.sub("", data[-_LONGEST_CONSOLE:].decode(errors="replace"))

    def _tail(self) -> str:
        lines = [line.strip() for line in self._console().splitlines() if line.strip()]
        if not lines:
            return "; its console is empty"
        shown = "\n".join(f"    {line}" for line in lines[-_SHOWN_LINES:])
        return f"; the last of its console:\n{shown}"
