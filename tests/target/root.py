# SPDX-License-Identifier: GPL-2.0-only
"""Give a process a root file system of its own, and nothing else of the host's to write to.

Usage: root.py FOLDER TOKEN COMMAND...

The new root is a tmpfs. The host's programs are in it read-only; /etc, /dev, /proc, /sys and the
folders of its users are new. Once it is the root of the mount namespace (pivot_root), the old root
is detached, so that `nsenter --mount` leads to the new root too, also where the caller was in a
chroot. The file MARKER holds TOKEN: who enters later compares it before doing anything.

FOLDER holds the files of /etc, by name, and those of /run/board in its subfolder `run`.
"""

import ctypes
import os
import shutil
import stat
import sys
from pathlib import Path

MARKER = "/.test-root"

_LIBC = ctypes.CDLL(None, use_errno=True)
_NEW_MOUNTS = 0x20000
_DETACH = 2
_DROP_CAPABILITY = 24
_READ_ONLY, _REMOUNT, _BIND, _RECURSIVE, _PRIVATE = 1, 32, 4096, 16384, 1 << 18
_NO_SUID, _NO_DEVICES, _NO_EXECUTION = 2, 4, 8
# Modules, ports and memory, reboot, clock, device nodes: they are the host's.
_DROPPED = (16, 17, 22, 25, 27)
_DEVICES = ("null", "zero", "full", "random", "urandom", "tty", "cpu_dma_latency")
# Where a write changes the kernel, which is the host's too.
_SWITCHES = ("proc/sys", "proc/irq", "proc/sysrq-trigger")


def _call(name: str, *arguments: object) -> None:
    if getattr(_LIBC, name)(*arguments):
        number = ctypes.get_errno()
        raise OSError(number, f"{name}: {os.strerror(number)}")


def _mount(source: str | None, place: Path, kind: str | None, flags: int, data: str = "") -> None:
    words = [word.encode() if word else None for word in (source, str(place), kind)]
    _call("mount", *words, ctypes.c_ulong(flags), data.encode())


def bind(source: Path, place: Path) -> None:
    """Show `source`, with what is mounted below it, at `place` too."""
    _mount(str(source), place, None, _BIND | _RECURSIVE)


def bind_read_only(source: Path, place: Path) -> None:
    """Show `source`, without what is mounted below it, at `place`, where nobody can change it."""
    _mount(str(source), place, None, _BIND)
    kept = os.statvfs(place).f_flag & (_NO_SUID | _NO_DEVICES | _NO_EXECUTION)
    _mount(None, place, None, _REMOUNT | _BIND | _READ_ONLY | kept)


def _go_to_root_of_mounts() -> None:
    """Leave a chroot: setns() makes the root of the mount namespace the root of the process."""
    descriptor = os.pidfd_open(os.getpid())
    _call("setns", descriptor, _NEW_MOUNTS)
    os.close(descriptor)


def leave_hosts_mounts() -> None:
    """Enter a new mount namespace; no mount there is seen in another. The root stays the same.

    The root of all mounts is made private, not `/`, which in a chroot need not be a mount.
    """
    _call("unshare", _NEW_MOUNTS)
    root = os.open("/", os.O_RDONLY | os.O_DIRECTORY)
    _go_to_root_of_mounts()
    _mount(None, Path("/"), None, _RECURSIVE | _PRIVATE)
    os.fchdir(root)
    os.chroot(".")
    os.close(root)


def make_root(folder: Path, token: str) -> Path:
    """Mount and fill a new root below `folder`; return the mount point."""
    root = folder / "root"
    root.mkdir()
    _mount("test-root", root, "tmpfs", 0, "mode=755")
    (root / MARKER[1:]).write_text(f"{token}\n")
    for host in (Path("/", name) for name in ("usr", "bin", "sbin", "lib", "lib32", "lib64")):
        place = root / host.name
        if host.is_symlink():
            place.symlink_to(host.readlink())
        elif host.is_dir():
            place.mkdir()
            bind_read_only(host, place)
    shutil.copytree(folder, root / "etc", ignore=lambda *_: ["root", "run"])
    (root / "etc").chmod(0o755)
    if Path("/etc/alternatives").is_dir():
        shutil.copytree("/etc/alternatives", root / "etc/alternatives", symlinks=True)
    for name, mode in {"root": 0o700, "tmp": 0o1777, "run": 0o755, "var/tmp": 0o1777}.items():
        (root / name).mkdir(parents=True)
        (root / name).chmod(mode)
    shutil.copytree(folder / "run", root / "run/board")
    (root / "home").mkdir()
    _make_devices(root / "dev")
    for name in ("proc", "sys"):
        (root / name).mkdir()
    _mount("proc", root / "proc", "proc", _NO_SUID | _NO_DEVICES | _NO_EXECUTION)
    _mount("sysfs", root / "sys", "sysfs", _READ_ONLY | _NO_SUID | _NO_DEVICES | _NO_EXECUTION)
    for switches in (root / name for name in _SWITCHES if (root / name).exists()):
        bind_read_only(switches, switches)
    return root


def _make_devices(place: Path) -> None:
    place.mkdir()
    for host in (Path("/dev", name) for name in _DEVICES):
        if host.is_char_device():
            known = host.stat()
            os.mknod(place / host.name, stat.S_IFCHR, known.st_rdev)
            (place / host.name).chmod(stat.S_IMODE(known.st_mode))
    (place / "fd").symlink_to("/proc/self/fd")
    for name, kind, flags, data in (
        ("pts", "devpts", _NO_SUID, "newinstance,ptmxmode=666,mode=620"),
        ("shm", "tmpfs", _NO_SUID | _NO_DEVICES, "mode=1777"),
    ):
        (place / name).mkdir()
        _mount(kind, place / name, kind, flags, data)
    (place / "ptmx").symlink_to("pts/ptmx")


def enter_root(root: Path, token: str) -> None:
    """Make `root` the root of the mount namespace and of this process, and detach the old one."""
    descriptor = os.open(root, os.O_RDONLY | os.O_DIRECTORY)
    _go_to_root_of_mounts()
    os.fchdir(descriptor)
    _call("pivot_root", b".", b".")
    _call("umount2", b".", _DETACH)
    os.close(descriptor)
    os.chdir("/")
    if Path(MARKER).read_text() != f"{token}\n":
        raise SystemExit(f"{MARKER} of another root: nothing was done there")


def main(folder: str, token: str, *command: str) -> None:
    os.umask(0o022)
    leave_hosts_mounts()
    enter_root(make_root(Path(folder), token), token)
    for capability in _DROPPED:
        _call("prctl", _DROP_CAPABILITY, capability, 0, 0, 0)
    os.execvp(command[0], command)


if __name__ == "__main__":
    main(*sys.argv[1:])
