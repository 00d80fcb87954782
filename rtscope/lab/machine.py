# SPDX-License-Identifier: GPL-2.0-only
"""A VM: the user's options, and QEMU's command line for it."""

import math
import re
import shutil
import subprocess
from collections.abc import Sequence
from typing import Final, Literal, cast, get_args

import msgspec

from rtscope.lab.boards import Board
from rtscope.model.errors import RtscopeError
from rtscope.model.run import LabMode as Mode

KERNEL: Final = "kernel"
INITRAMFS: Final = "initramfs.cpio"
PARALLEL: Final = "tcg,thread=multi"
"""accelerator of CPUs that are emulated in parallel"""
CONSOLE: Final = "console.txt"
SAMPLES: Final = "samples"
ARGUMENTS: Final = "args"
SNAPSHOT: Final = "snapshot"
MONITOR: Final = "monitor"
"""names of files in QEMU's directory"""

_SHIFT_OF_MIPS: Final[dict[float, int]] = {1000 / (1 << shift): shift for shift in range(6)}
"""Beyond a shift of 5 the kernel's timers do not keep up, and latency does not scale."""
_MOST_CPUS: Final = 32
Preempt = Literal["none", "voluntary", "full", "lazy"]
"""preemption models that a kernel with CONFIG_PREEMPT_DYNAMIC may offer at boot"""


_SINGLE: Final = (
    "cpus", "shape", "offline", "mode", "mips", "memory", "seed", "preempt", "start", "insist",
)  # fmt: skip
_LACKING: Final = {  # what a repeatable option takes
    "load": "a module's name",
    "file": "a path",
    "run": "a command",
    "append": "kernel parameters",
}
_PIECE: Final = re.compile(r"\\[\\,]|.", re.DOTALL)
_LONGEST_VALUE: Final = 4000
"""bytes; the guest's init reads lines of 4096"""
_LONGEST_APPEND: Final = 1024
"""characters; the kernel's whole command line has 2048 on most architectures"""


class Spec(msgspec.Struct, frozen=True):
    """The user's options: vm:KERNEL,cpus=1,mips=1000,mode=exact,memory=512,seed=1.

    Also shape=SOCKETSxCORESxTHREADS, offline=N, preempt=full, and, any number of times,
    load=MODULE PARAMETER=VALUE ..., file=PATH, run=COMMAND and append=KERNEL_PARAMETERS.
    """

    kernel: str
    cpus: int = 1
    shape: tuple[int, int, int] | None = None
    """sockets, cores per socket and threads per core of the guest; None for QEMU's default"""
    offline: int = 0
    """number of CPUs, the last ones, that the guest's kernel leaves offline"""
    mode: Mode = "exact"
    mips: float = 1000.0
    memory: int | None = None
    """MiB; None for the board's default"""
    seed: int = 1
    preempt: Preempt | None = None
    """preemption model chosen at boot; None for the kernel's default"""
    loads: list[str] = []
    """modules and their parameters, in insmod's syntax: a module of the kernel, a module file, or
    a directory with a module's source"""
    files: list[str] = []
    """files and directories for the guest, as PATH or PATH:PATH_IN_THE_GUEST"""
    commands: list[str] = []
    """shell commands that the guest runs before the agent, in order"""
    append: str = ""
    """more kernel parameters"""
    start: Literal["restored", "booted"] | None = None
    """restored from a snapshot at the end of the boot, or booted; None: restored if possible"""


def with_options(name: str, key: str, values: Sequence[str]) -> str:
    """The name of the target with an option for each value: with_options("vm:x", "run", ["a,b"])
    is "vm:x,run=a\\,b". Raises RtscopeError for other targets than VMs.
    """
    if values and not name.startswith("vm:"):
        raise RtscopeError(
            f"{name}: only a VM of the lab takes modules, files, commands and kernel parameters: "
            "choose one with --target vm:KERNEL; `rtscope lab kernel list` lists the kernels"
        )
    escaped = [re.sub(r"[\\,]", r"\\\g<0>", value) for value in values]
    return "".join([name, *(f",{key}={value}" for value in escaped)])


