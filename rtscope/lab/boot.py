# SPDX-License-Identifier: GPL-2.0-only
"""What an emulated machine is started from, and its start: at the beginning, or from a snapshot."""

import hashlib
import os
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import msgspec

from rtscope.lab.emulator import Emulator
from rtscope.lab.machine import ARGUMENTS, INITRAMFS, KERNEL, MONITOR, SNAPSHOT
from rtscope.lab.monitor import Monitor
from rtscope.model.errors import RtscopeError
from rtscope.model.run import Lab

ARGUMENTS_SIZE: Final = 4096
"""of what brings a restored machine its arguments: it knows the size from its boot"""
_RESTORE: Final = [
    *("-incoming", f"exec:cat {SNAPSHOT}"),
    *("-global", "migration.announce-rounds=0"),
]
_RESTORE_S: Final = 60.0
_KVM_S: Final = 20.0


class Boot(msgspec.Struct, frozen=True):
    """All that an emulated machine is started from."""

    lab: Lab
    """whose command starts it at the beginning"""
    kernel: Path
    image: bytes
    arguments: bytes | None = None
    """for a machine that stops when its boot is over, and goes on with these where it is restored;
    None for one that finds its arguments in its image"""

    @property
    def key(self) -> str:
        """What no other boot's snapshot is called: a hash of all that goes into it."""
        lab = self.lab
        parts = [lab.kernel_sha256, lab.initramfs_sha256, lab.qemu, *lab.command]
        return hashlib.sha256(repr(parts).encode()).hexdigest()[:32]

    def started(self, directory: Path, limit_s: float, unseen: Sequence[str] = ()) -> Emulator:
        """Begin the boot in an empty directory; `unseen` are options that the guest cannot notice.

        Raises RtscopeError.
        """
        return self._start(self.lab, b"", directory, limit_s, unseen)

    def restored(
        self, snapshot: Path, directory: Path, limit_s: float, unseen: Sequence[str] = ()
    ) -> Emulator:
        """Read a snapshot into a machine in an empty directory: `resume` lets it go on from there.

        Raises RtscopeError.
        """
        (directory / SNAPSHOT).symlink_to(snapshot)
        given = self.arguments or b""
        return self._start(self.restored_lab(), given, directory, limit_s, unseen)

    def restored_lab(self) -> Lab:
        """How the machine is emulated that is restored."""
        command = [*self.lab.command, *_RESTORE]
        return msgspec.structs.replace(self.lab, command=command, restored=True)

    def _start(
        self, lab: Lab, arguments: bytes, directory: Path, limit_s: float, unseen: Sequence[str]
    ) -> Emulator:
        (directory / KERNEL).symlink_to(self.kernel)
        (directory / INITRAMFS).write_bytes(self.image)
        (directory / ARGUMENTS).write_bytes(arguments.ljust(ARGUMENTS_SIZE, b"\0"))
        command = [*lab.command, *unseen]
        if lab.mode == "kvm":  # some /dev/kvm are there and never answer
            limit_s = min(limit_s, _KVM_S)
            return Emulator(command, directory, lab.mips, limit_s, by_the_clock=True)
        return Emulator(command, directory, lab.mips, limit_s)


@contextmanager
def machine_files_written() -> Iterator[None]:
    """Where a machine's files cannot be made in the block, a RtscopeError names their folder."""
    try:
        yield
    except OSError as error:
        place = tempfile.tempdir or os.environ.get("TMPDIR", "/tmp")  # noqa: S108 - its default
        raise RtscopeError(
            f"the emulated machine cannot have its files in {place}: {error.strerror or error}; "
            "free some space there, or name another folder in TMPDIR"
        ) from None


def resume(emulator: Emulator, directory: Path) -> None:
    """Let a machine go on that reads its snapshot. Raises RtscopeError."""
    try:
        with Monitor(directory / MONITOR, emulator.has_ended) as monitor:
            monitor.wait_for_status("watchdog", _RESTORE_S)
            monitor.command("cont")
    except RtscopeError as error:
        raise RtscopeError(emulator.why(error)) from None
