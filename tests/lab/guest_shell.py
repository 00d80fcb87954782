# SPDX-License-Identifier: GPL-2.0-only
"""A machine whose only program is a shell with a test's own script, and the agent beside it."""

import re
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path

from rtscope.lab.kernels import kernel_modules
from rtscope.lab.vm import VmTarget
from tests.lab.guest_program import GuestOutput, ran

# The port is raw, so that no line is changed on its way; the end of the machine is a reboot.
_INIT = """#!/bin/busybox sh
/bin/busybox mkdir -p /proc /sys /dev /tmp
/bin/busybox --install -s /bin
export PATH=/bin
mount -t proc proc /proc
mount -t sysfs sysfs /sys
mount -t devtmpfs devtmpfs /dev
mount -t tmpfs tmpfs /tmp
port=${rtscope_channel:-/dev/console}
stty raw -echo 115200 < $port
exec > $port 2>&1 < /dev/null
"""
_END = """
echo
echo "@ end"
sleep 1
reboot -f
"""


def run_script(
    target: VmTarget,
    script: str,
    agent: Path,
    directory: Path,
    *,
    limit_s: int,
    modules: Sequence[str] = (),
    programs: Mapping[str, bytes] | None = None,
    files: Mapping[str, bytes] | None = None,
) -> GuestOutput:
    """Boot the machine in an empty directory until the script, busybox's, has ended.

    The agent is /bin/agent; `programs` lie in /bin too, `files` in /, and each of `modules` is
    /NAME.ko there.
    """
    busybox = shutil.which("busybox")
    assert busybox, "this test needs the package busybox-static"
    executables = {
        "init": (_INIT + script + _END).encode(),
        "bin/busybox": Path(busybox).read_bytes(),
        "bin/agent": agent.read_bytes(),
        **{f"bin/{name}": program for name, program in (programs or {}).items()},
    }
    ours = {f"{name}.ko": kernel_modules(target.kernel, name)[name] for name in modules}
    held = executables | ours | dict(files or {})
    return ran(target, held, [*executables], directory, limit_s)


def sections(said: str) -> dict[str, str]:
    """What follows each line "@ NAME", until the next of them."""
    parts = re.split(r"^@ (.*?)\r?\n", said, flags=re.MULTILINE)[1:]
    assert len(set(parts[::2])) == len(parts[::2]), "each section has a name of its own"
    return dict(zip(parts[::2], parts[1::2], strict=True))
