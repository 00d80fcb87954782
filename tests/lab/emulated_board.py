# SPDX-License-Identifier: GPL-2.0-only
"""A board of another architecture: an emulated machine that runs busybox and a real sshd."""

import re
import subprocess
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from rtscope.lab.boards import find_board
from rtscope.lab.image import initramfs
from rtscope.lab.kernels import Kernel, cache_directory, kernel_file
from rtscope.lab.lifetime import bound_to_parent
from rtscope.lab.machine import CONSOLE, INITRAMFS, KERNEL, MONITOR, Spec, qemu_command
from rtscope.lab.monitor import Monitor
from rtscope.lab.packages import apt_options
from rtscope.lab.vm import vm_target
from rtscope.lab.workfolder import work_folder
from tests.target.board import clients_of, give_ssh, left_of

_PACKAGES: Final = ("busybox-static", "dropbear-bin")
_PROGRAMS: Final = ("bin/busybox", "usr/bin/dropbearkey", "usr/sbin/dropbear")
_LIBRARY: Final = re.compile(r".*\.so\.[0-9]+")
_LIMIT_S: Final = 1200.0
_ADDRESS: Final = "127.0.0.1"
# Its shell on the port of the lab's agents is the board's console, which needs no network. The keys
# are there once it answers.
_INIT: Final = """#!/bin/busybox sh
/bin/busybox mkdir -p /proc /sys /dev /tmp /run /sbin
/bin/busybox --install -s /bin
export PATH=/bin:/usr/bin:/usr/sbin HOME=/root
mount -t proc proc /proc
mount -t sysfs sysfs /sys
mount -t devtmpfs devtmpfs /dev
mkdir /dev/shm /dev/pts
mount -t devpts devpts /dev/pts
mount -t cgroup2 cgroup2 /sys/fs/cgroup
mount -t tmpfs -o mode=1777 tmpfs /tmp
mount -t tmpfs -o mode=1777 tmpfs /dev/shm
hostname far
while read module; do insmod ${module#!}; done < /rtscope.modules
ip link set lo up
ip address add 10.0.2.15/24 dev eth0
ip link set eth0 up
dropbearkey -t ed25519 -f /run/host_key > /dev/null 2>&1
dropbear -F -E -s -r /run/host_key 2> /run/log &
stty raw -echo 115200 -F $rtscope_channel
exec > $rtscope_channel 2>&1
echo "@ ready"
while IFS= read -r line; do printf '%s\\n' "$line"; done < $rtscope_channel | sh
reboot -f
"""


class EmulatedBoard:
    """A running board."""

    def __init__(
        self, folder: Path, runtime: str, process: "subprocess.Popen[str]", monitor: Monitor
    ) -> None:
        self.folder = folder
        """with the keys, and a folder bin for PATH, whose ssh has a configuration of its own"""
        self.runtime = runtime
        """where sockets of those who connect may be, a short name"""
        self._process = process
        self._monitor = monitor

    def sh(self, script: str) -> str:
        """What a script prints that runs on the board's console, as root, and ends well."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        line = f"({script}\n) < /dev/null; status=$?; echo; echo @ $status"
        print(line, file=self._process.stdin, flush=True)
        said = ""
        for line in self._process.stdout:
            if line.startswith("@ "):
                assert line == "@ 0\n", f"{script}: {said}{line}"
                return said.removesuffix("\n")
            said += line
        raise AssertionError(f"the board has ended: {said}")

    def agents(self) -> list[str]:
        """Processes of the agent's and of its loads: number, state and command line."""
        lines = self.sh("ps -o pid,stat,args").splitlines()
        return [line for line in lines if "/rtscope-agent-" in line]

    def still_running(self) -> list[str]:
        """Those that are left after some seconds."""
        return left_of(self.agents)

    def sessions(self) -> list[int]:
        """The processes of sshd's that serve a connection."""
        own, *others = self.sh("pidof dropbear | tr ' ' '\\n' | sort -n").split()
        return [int(pid) for pid in others if pid != own]

    def connection(self) -> int:
        """The ssh here that has the connection there, for all others."""
        lines = clients_of(self.folder, self.runtime)
        (found,) = [pid for pid, line in lines.items() if line.rstrip().endswith("[mux]")]
        return found

    def plug(self, *, up: bool) -> None:
        """With `up` false, nothing comes through in either direction, and nobody is told."""
        self._monitor.command("set_link", name="net", up=up)

    def port(self) -> str:
        """That leads to its sshd, of this machine."""
        words = {"command-line": "info usernet"}
        said = self._monitor.command("human-monitor-command", **words)
        found = re.search(rf"HOST_FORWARD\].* {re.escape(_ADDRESS)} +([0-9]+) ", said)
        assert found, said
        return found[1]


