# SPDX-License-Identifier: GPL-2.0-only
"""The agent against cyclictest to the instruction: both measure one emulated, idle machine.

    make bench
    .venv/bin/python bench/wakeups.py --kernel x86_64-rt

The lab counts instructions, so one run of each says the same everywhere: how many a wake-up takes
up to the reading of the clock. Caches and buses are not in it. It needs cpio, busybox-static and
cyclictest (rt-tests), and a kernel of the lab's.
"""

import argparse
import os
import re
import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import NamedTuple

from rtscope.lab.boards import find_board
from rtscope.lab.kernels import add_package, find_kernel, kernel_file, list_kernels
from rtscope.lab.machine import CONSOLE, INITRAMFS, KERNEL, parse_spec, qemu_command

AGENT = Path(__file__).parents[1] / "build" / "native" / "rtscope-agent"
SAMPLES = 5000
DEBIAN = "6.12-rt-amd64"
PROGRAMS = {
    "cyclictest": "cyclictest -q -m -N -t1 -a0",
    "rtscope --phase fixed": "rtscope-agent cyclic -N -a0 --phase fixed",
    "rtscope": "rtscope-agent cyclic -N -a0",
}
INIT = """#!/bin/busybox sh
/bin/busybox mkdir -p /proc /sys /dev /tmp
/bin/busybox mount -t proc proc /proc
/bin/busybox mount -t sysfs sysfs /sys
/bin/busybox mount -t devtmpfs devtmpfs /dev
/bin/busybox mount -t tmpfs tmpfs /dev/shm
exec >/dev/console 2>&1
/bin/busybox sleep 10
{command}
/bin/busybox reboot -f
"""


class Metrics(NamedTuple):
    """Nanoseconds of a guest that executes one instruction in each."""

    min: int
    mean: int


def libraries(program: str) -> dict[str, bytes]:
    """The files that a dynamic program needs, by their place."""
    listed = subprocess.run(["ldd", program], capture_output=True, text=True, check=True).stdout
    paths = re.findall(r"(/\S+) \(0x", listed)
    return {path.removeprefix("/"): Path(path).read_bytes() for path in paths}


def write_image(directory: Path, files: dict[str, bytes]) -> None:
    """An initramfs of executable files, the same bytes for the same files."""
    root = directory / "root"
    for path, data in files.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_bytes(data)
        (root / path).chmod(0o755)
    (root / "dev").mkdir()
    names = sorted(str(path.relative_to(root)) for path in root.rglob("*"))
    for name in names:
        os.utime(root / name, (0, 0))
    with (directory / INITRAMFS).open("wb") as image:
        subprocess.run(
            ["cpio", "--quiet", "--create", "--format=newc", "--reproducible", "--owner=0:0"],
            cwd=root, input="\n".join(names).encode(), stdout=image, check=True,
        )  # fmt: skip


def measured(kernel_name: str, command: str) -> Metrics:
    """What one program measures on a machine of its own."""
    cyclictest = shutil.which("cyclictest")
    assert cyclictest
    kernel = find_kernel(kernel_name)
    files = {
        "init": INIT.format(command=f"/bin/{command}").encode(),
        "bin/busybox": Path("/bin/busybox").read_bytes(),
        "bin/cyclictest": Path(cyclictest).read_bytes(),
        "bin/rtscope-agent": AGENT.read_bytes(),
        **libraries(cyclictest),
    }
    with tempfile.TemporaryDirectory() as name:
        directory = Path(name)
        (directory / KERNEL).symlink_to(kernel_file(kernel))
        write_image(directory, files)
        qemu = qemu_command(find_board(kernel.board, kernel.arch), parse_spec(kernel_name), [])
        subprocess.run(qemu, cwd=directory, stdin=subprocess.DEVNULL, check=True, timeout=600)
        console = (directory / CONSOLE).read_text(errors="replace")
    found = re.search(r"Min:\s*(\d+).*Avg:\s*(\d+)", console)
    if not found:
        raise SystemExit(f"{command} measured nothing:\n{console[-2000:]}")
    return Metrics(int(found[1]), int(found[2]))


def main() -> None:
    """Run the comparison."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--kernel", default=DEBIAN)
    kernel = parser.parse_args().kernel
    if kernel == DEBIAN and DEBIAN not in {known.name for known in list_kernels()}:
        add_package(f"linux-image-{DEBIAN}", name=None, load=[])
    for interval_us in (1000, 200, 50):
        theirs = None
        for name, command in PROGRAMS.items():
            figures = measured(kernel, f"{command} -p80 -i{interval_us} -l{SAMPLES}")
            theirs = theirs or figures
            told = ", ".join(
                f"{what} {mine} ({mine / other:.3f})"
                for what, mine, other in zip(figures._fields, figures, theirs, strict=True)
            )
            print(f"every {interval_us:4} us, {name:21}: {told}", flush=True)


if __name__ == "__main__":
    main()
