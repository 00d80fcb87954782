# SPDX-License-Identifier: GPL-2.0-only
"""What a user may ask of an emulated machine, and the sentences for what he may not."""

import pytest

from rtscope.lab.boards import BOARDS
from rtscope.lab.machine import Spec, parse_spec, qemu_command
from rtscope.model.errors import RtscopeError


def test_a_kernels_name_alone_means_one_cpu_that_counts_instructions() -> None:
    assert parse_spec("x") == Spec(kernel="x", cpus=1, mode="exact", mips=1000.0)


def test_several_cpus_mean_fast_mode() -> None:
    assert parse_spec("x,cpus=4").mode == "fast"


def test_several_cpus_in_exact_mode_are_refused_unless_insisted() -> None:
    with pytest.raises(RtscopeError, match="take turns, and the turns appear as latency"):
        parse_spec("x,cpus=2,mode=exact")
    assert parse_spec("x,cpus=2,mode=exact,insist=yes").mode == "exact"


@pytest.mark.parametrize(
    ("mips", "shift"),
    [("1000", 0), ("500", 1), ("250", 2), ("125", 3), ("62.5", 4), ("31.25", 5)],
)
def test_the_pace_of_instructions_becomes_the_emulators_shift(mips: str, shift: int) -> None:
    command = qemu_command(BOARDS["pc"], parse_spec(f"x,mips={mips}"), [])

    assert f"shift={shift},sleep=off,align=off" in command


def test_a_shape_is_as_many_cpus_as_it_has_threads() -> None:
    spec = parse_spec("x,shape=2x3x2,offline=5")
    assert (spec.cpus, spec.mode) == (12, "fast")
    command = qemu_command(BOARDS["pc"], spec, [])
    assert command[command.index("-smp") + 1] == "12,sockets=2,cores=3,threads=2"
    assert "maxcpus=7" in command[command.index("-append") + 1].split()


def test_fast_mode_counts_no_instructions() -> None:
    assert "-icount" not in qemu_command(BOARDS["pc"], parse_spec("x,mode=fast"), [])


def test_a_kernels_own_options_and_the_choice_of_preemption_reach_its_command_line() -> None:
    command = qemu_command(BOARDS["pc"], parse_spec("x,preempt=full"), ["tsc=reliable"])

    options = command[command.index("-append") + 1].split()
    assert options.index("preempt=full") < options.index("tsc=reliable")


def test_a_module_is_asked_for_with_its_parameters() -> None:
    assert parse_spec("x,load=rtdelay delay_us=200,mips=500").load == "rtdelay delay_us=200"


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("", "lacks the name of a kernel"),
        ("x,mips=300", "one of 1000, 500, 250, 125, 62.5, 31.25"),
        ("x,mode=fast,mips=500", "mips is for mode=exact"),
        ("x,preempt=lazy", "preempt is none, voluntary or full, not 'lazy'"),
        ("x,mode=slow", "mode is exact, fast or kvm, not 'slow'"),
        ("x,mode=fast,start=restored", "start=restored is for mode=exact and one CPU"),
        ("x,start=later", "start is restored or booted, not 'later'"),
        ("x,insist=maybe", "insist is yes or not there, not 'maybe'"),
        ("x,load=", "load lacks a module's name"),
        ("x,shape=2x2", "shape is SOCKETSxCORESxTHREADS"),
        ("x,shape=4x4x4", "cpus is a number from 1 to 32"),
        ("x,shape=1x2x2,cpus=2", "is 4 CPUs, not cpus=2"),
        ("x,cpus=2,offline=2", "offline is a number from 0 to 1"),
        ("x,cpus=0", "cpus is a number from 1 to 32"),
        ("x,cpus=²", "cpus is a number from 1 to 32"),
        ("x,cpus=1,cpus=2", "'cpus=2' is not understood"),
        ("x,kernel=y", "'kernel=y' is not understood"),
        ("x,fast", "'fast' is not understood"),
    ],
)
def test_what_cannot_be_is_refused_in_a_sentence(text: str, sentence: str) -> None:
    with pytest.raises(RtscopeError, match=sentence):
        parse_spec(text)