@contextmanager
def running_board(kernel: Kernel, folder: Path) -> Iterator[EmulatedBoard]:
    """A board that is gone with the block, and all that ran on it.

    `folder` exists and is empty.
    """
    subprocess.run(
        ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", folder / "key"], check=True
    )
    (folder / KERNEL).symlink_to(kernel_file(kernel))
    key = (folder / "key.pub").read_bytes()
    (folder / INITRAMFS).write_bytes(board_image(kernel, "arm64", key, _INIT))
    command = [
        *qemu_command(
            find_board(kernel.board, kernel.arch),
            Spec(kernel.name, cpus=2, mode="fast"),
            # Its keys need random numbers at once.
            ["random.trust_bootloader=on"],
        ),
        *("-netdev", f"user,id=net,restrict=on,hostfwd=tcp:{_ADDRESS}:0-:22"),
        *("-device", "virtio-net-pci,netdev=net,romfile="),
        *("-qmp", f"unix:{MONITOR},server=on,wait=off"),
    ]
    with subprocess.Popen(
        bound_to_parent(command, "KILL"),
        cwd=folder,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    ) as process:
        limit = threading.Timer(_LIMIT_S, process.kill)
        limit.start()
        try:
            with (
                Monitor(folder / MONITOR, lambda: process.poll() is not None) as monitor,
                tempfile.TemporaryDirectory(prefix="rts", dir="/tmp") as runtime,
            ):
                board = EmulatedBoard(folder, runtime, process, monitor)
                assert process.stdout is not None
                console = folder / CONSOLE
                said = next((line for line in process.stdout if "@ ready" in line), "")
                assert said, console.read_text(errors="replace")[-2000:]
                host_key = board.sh("dropbearkey -y -f /run/host_key | grep ^ssh-")
                give_ssh(folder, _ADDRESS, board.port(), host_key)
                yield board
        finally:
            limit.cancel()
            process.kill()


def board_image(kernel: Kernel, architecture: str, public_key: bytes, init: str) -> bytes:
    """Of a board whose sshd takes this key, with the kernel's modules and Debian's busybox."""
    userland = _userland(architecture)
    files = {
        str(path.relative_to(userland)): path.read_bytes()
        for path in userland.rglob("*")
        if path.is_file()
    }
    files |= {
        "init": init.encode(),
        "etc/passwd": b"root:x:0:0:root:/root:/bin/sh\n",
        "etc/group": b"root:x:0:\n",
        "root/.ssh/authorized_keys": public_key,
        **vm_target(f"vm:{kernel.name}").guest_files(),
    }
    return initramfs(files, ["init", *(name for name in files if _is_program(name))])


def _userland(architecture: str) -> Path:
    """The folder of busybox, sshd and their libraries, of Debian's packages, downloaded once."""
    place = cache_directory() / "userlands" / architecture
    if place.exists():
        return place
    with work_folder(place.parent, f".{architecture}-") as directory:
        options = apt_options(architecture, directory)
        subprocess.run(
            ["apt-get", *options, *("-qq", "--download-only", "--no-install-recommends"),
             "install", *_PACKAGES], check=True,
        )  # fmt: skip
        files = directory / "files"
        for archive in directory.rglob("*.deb"):
            subprocess.run(["dpkg-deb", "-x", archive, files], check=True)
        kept = directory / "kept"
        for path in files.rglob("*"):
            name = path.relative_to(files)
            if _is_program(str(name)):
                (kept / name).parent.mkdir(parents=True, exist_ok=True)
                (kept / name).write_bytes(path.read_bytes())
        missing = [name for name in _PROGRAMS if not (kept / name).exists()]
        assert not missing, f"Debian's packages have them elsewhere: {missing}"
        kept.rename(place)
    return place


def _is_program(name: str) -> bool:
    """Whether it may be run, or is a library of what may."""
    return name in _PROGRAMS or bool(_LIBRARY.fullmatch(name))
