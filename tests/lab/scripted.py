"""A machine whose only program is a shell script, between whose steps its agent looks at it."""

import base64
import gzip
import shutil
from collections.abc import Sequence
from pathlib import Path

import msgspec

from rtscope.lab.kernels import Kernel, kernel_config
from rtscope.lab.vm import VmTarget, vm_target
from rtscope.target.local import agent_path
from rtscope.target.protocol import decode_line, files_of
from tests.lab.guest_program import compiled, ran

_LIMIT_S = 600
_IN_TURNS = ["-accel", "tcg,thread=single"]
"""Before the accelerator of its mode, so this one counts. QEMU's CPUs that run at once may execute
a breakpoint that the kernel's patching of its own code has already taken back, and die of it."""
_INIT = """#!/bin/busybox sh
/bin/busybox --install -s /bin
mount -t proc proc /proc
mount -t sysfs sysfs /sys
mount -t devtmpfs devtmpfs /dev
mount -t debugfs debugfs /sys/kernel/debug
mount -t tracefs tracefs /sys/kernel/tracing
mount -t tmpfs tmpfs /tmp
[ -e /rtscope.modules ] && while read module; do insmod ${module#!}; done < /rtscope.modules
stty raw 115200 -F $rtscope_channel
exec > $rtscope_channel 2>&1
as_user() { schedule --limited "$@"; }
look() {
	echo "@ look $1"
	shift
	"$@" /bin/agent machine --json --audit > /tmp/look
	gzip -1 -c /tmp/look | base64
	echo '@ done'
}
write() { echo "$1" > "$2" || echo "@ failed: $2 does not take $1"; }
program() { (printf "$1" > /proc/self/comm; while :; do sleep 1000; done) & }
. /script
echo '@ end'
reboot -f
"""

Files = dict[str, str | bytes]


def looked(
    kernel: Kernel,
    machine: str,
    options: list[str],
    script: str,
    directory: Path,
    hardware: Sequence[str] = (),
) -> dict[str, Files]:
    """What the agent read at each `look NAME` of the script, by name.

    `machine` is what follows the kernel's name behind "vm:", `options` are the kernel's own, and
    `hardware` the emulator's, for the machine, its CPUs and their topology.
    """
    target = vm_target(f"vm:{kernel.name},{machine}")
    given = msgspec.structs.replace(target.kernel, options=options)
    target = msgspec.structs.replace(target, kernel=given)
    own = [*(hardware or target.board.options), *_IN_TURNS]
    sockets = target.board.sockets and not hardware
    board = msgspec.structs.replace(target.board, options=own, sockets=sockets)
    target = msgspec.structs.replace(target, board=board)
    files = _files(target, script, directory)
    programs = [name for name in files if name.startswith("bin/")]
    came = ran(target, files, ["init", *programs], directory, _LIMIT_S)
    parts = [part.partition("\n") for part in came.said.split("@ look ")[1:]]
    return {name.strip(): _config(kernel) | _read(rest) for name, _, rest in parts}


def _files(target: VmTarget, script: str, directory: Path) -> dict[str, bytes]:
    busybox = shutil.which("busybox")
    assert busybox, "the package busybox-static is not installed"
    return {
        "init": _INIT.encode(),
        "script": script.encode(),
        "bin/busybox": Path(busybox).read_bytes(),
        "bin/agent": agent_path(target.kernel.arch).read_bytes(),
        "bin/schedule": compiled(target.kernel.arch, ["schedule_guest.c"], directory),
        **target.module_files(),
        **{f"{name}/.keep": b"" for name in ("dev", "proc", "sys", "tmp")},
    }


def _config(kernel: Kernel) -> Files:
    """It does not change, and is most of what there would be to send."""
    return {f"/boot/config-{kernel.release}": (kernel_config(kernel) or b"").decode()}


def _read(text: str) -> Files:
    packed, done, _ = text.partition("@ done")
    assert done, text[-500:]
    lines = gzip.decompress(base64.b64decode(packed)).splitlines()
    return files_of(decode_line(line) for line in lines)
