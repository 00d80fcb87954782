# SPDX-License-Identifier: GPL-2.0-only
"""An interactive VM: its console on this terminal, with a verb of the agent or a shell."""

import subprocess
import sys
import tempfile
import termios
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Final

from rtscope.lab.additions import BUSYBOX, busybox
from rtscope.lab.boot import machine_files_written
from rtscope.lab.emulator import panic_in
from rtscope.lab.image import initramfs
from rtscope.lab.kernels import check_whole, has_module, kernel_file
from rtscope.lab.lifetime import bound_to_parent
from rtscope.lab.machine import CONSOLE, INITRAMFS, KERNEL, console_command
from rtscope.lab.modules import needed_module
from rtscope.lab.ours import our_modules
from rtscope.lab.vm import VmTarget
from rtscope.model.errors import RtscopeError
from rtscope.model.request import Request
from rtscope.target.local import agent_path

_INIT: Final = """#!/bin/busybox sh
/bin/busybox --install -s /bin
mount -t proc proc /proc
mount -t sysfs sysfs /sys
mount -t devtmpfs devtmpfs /dev
mount -t tmpfs tmpfs /tmp
mount -t debugfs debugfs /sys/kernel/debug
mount -t tracefs tracefs /sys/kernel/tracing
[ -e /rtscope.modules ] && while read module; do insmod ${module#!}; done < /rtscope.modules
ip link set lo up
[ -e /rtscope.run ] && sh -x /rtscope.run
echo 'rtscope-agent is here; modules of ours for insmod are in /modules'
echo 'exit ends the machine, and so does Ctrl-A x'
setsid cttyhack sh
reboot -f
"""


def run_verb(target: VmTarget, words: list[str]) -> int:
    """Boot with the kernel's log and the agent's output on this terminal, and return QEMU's exit
    status. Ctrl-C and Ctrl-A x end it. Raises RtscopeError, also if the kernel panics.
    """
    arguments = "".join(f"{word}\n" for word in words).encode()
    files = {"init": agent_path(target.kernel.arch).read_bytes(), "rtscope.args": arguments}
    return _run(
        target.fitted(_modules_for(words[0], target)), files, ["init"], ends_on_interrupt=True
    )


def _modules_for(verb: str, target: VmTarget) -> Request:
    """A request that needs the verb's module; `loop` needs its module only with --in kernel."""
    in_kernel = Request(probe=verb, options={"in": "kernel"})
    module = needed_module(in_kernel)
    missing = in_kernel.loops_in_kernel and module and not has_module(target.kernel, module)
    return Request(probe=verb) if missing else in_kernel


def run_shell(target: VmTarget) -> int:
    """Boot into a busybox shell, which receives Ctrl-C itself. Raises RtscopeError."""
    if not sys.stdin.isatty():
        raise RtscopeError(
            "the shell needs a terminal as standard input; use rtscope lab boot to run the agent "
            "without one"
        )
    programs = {"bin/rtscope-agent": agent_path(target.kernel.arch).read_bytes()}
    if BUSYBOX not in target.additions.files:
        programs[BUSYBOX] = busybox(target.kernel)
    files = {
        "init": _INIT.encode(),
        **programs,
        **{f"modules/{name}.ko": data for name, data in our_modules(target.kernel).items()},
        **{f"{name}/.keep": b"" for name in ("proc", "sys", "tmp")},
    }
    return _run(target, files, ["init", *programs])


def _run(
    target: VmTarget,
    files: dict[str, bytes],
    executables: list[str],
    *,
    ends_on_interrupt: bool = False,
) -> int:
    check_whole(target.kernel)
    command = console_command(
        target.board, target.spec, target.kernel_options(), ends_on_interrupt=ends_on_interrupt
    )
    with ExitStack() as stack:
        stack.enter_context(_terminal_kept())
        with machine_files_written():
            name = stack.enter_context(tempfile.TemporaryDirectory(prefix="rtscope-vm-"))
            directory = Path(name)
            (directory / KERNEL).symlink_to(kernel_file(target.kernel))
            executables = [*executables, *target.additions.executables]
            image = initramfs(files | target.guest_files(), executables)
            (directory / INITRAMFS).write_bytes(image)
        with subprocess.Popen(bound_to_parent(command, "KILL"), cwd=directory) as process:
            try:
                status = process.wait()
            finally:
                process.kill()
        said = (directory / CONSOLE).read_text(errors="replace") if status == 0 else ""
    if why := panic_in(said):
        raise RtscopeError(f"the guest's kernel panicked: {why}")
    return status


@contextmanager
def _terminal_kept() -> Iterator[None]:
    """Restore the terminal's settings, however QEMU ends."""
    if not sys.stdin.isatty():
        yield
        return
    settings = termios.tcgetattr(sys.stdin)
    try:
        yield
    finally:
        termios.tcsetattr(sys.stdin, termios.TCSADRAIN, settings)