def parse_spec(text: str) -> Spec:
    """Parse the text after "vm:". Raises RtscopeError."""
    kernel, *pairs = _unescaped(text)
    given: dict[str, str] = {}
    lists: dict[str, list[str]] = {key: [] for key in _LACKING}
    for pair in pairs:
        key, equals, value = pair.partition("=")
        if equals and key in lists:
            lists[key].append(_checked(text, key, value))
            continue
        if not equals or key in given or key not in _SINGLE:
            raise RtscopeError(
                f"vm:{text}: '{pair}' is not a valid option: after the kernel's name you can give "
                "cpus=N, "
                "shape=SOCKETSxCORESxTHREADS, offline=N, mode=exact, fast or kvm, mips=N, "
                "memory=MIB, seed=N, preempt=none, voluntary, full or lazy, and start=restored or "
                "booted, once each, and load=MODULE, file=PATH, run=COMMAND and "
                "append=KERNEL_PARAMETERS, any number of times; \\, is a comma within a value"
            )
        given[key] = value
    if not kernel:
        raise RtscopeError("vm: lacks the name of a kernel; `rtscope lab kernel list` lists them")
    shape = _shape(text, given)
    cpus = _number(text, given, "cpus", math.prod(shape or (1,)), 1, _MOST_CPUS)
    if shape and math.prod(shape) != cpus:
        raise RtscopeError(
            f"vm:{text}: shape {given['shape']} is {math.prod(shape)} CPUs, not cpus={cpus}: leave "
            "out cpus"
        )
    mode = given.get("mode", "exact" if cpus == 1 else "fast")
    if mode not in get_args(Mode):
        raise RtscopeError(f"vm:{text}: mode is exact, fast or kvm, not '{mode}'")
    if given.get("insist", "yes") != "yes":
        raise RtscopeError(f"vm:{text}: insist is yes or left out, not '{given['insist']}'")
    if mode == "exact" and cpus > 1 and "insist" not in given:
        raise RtscopeError(
            f"vm:{text}: with more than one CPU in exact mode the CPUs take turns, and the turns "
            "appear as latency: use one CPU, or mode=fast to see which thread runs on which CPU; "
            "insist=yes overrides this"
        )
    return Spec(
        kernel=kernel,
        cpus=cpus,
        shape=shape,
        offline=_number(text, given, "offline", 0, 0, cpus - 1),
        mode=cast("Mode", mode),
        mips=_mips(text, given, mode),
        memory=_number(text, given, "memory", 0, 64, 1 << 20) if "memory" in given else None,
        seed=_number(text, given, "seed", 1, 0, 2**32 - 1),
        preempt=_preempt(text, given),
        loads=lists["load"],
        files=lists["file"],
        commands=lists["run"],
        append=" ".join(lists["append"]),
        start=_start(text, given, mode, cpus),
    )


def _unescaped(text: str) -> list[str]:
    """The parts between commas, in which a backslash stands before a comma or a backslash."""
    parts = [""]
    for piece in _PIECE.findall(text):
        if piece == ",":
            parts.append("")
        else:
            parts[-1] += piece[-1]
    return parts


def _checked(text: str, key: str, value: str) -> str:
    """The value of a repeatable option. Raises RtscopeError."""
    if not value.strip() or not value.isprintable():
        raise RtscopeError(f"vm:{text}: {key} lacks {_LACKING[key]}")
    if len(value.encode()) > _LONGEST_VALUE:
        raise RtscopeError(f"vm:{text}: {key} has more than {_LONGEST_VALUE} bytes")
    words = value.split()
    if key == "append" and (len(value) > _LONGEST_APPEND or not value.isascii() or "--" in words):
        raise RtscopeError(
            f"vm:{text}: append= takes kernel parameters in up to {_LONGEST_APPEND} characters of "
            "ASCII, without '--'"
        )
    return value


def _shape(text: str, given: dict[str, str]) -> tuple[int, int, int] | None:
    if "shape" not in given:
        return None
    found = re.fullmatch(r"([1-9][0-9]?)x([1-9][0-9]?)x([1-9][0-9]?)", given["shape"])
    if not found:
        raise RtscopeError(
            f"vm:{text}: shape is SOCKETSxCORESxTHREADS such as 1x2x2, not '{given['shape']}'"
        )
    return int(found[1]), int(found[2]), int(found[3])


def _number(text: str, given: dict[str, str], key: str, usual: int, least: int, most: int) -> int:
    value = given.get(key, str(usual))
    if not re.fullmatch(r"[0-9]{1,10}", value) or not least <= int(value) <= most:
        raise RtscopeError(f"vm:{text}: {key} is a number from {least} to {most}, not '{value}'")
    return int(value)


def _preempt(text: str, given: dict[str, str]) -> Preempt | None:
    match given.get("preempt"):
        case None | "none" | "voluntary" | "full" | "lazy" as preempt:
            return preempt
        case other:
            raise RtscopeError(
                f"vm:{text}: preempt is none, voluntary, full or lazy, not '{other}'"
            )


def _start(
    text: str, given: dict[str, str], mode: str, cpus: int
) -> Literal["restored", "booted"] | None:
    match given.get("start"):
        case None | "booted" as start:
            return start if mode == "exact" and cpus == 1 else "booted"
        case "restored" if mode == "exact" and cpus == 1:
            return "restored"
        case "restored":
            raise RtscopeError(f"vm:{text}: start=restored needs mode=exact and one CPU")
        case other:
            raise RtscopeError(f"vm:{text}: start is restored or booted, not '{other}'")


