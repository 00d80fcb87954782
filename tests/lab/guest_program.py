"""A machine whose only program is a test's own, in C, instead of the agent."""

import subprocess
from collections.abc import Mapping
from pathlib import Path

import msgspec

from rtscope.lab.image import initramfs
from rtscope.lab.kernels import kernel_file
from rtscope.lab.machine import CONSOLE, INITRAMFS, KERNEL, qemu_command
from rtscope.lab.tether import tethered
from rtscope.lab.vm import VmTarget

_HERE = Path(__file__).parent
_ROOT = Path(__file__).parents[2]
_COMPILERS = _ROOT / "build" / "musl"


class Heard(msgspec.Struct, frozen=True):
    """What came out of the machine until its end."""

    said: str
    """by the program, on its port"""
    console: str
    """by the kernel, the loudest of it"""


def heard(
    target: VmTarget,
    source: str,
    directory: Path,
    *,
    files: Mapping[str, bytes] | None = None,
    limit_s: int,
) -> Heard:
    """Boot the machine in an empty directory, with `files` beside its program, until that ends."""
    program = directory / "program"
    compiler = _COMPILERS / target.kernel.arch / "bin" / "cc"
    subprocess.run(
        [
            *(compiler, "-O2", "-Wall", "-Wextra", "-Werror", "-static", "-o", program),
            *(f"-I{_ROOT / folder}" for folder in ("kernel/modules", "agent/include")),
            *(_HERE / name for name in (source, "guest_port.c", "guest_module.c")),
        ],
        check=True,
    )
    (directory / KERNEL).symlink_to(kernel_file(target.kernel))
    image = initramfs({"init": program.read_bytes(), **(files or {})})
    (directory / INITRAMFS).write_bytes(image)
    command = qemu_command(target.board, target.spec, target.kernel_options())
    done = subprocess.run(
        tethered(command, "KILL"),
        cwd=directory,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=True,
        timeout=limit_s,
    )
    console = (directory / CONSOLE).read_text(errors="replace")
    assert done.stdout.rstrip().endswith("@ end"), done.stdout[-2000:] + console[-2000:]
    assert "@ failed" not in done.stdout
    return Heard(done.stdout, console)
