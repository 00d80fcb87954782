# SPDX-License-Identifier: GPL-2.0-only
"""A machine whose only program is a test's own, in C, instead of the agent."""

import re
import subprocess
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path

import msgspec

from rtscope.lab.boards import find_board
from rtscope.lab.emulator import STALE_CODE, panic_in
from rtscope.lab.image import initramfs
from rtscope.lab.kernels import Kernel, kernel_file, kernel_modules
from rtscope.lab.lifetime import bound_to_parent
from rtscope.lab.machine import CONSOLE, INITRAMFS, KERNEL, qemu_command
from rtscope.lab.vm import VmTarget, vm_target
from tests.lab.complaints import complaints

_HERE = Path(__file__).parent
_ROOT = Path(__file__).parents[2]
_COMPILERS = _ROOT / "build" / "musl"
_TRY_LIMIT_S = 900
_COMES_AND_GOES = {
    "load": "0",
    "unload at rest": "0",
    "device": "gone",
    "load again": "0",
    "unload again": "0",
}


class GuestOutput(msgspec.Struct, frozen=True):
    """What came out of the machine until its end."""

    said: str
    """by the program, on its port"""
    console: str
    """by the kernel, the loudest of it"""


def run_guest(
    target: VmTarget,
    source: str,
    directory: Path,
    *,
    modules: Sequence[str] = (),
    files: Mapping[str, bytes] | None = None,
    limit_s: int,
) -> GuestOutput:
    """Boot the machine in an empty directory until its program ends.

    Beside the program lie `files`, and each of `modules` as NAME.ko.
    """
    program = compiled(target.kernel.arch, [source, "guest_port.c", "guest_module.c"], directory)
    ours = {f"{name}.ko": kernel_modules(target.kernel, name)[name] for name in modules}
    return ran(target, {"init": program, **ours, **(files or {})}, ["init"], directory, limit_s)


def compiled(arch: str, sources: Sequence[str], directory: Path) -> bytes:
    """A program that needs nothing else, of sources beside this file."""
    program = directory / "program"
    compiler = _COMPILERS / arch / "bin" / "cc"
    subprocess.run(
        [
            *(compiler, "-O2", "-Wall", "-Wextra", "-Werror", "-static", "-o", program),
            *(f"-I{_ROOT / folder}" for folder in ("kernel/modules", "agent/include")),
            *(_HERE / name for name in sources),
        ],
        check=True,
    )
    return program.read_bytes()


def ran(
    target: VmTarget,
    files: Mapping[str, bytes],
    executables: Collection[str],
    directory: Path,
    limit_s: int,
) -> GuestOutput:
    """Boot the machine with these files in an empty directory until its /init says the end.

    Boots it again where the emulator itself made the kernel panic.
    """
    (directory / KERNEL).symlink_to(kernel_file(target.kernel))
    (directory / INITRAMFS).write_bytes(initramfs(files, executables))
    command = qemu_command(target.board, target.spec, target.kernel_options())
    for last in (False, False, True):
        done = subprocess.run(
            bound_to_parent(command, "KILL"),
            cwd=directory,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=True,
            timeout=limit_s,
        )
        console = (directory / CONSOLE).read_text(errors="replace")
        panic = panic_in(console)
        if last or STALE_CODE not in panic:
            break
    assert done.stdout.rstrip().endswith("@ end"), (
        f"{panic}\n{done.stdout[-2000:]}{console[-2000:]}"
    )
    assert [line for line in done.stdout.splitlines() if "@ failed" in line] == []
    return GuestOutput(done.stdout, console)


def results(said: str) -> dict[str, str]:
    """Of its lines "@ what: result"."""
    return dict(re.findall(r"^@ (.*?): (.*?)\r?$", said, re.MULTILINE))


def tried(module: str, kernel: Kernel, directory: Path) -> tuple[dict[str, str], str]:
    """What this module's own program has found out on up to two CPUs, and the kernel's console.

    The module has come and gone as it must, and the kernel has neither complained nor lost memory.
    """
    cpus = min(2, find_board(kernel.board, kernel.arch).most_cpus)
    debug = kernel.name.endswith("-debug")
    came = run_guest(
        vm_target(f"vm:{kernel.name},mode=fast,cpus={cpus}"),
        f"{module}_guest.c",
        directory,
        modules=[module],
        limit_s=_TRY_LIMIT_S,
    )
    leaks = "none" if debug and kernel.arch == "x86_64" else "not looked for"
    expected = _COMES_AND_GOES | {"leaks": leaks}
    reported = results(came.said)
    assert {what: reported.pop(what, None) for what in expected} == expected
    assert complaints(came.console, lockdep=debug) == []
    return reported, came.console