def _mips(text: str, given: dict[str, str], mode: str) -> float:
    if "mips" not in given:
        return 1000.0
    if mode != "exact":
        raise RtscopeError(f"vm:{text}: mips needs mode=exact; otherwise the host sets the rate")
    for mips in _SHIFT_OF_MIPS:
        if given["mips"] == f"{mips:g}":
            return mips
    choices = ", ".join(f"{mips:g}" for mips in _SHIFT_OF_MIPS)
    raise RtscopeError(
        f"vm:{text}: mips is one of {choices} (an instruction takes a power of two of ns), not "
        f"'{given['mips']}'"
    )


def qemu_version(board: Board) -> str:
    """The emulator's version. Raises RtscopeError if it is not installed."""
    if not shutil.which(board.emulator):
        raise RtscopeError(
            f"{board.emulator} is not installed: install the package {board.package}"
        )
    done = subprocess.run(
        [board.emulator, "--version"], capture_output=True, text=True, check=False, timeout=60
    )
    found = re.search(r"version (.+)", done.stdout)
    if not found:
        raise RtscopeError(f"{board.emulator} does not run: {done.stderr.strip() or 'no version'}")
    return found[1].strip()


def qemu_command(
    board: Board, spec: Spec, kernel_options: list[str], *, stops: bool = False
) -> list[str]:
    """QEMU's command line. QEMU runs in the run's own directory, so that no path changes it.
    `kernel_options` are specific to the kernel, after those for every kernel. With `stops` the
    VM stops when its boot is over, for a snapshot, and then reads its arguments from a separate
    file.

    Every flag of exact mode is needed for two runs to be the same: fixed dates and seeds, a
    virtual clock that counts instructions and never waits for the host's, and no random numbers
    of the host's.
    """
    lines, samples = board.channels
    options = [
        "quiet",
        *_kernel_options(board, spec, kernel_options),
        f"rtscope_channel={lines}",
        f"rtscope_samples={samples}",
        *(["rtscope_snapshot=1"] if stops else []),
    ]
    snapshot = [
        "-device", "i6300esb", "-action", "watchdog=pause",
        "-qmp", f"unix:{MONITOR},server=on,wait=off",
        "-fw_cfg", f"name=opt/rtscope/args,file={ARGUMENTS}",
    ]  # fmt: skip
    return [
        *_machine(board, spec), "-serial", f"file:{CONSOLE}",
        "-chardev", "stdio,id=lines,signal=off", "-chardev", f"file,id=samples,path={SAMPLES}",
        *board.ports,
        *(snapshot if stops else []),
        "-kernel", KERNEL, "-initrd", INITRAMFS, "-append", " ".join(options),
    ]  # fmt: skip


def console_command(
    board: Board, spec: Spec, kernel_options: list[str], *, ends_on_interrupt: bool
) -> list[str]:
    """QEMU's command line for interactive use: the console is the terminal, where Ctrl-A x ends
    it. With `ends_on_interrupt` Ctrl-C ends it too; otherwise the guest receives it. The
    output is also written to a file.
    """
    signal = "on" if ends_on_interrupt else "off"
    options = _kernel_options(board, spec, kernel_options)
    return [
        *_machine(board, spec),
        "-chardev", f"stdio,id=console,mux=on,signal={signal},logfile={CONSOLE}",
        "-serial", "chardev:console", "-mon", "chardev=console",
        "-kernel", KERNEL, "-initrd", INITRAMFS, "-append", " ".join(options),
    ]  # fmt: skip


def _kernel_options(board: Board, spec: Spec, own: list[str]) -> list[str]:
    return [
        f"console={board.console}",
        *([f"earlycon={board.earlycon}"] if board.earlycon else []),
        "panic=-1 nokaslr norandmaps random.trust_cpu=off random.trust_bootloader=off",
        "cryptomgr.notests",
        *([f"preempt={spec.preempt}"] if spec.preempt else []),
        *([f"maxcpus={spec.cpus - spec.offline}"] if spec.offline else []),
        *own,
        *([spec.append] if spec.append else []),
    ]


def _machine(board: Board, spec: Spec) -> list[str]:
    """The emulator and the VM without its ports."""
    if spec.mode == "exact":
        time = ["-rtc", "base=2020-01-01T00:00:00,clock=vm", "-accel", "tcg,thread=single"]
        time += ["-icount", f"shift={_SHIFT_OF_MIPS[spec.mips]},sleep=off,align=off"]
    elif spec.mode == "kvm":
        time = ["-accel", "kvm"]
    else:
        # QEMU warns about this on MIPS, but CPUs with turns of 0.1 s do not answer cross calls in
        # time.
        time = ["-accel", PARALLEL]
    cpus = f"{spec.cpus},sockets={spec.cpus}" if board.sockets else str(spec.cpus)
    if spec.shape:
        sockets, cores, threads = spec.shape
        cpus = f"{spec.cpus},sockets={sockets},cores={cores},threads={threads}"
    return [
        board.emulator, "-nodefaults", "-no-user-config", *board.options,
        "-smp", cpus, "-m", str(spec.memory or board.memory), "-seed", "1", *time,
        "-display", "none", "-no-reboot",
    ]  # fmt: skip
