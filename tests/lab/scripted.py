# SPDX-License-Identifier: GPL-2.0-only
"""A machine whose only program is a shell script, between whose steps its agent looks at it."""

import base64
import gzip
from collections.abc import Sequence
from pathlib import Path

import msgspec

from rtscope.lab.kernels import Kernel, kernel_config
from rtscope.lab.vm import VmTarget, vm_target
from rtscope.target.local import agent_path
from rtscope.target.protocol import AnyLine, decode_line, files_of
from tests.lab.guest_program import compiled
from tests.lab.guest_shell import run_script, sections

_LIMIT_S = 600
_IN_TURNS = ["-accel", "tcg,thread=single"]
"""Before the accelerator of its mode, so this one counts. QEMU's CPUs that run at once may execute
a breakpoint that the kernel's patching of its own code has already taken back, and die of it."""
_FUNCTIONS = """
mount -t debugfs debugfs /sys/kernel/debug
mount -t tracefs tracefs /sys/kernel/tracing
[ -e /rtscope.modules ] && while read module; do insmod ${module#!}; done < /rtscope.modules
as_user() { schedule --limited "$@"; }
tell() {
	echo "@ $1"
	shift
	"$@" > /tmp/told
	gzip -1 -c /tmp/told | base64
	echo .
}
look() { tell "$1" $2 /bin/agent machine --json --audit; }
write() { echo "$1" > "$2" || echo "@ failed: $2 does not take $1"; }
program() { (printf "$1" > /proc/self/comm; while :; do sleep 1000; done) & }
"""

Files = dict[str, str | bytes]


def machine_of(
    kernel: Kernel, machine: str, options: Sequence[str] = (), hardware: Sequence[str] = ()
) -> VmTarget:
    """`machine` is what follows the kernel's name behind "vm:", `options` are the kernel's own, and
    `hardware` the emulator's, in place of the board's."""
    target = vm_target(f"vm:{kernel.name},{machine}")
    own = [*(hardware or target.board.options), *_IN_TURNS]
    sockets = target.board.sockets and not hardware
    return msgspec.structs.replace(
        target,
        kernel=msgspec.structs.replace(target.kernel, options=list(options)),
        board=msgspec.structs.replace(target.board, options=own, sockets=sockets),
    )


def reported(target: VmTarget, script: str, directory: Path) -> dict[str, list[AnyLine]]:
    """The lines of what the script has run by `tell NAME COMMAND ...`, by name."""
    arch = target.kernel.arch
    came = run_script(
        target,
        _FUNCTIONS + script,
        agent_path(arch),
        directory,
        limit_s=_LIMIT_S,
        programs={"schedule": compiled(arch, ["schedule_guest.c"], directory)},
        files=target.guest_files(),
    )
    return {name: _lines(text) for name, text in sections(came.said).items() if name != "end"}


def looked(target: VmTarget, script: str, directory: Path) -> dict[str, Files]:
    """What the agent read at each `look NAME` of the script, by name."""
    release, config = target.kernel.release, kernel_config(target.kernel) or b""
    # It does not change, and is most of what there would be to send.
    kept: Files = {f"/boot/config-{release}": config.decode()}
    return {
        name: kept | files_of(lines) for name, lines in reported(target, script, directory).items()
    }


def _lines(text: str) -> list[AnyLine]:
    # Behind the end may stand what the script's next commands print.
    packed = base64.b64decode(text.partition("\n.\n")[0])
    return [decode_line(line) for line in gzip.decompress(packed).splitlines()]
