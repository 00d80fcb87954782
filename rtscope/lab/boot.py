# SPDX-License-Identifier: GPL-2.0-only
"""The files that a VM starts from, and its start: by a boot, or from a snapshot."""

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
"""size of the file with a restored VM's arguments, which the guest learns at its boot"""
_RESTORE: Final = [
    *("-incoming", f"exec:cat {SNAPSHOT}"),
    *("-global", "migration.announce-rounds=0"),
]
_RESTORE_S: Final = 60.0
_KVM_S: Final = 20.0


class Boot(msgspec.Struct, frozen=True):
    """Everything that a VM is started from."""

    lab: Lab
    """its command boots the VM"""
    kernel: Path
    image: bytes
    arguments: bytes | None = None
    """arguments for a VM that stops when its boot is over, and continues with them when it is
    restored; None if the image holds the arguments
    """

    @property
    def key(self) -> str:
        """The name of this boot's snapshot: a hash of everything that determines it."""
        lab = self.lab
        parts = [lab.kernel_sha256, lab.initramfs_sha256, lab.qemu, *lab.command]
        return hashlib.sha256(repr(parts).encode()).hexdigest()[:32]

    def started(self, directory: Path, limit_s: float, unseen: Sequence[str] = ()) -> Emulator:
        """Start the boot in an empty directory; `unseen` are options that the guest cannot detect.

        Raises RtscopeError.
        """
        return self._start(self.lab, b"", directory, limit_s, unseen)

    def restored(
        self, snapshot: Path, directory: Path, limit_s: float, unseen: Sequence[str] = ()
    ) -> Emulator:
        """Load a snapshot into a VM in an empty directory; `resume` then continues it.

        Raises RtscopeError.
        """
        (directory / SNAPSHOT).symlink_to(snapshot)
        given = self.arguments or b""
        return self._start(self.restored_lab(), given, directory, limit_s, unseen)

    def restored_lab(self) -> Lab:
        """The emulation parameters of the restored VM."""
        command = [*self.lab.command, *_RESTORE]
        return msgspec.structs.replace(self.lab, command=command, restored=True)

    def _start(
        self, lab: Lab, arguments: bytes, directory: Path, limit_s: float, unseen: Sequence[str]
    ) -> Emulator:
        (directory / KERNEL).symlink_to(self.kernel)
        (directory / INITRAMFS).write_bytes(self.image)
        (directory / ARGUMENTS).write_bytes(arguments.ljust(ARGUMENTS_SIZE, b"\0"))
        command = [*lab.command, *unseen]
        if lab.mode == "kvm":  # some /dev/kvm exist but never respond
            limit_s = min(limit_s, _KVM_S)
            return Emulator(command, directory, lab.mips, limit_s, by_the_clock=True)
        return Emulator(command, directory, lab.mips, limit_s)


@contextmanager
def machine_files_written() -> Iterator[None]:
    """Raise RtscopeError with the directory if a VM's files cannot be created in the block."""
    try:
        yield
    except OSError as error:
        place = tempfile.tempdir or os.environ.get("TMPDIR", "/tmp")  # noqa: S108 - its default
        raise RtscopeError(
            f"cannot create the VM's files in {place}: {error.strerror or error}; free some space "
            "there, or set TMPDIR to another directory"
        ) from None


def resume(emulator: Emulator, directory: Path) -> None:
    """Continue a VM that loads its snapshot. Raises RtscopeError."""
    try:
        with Monitor(directory / MONITOR, emulator.has_ended) as monitor:
            monitor.wait_for_status("watchdog", _RESTORE_S)
            monitor.command("cont")
    except RtscopeError as error:
        raise RtscopeError(emulator.why(error)) from None
