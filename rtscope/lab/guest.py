# SPDX-License-Identifier: GPL-2.0-only
"""The agent in a VM, which is booted or restored when its lines are read."""

import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import msgspec

from rtscope.lab.boot import Boot, machine_files_written, resume
from rtscope.lab.emulator import STALE_CODE, Emulator
from rtscope.lab.snapshot import snapshot_of
from rtscope.model.description import Description
from rtscope.model.errors import BootError, RtscopeError
from rtscope.model.run import Lab
from rtscope.store.files import write_file
from rtscope.target.bounds import Span
from rtscope.target.protocol import AgentWarning, AnyLine, End, Hello, Start, check_description

_SAMPLES_WARNING: Final = "samples-file-"
SAMPLES_LOST: Final = f"{_SAMPLES_WARNING}failed"
"""the code of a warning, the same as the agent's"""

_LAST_WORDS_S: Final = 10.0
_MOST_BOOTS: Final = 3
"""boots of a VM whose emulator makes its kernel panic before the agent runs"""


class Guest:
    """An agent whose VM lives until `close`. Its lines are read once."""

    def __init__(
        self,
        boot: Boot,
        limit_s: float,
        unseen: list[str],
        samples_file: Path | None,
        described: Description | None = None,
    ) -> None:
        """`limit_s` bounds the emulator's CPU time during the boot; `unseen` are more QEMU
        options, which the guest cannot detect; `samples_file` receives the agent's samples;
        `described` is the description that the agent's arguments were made for.
        """
        self._boot = boot
        self._unseen = unseen
        self._limit_s = limit_s
        self._samples_file = samples_file
        self._described = described
        self._directory = _folder()
        self._boots = 1
        self._emulator: Emulator | None = None
        self._interrupted = False
        self._lab = boot.lab
        self._boot_console = ""

    def interrupt(self) -> None:
        """Ask the agent to end early; during the boot, kill the VM."""
        self._interrupted = True
        if self._emulator:
            self._emulator.interrupt()

    def kill(self) -> None:
        """End the VM at once."""
        self._interrupted = True
        if self._emulator:
            self._emulator.kill()

    def lines(self, silence_limit_s: float, span: Span = Span()) -> Iterator[AnyLine]:
        """Yield the agent's lines, hello first, end last; bounded. Raises RtscopeError.

        Missing samples are a warning before the end; the run has the rest. A guest that the
        emulator ends before sampling begins is started again; until then its lines are held.
        """
        with machine_files_written():
            emulator = self._start()
        held: list[AnyLine] = []
        begun = False
        try:
            for line in emulator.lines(silence_limit_s, span):
                if isinstance(line, Hello):
                    check_description(line, self._described)
                if isinstance(line, End):
                    yield from self._keep_samples(emulator)
                if self._is_about_unwanted_samples(line):
                    continue
                held.append(line)
                if begun := begun or isinstance(line, Start | End):
                    yield from held
                    held.clear()
        except RtscopeError as error:
            booting = not (emulator.hello or self._interrupted)
            repeatable = not (begun or self._interrupted) and self._boots < _MOST_BOOTS
            if repeatable and STALE_CODE in str(error):
                self._boots += 1
                self.close()
                self._directory = _folder()
                yield from self.lines(silence_limit_s, span)
                return
            yield from held
            if booting and self._lab.mode == "kvm":
                raise BootError(
                    f"mode=kvm does not work on this computer, use mode=fast: {error}"
                ) from None
            if booting and not emulator.agent_said():
                raise BootError(str(error)) from None
            raise

    def lab(self) -> Lab:
        """The emulation parameters with the console; the kernel's warnings come last."""
        console = self._boot_console
        if self._emulator:
            self._emulator.has_ended(_LAST_WORDS_S)
            console += self._emulator.console()
        return msgspec.structs.replace(self._lab, console=console)

    def close(self) -> None:
        """End the VM and remove its directory."""
        if self._emulator:
            self._emulator.close()
        self._directory.cleanup()

    def _is_about_unwanted_samples(self, line: AnyLine) -> bool:
        about = isinstance(line, AgentWarning) and line.code.startswith(_SAMPLES_WARNING)
        return about and self._samples_file is None

    def _keep_samples(self, emulator: Emulator) -> Iterator[AgentWarning]:
        if self._samples_file is None:
            return
        try:
            write_file(emulator.samples(), self._samples_file, "the samples file", overwrite=True)
        except RtscopeError as error:
            yield AgentWarning(SAMPLES_LOST, str(error))

    def _start(self) -> Emulator:
        directory = Path(self._directory.name)
        if self._boot.arguments is None:
            self._watch(self._boot.started(directory, self._limit_s, self._unseen))
        else:
            snapshot = snapshot_of(self._boot, self._watch, self._limit_s)
            self._boot_console = snapshot.console
            self._lab = self._boot.restored_lab()
            self._watch(self._boot.restored(snapshot.file, directory, self._limit_s, self._unseen))
            assert self._emulator is not None
            resume(self._emulator, directory)
        assert self._emulator is not None
        return self._emulator

    def _watch(self, emulator: Emulator | None) -> None:
        """Register the emulator that a signal ends; the previous one has ended."""
        self._emulator = emulator or self._emulator
        if self._interrupted:
            if self._emulator:
                self._emulator.interrupt()
            raise RtscopeError("interrupted while the guest was booting")


def _folder() -> tempfile.TemporaryDirectory[str]:
    """A directory for one VM. Raises RtscopeError."""
    with machine_files_written():
        return tempfile.TemporaryDirectory(prefix="rtscope-vm-")
