# SPDX-License-Identifier: GPL-2.0-only
"""The boards that the lab emulates, and their differences."""

from typing import Final

import msgspec

from rtscope.model.errors import RtscopeError

_PCI_PORTS: Final = [
    *("-device", "pci-serial,chardev=lines"),
    *("-device", "pci-serial,chardev=samples"),
]


class Board(msgspec.Struct, frozen=True):
    """An emulated board and its properties."""

    arch: str
    """named as the agents: the output of uname -m, except for mips64el and powerpc64"""
    emulator: str
    package: str
    options: list[str]
    console: str
    """the kernel's name of the first serial port"""
    ports: list[str]
    """QEMU's options for the agent's ports, whose character devices are "lines" and "samples" """
    channels: tuple[str, str]
    """the kernel's names of those ports: for lines and for samples"""
    earlycon: str | None = None
    """earlycon= parameter, for a panic before the console has a driver; None if the kernel needs
    none
    """
    most_cpus: int = 32
    sockets: bool = False
    """each CPU needs its own socket: a kernel without ACPI sees only the first CPU of each"""
    memory: int = 512
    """default memory in MiB"""
    restores: bool = True
    """supports snapshots: has a PCI watchdog that stops it, and QEMU's firmware configuration"""


def _partition(cpu: str) -> Board:
    """A hypervisor's partition. Its CPU needs no mitigations, and no firmware runs."""
    sound = "cap-cfpc=broken,cap-sbbc=broken,cap-ibs=broken,cap-ccf-assist=off"
    return Board(
        arch="powerpc64",
        emulator="qemu-system-ppc64",
        package="qemu-system-ppc",
        options=["-machine", f"pseries,x-vof=on,{sound}", "-cpu", cpu],
        console="hvc0",
        ports=_PCI_PORTS,
        channels=("/dev/ttyS0", "/dev/ttyS1"),
        restores=False,
    )


BOARDS: Final = {
    "pc": Board(
        arch="x86_64",
        emulator="qemu-system-x86_64",
        package="qemu-system-x86",
        sockets=True,
        options=["-machine", "pc", "-cpu", "max,-rdrand,-rdseed"],
        console="ttyS0",
        earlycon="uart8250,io,0x3f8",
        ports=["-serial", "chardev:lines", "-serial", "chardev:samples"],
        channels=("/dev/ttyS1", "/dev/ttyS2"),
    ),
    "arm64-virt": Board(
        arch="aarch64",
        emulator="qemu-system-aarch64",
        package="qemu-system-arm",
        options=["-machine", "virt,gic-version=3", "-cpu", "cortex-a72,cntfrq=1000000000"],
        console="ttyAMA0",
        earlycon="pl011,mmio32,0x9000000",
        ports=_PCI_PORTS,
        channels=("/dev/ttyS0", "/dev/ttyS1"),
    ),
    "riscv64-virt": Board(
        arch="riscv64",
        emulator="qemu-system-riscv64",
        package="qemu-system-misc",
        options=["-machine", "virt", "-cpu", "rv64"],
        console="ttyS0",
        earlycon="uart8250,mmio,0x10000000",
        ports=_PCI_PORTS,
        channels=("/dev/ttyS1", "/dev/ttyS2"),
        restores=False,  # QEMU creates this board's firmware configuration after it reads -fw_cfg
    ),
    # Its PCI interrupts end the emulator (kernel/patches/linux-6.12/lab-loongson2e), so the agent's
    # ports are those of ISA cards that Linux supports.
    "fuloong2e": Board(
        arch="mips64el",
        emulator="qemu-system-mips64el",
        package="qemu-system-mips",
        options=["-machine", "fuloong2e"],
        console="ttyS0",
        earlycon="uart8250,io,0x3f8",
        ports=[
            *("-device", "isa-serial,iobase=0x1a0,irq=9,chardev=lines"),
            *("-device", "isa-serial,iobase=0x2a0,irq=5,chardev=samples"),
        ],
        channels=("/dev/ttyS1", "/dev/ttyS5"),
        most_cpus=1,
        memory=256,
        restores=False,
    ),
    "malta": Board(
        arch="mips64el",
        emulator="qemu-system-mips64el",
        package="qemu-system-mips",
        options=["-machine", "malta", "-cpu", "I6400"],
        console="ttyS0",
        earlycon="uart8250,io,0x3f8",
        ports=["-serial", "chardev:lines", "-device", "pci-serial,chardev=samples"],
        channels=("/dev/ttyS1", "/dev/ttyS3"),
        most_cpus=8,
        restores=False,
    ),
    # Its kernel gives the first PCI card port 0, which the emulator lacks: not the agent's card.
    "ppce500": Board(
        arch="powerpc64",
        emulator="qemu-system-ppc64",
        package="qemu-system-ppc",
        options=["-machine", "ppce500", "-cpu", "e6500", "-device", "pci-testdev"],
        console="ttyS0",
        ports=_PCI_PORTS,
        channels=("/dev/ttyS1", "/dev/ttyS2"),
        most_cpus=8,
        restores=False,
    ),
    "pseries": _partition("power8"),
    "pseries-power9": _partition("power9"),
}
"""By name; the first of an architecture is the default for its kernels."""


def find_board(name: str | None, arch: str) -> Board:
    """The board of this name, or the default of an architecture. Raises RtscopeError."""
    fitting = {one: board for one, board in BOARDS.items() if board.arch == arch}
    if not fitting:
        raise RtscopeError(f"the lab has no board for kernels of the architecture {arch}")
    if name is None:
        return next(iter(fitting.values()))
    if name not in fitting:
        raise RtscopeError(
            f"the lab has no board '{name}' for kernels of the architecture {arch}: it has "
            f"{', '.join(fitting)}"
        )
    return fitting[name]
