# SPDX-License-Identifier: GPL-2.0-only
"""What a user may ask of an emulated machine, and the sentences for what he may not."""

import pytest

from rtscope.lab.boards import BOARDS
from rtscope.lab.machine import parse_spec, qemu_command
from rtscope.model.errors import RtscopeError

LOAD = "rtdelay delay_us=200"


@pytest.mark.parametrize(
    ("text", "cpus", "mode", "mips", "loads"),
    [
        ("x", 1, "exact", 1000.0, []),
        ("x,cpus=4", 4, "fast", 1000.0, []),
        ("x,shape=2x3x2,offline=5", 12, "fast", 1000.0, []),
        ("x,cpus=2,mode=exact,insist=yes", 2, "exact", 1000.0, []),
        (f"x,load={LOAD},mips=500,load=./mine", 1, "exact", 500.0, [LOAD, "./mine"]),
    ],
)
def test_a_name_describes_a_machine(
    text: str, cpus: int, mode: str, mips: float, loads: list[str]
) -> None:
    spec = parse_spec(text)
    assert (spec.kernel, spec.cpus, spec.mode, spec.mips, spec.loads) == (
        "x",
        cpus,
        mode,
        mips,
        loads,
    )


def command_of(text: str, *options: str) -> tuple[list[str], list[str]]:
    """The emulator's command, and the kernel's own options in it."""
    command = qemu_command(BOARDS["pc"], parse_spec(text), [*options])
    return command, command[command.index("-append") + 1].split()


def test_a_machine_becomes_the_emulators_options_and_the_kernels() -> None:
    for mips, shift in {"1000": 0, "500": 1, "250": 2, "125": 3, "62.5": 4, "31.25": 5}.items():
        assert f"shift={shift},sleep=off,align=off" in command_of(f"x,mips={mips}")[0]
    assert "-icount" not in command_of("x,mode=fast")[0]
    command, options = command_of("x,shape=2x3x2,offline=5")
    assert command[command.index("-smp") + 1] == "12,sockets=2,cores=3,threads=2"
    assert "maxcpus=7" in options
    options = command_of("x,preempt=full", "tsc=reliable")[1]
    assert options.index("preempt=full") < options.index("tsc=reliable")


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("", "lacks the name of a kernel"),
        ("x,cpus=2,mode=exact", "take turns, and the turns appear as latency"),
        ("x,mips=300", "one of 1000, 500, 250, 125, 62.5, 31.25"),
        ("x,mode=fast,mips=500", "mips needs mode=exact"),
        ("x,mode=fast,start=restored", "start=restored needs mode=exact and one CPU"),
        ("x,load=", "load lacks a module's name"),
        ("x,shape=2x2", "shape is SOCKETSxCORESxTHREADS"),
        ("x,shape=1x2x2,cpus=2", "is 4 CPUs, not cpus=2"),
        ("x,cpus=2,offline=2", "offline is a number from 0 to 1"),
        ("x,cpus=²", "cpus is a number from 1 to 32"),
        ("x,cpus=1,cpus=2", "'cpus=2' is not a valid option"),
        ("x,kernel=y", "'kernel=y' is not a valid option"),
    ],
)
def test_what_cannot_be_is_refused_in_a_sentence(text: str, sentence: str) -> None:
    with pytest.raises(RtscopeError, match=sentence):
        parse_spec(text)
