# SPDX-License-Identifier: GPL-2.0-only
"""A place of labgrid that its QEMUDriver emulates: a board with busybox and dropbear."""

import json
import shutil
import socket
import subprocess
from pathlib import Path
from typing import Any

from rtscope.lab.kernels import Kernel, kernel_file
from tests.lab.emulated_board import board_image

_INIT = """#!/bin/busybox sh
/bin/busybox mkdir -p /proc /sys /dev /tmp /run /sbin
/bin/busybox --install -s /bin
export PATH=/bin:/usr/bin:/usr/sbin HOME=/root
mount -t proc proc /proc
mount -t sysfs sysfs /sys
mount -t devtmpfs devtmpfs /dev
mkdir /dev/shm /dev/pts
mount -t devpts devpts /dev/pts
mount -t tmpfs -o mode=1777 tmpfs /tmp
mount -t tmpfs -o mode=1777 tmpfs /dev/shm
hostname emulated
while read module; do insmod ${module#!}; done < /rtscope.modules
ip link set lo up
ip address add 10.0.2.15/24 dev eth0
ip link set eth0 up
dropbearkey -t ed25519 -f /run/host_key > /dev/null 2>&1
dropbear -E -s -r /run/host_key
exec setsid sh -c 'exec sh </dev/ttyS0 >/dev/ttyS0 2>&1'
"""


class QemuBoard:
    """What a farm file and labgrid need to emulate the board."""

    def __init__(self, kernel: Kernel, folder: Path) -> None:
        """Write its files into `folder`."""
        self.folder = folder
        self.port = _free_port()
        key = folder / "key"
        subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", key], check=True)
        shutil.copy(kernel_file(kernel), folder / "kernel")
        image = board_image(kernel, "amd64", (folder / "key.pub").read_bytes(), _INIT)
        (folder / "initramfs").write_bytes(image)
        nic = f"user,model=virtio-net-pci,restrict=on,hostfwd=tcp:127.0.0.1:{self.port}-:22"
        drivers: dict[str, Any] = {
            "QEMUDriver": {
                "qemu_bin": "qemu", "machine": "q35", "cpu": "max", "memory": "512M",
                "kernel": "kernel",
                "boot_args": "console=ttyS0 loglevel=6 random.trust_cpu=on no_timer_check",
                "extra_args": f"-nodefaults -accel tcg -initrd {folder}/initramfs", "nic": nic,
            },
            "SSHDriver": {"keyfile": str(key)},
        }  # fmt: skip
        target = {"resources": {"RemotePlace": {"name": "+"}}, "drivers": drivers}
        (folder / "environment.yaml").write_text(
            json.dumps(
                {
                    "targets": {"board": target},
                    "tools": {"qemu": "/usr/bin/qemu-system-x86_64"},
                    "images": {"kernel": "kernel"},
                }
            )
        )

    @property
    def resources(self) -> dict[str, Any]:
        """What the exporter exports of it."""
        service = {"address": "127.0.0.1", "username": "root", "port": self.port}
        return {"NetworkService": service}

    def sh(self, script: str) -> str:
        """What a script prints there."""
        alive = ("-oServerAliveInterval=2", "-oServerAliveCountMax=2")
        known = ("-oStrictHostKeyChecking=no", "-oUserKnownHostsFile=/dev/null")
        options = (*alive, *known, "-oLogLevel=ERROR")
        return subprocess.run(
            ["ssh", f"-i{self.folder}/key", *options, f"-p{self.port}", "root@127.0.0.1", script],
            stdout=subprocess.PIPE, text=True, check=False, timeout=60,
        ).stdout  # fmt: skip

    def emulators(self) -> list[str]:
        """The processes that emulate it."""
        found = subprocess.run(
            ["pgrep", "-f", f"qemu-system-x86_64.*127.0.0.1:{self.port}-"],
            stdout=subprocess.PIPE, text=True, check=False,
        )  # fmt: skip
        return found.stdout.split()


def _free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])
