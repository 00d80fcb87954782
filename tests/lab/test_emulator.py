# SPDX-License-Identifier: GPL-2.0-only
"""Why a guest ended, as its console tells, and when its boot is begun anew."""

import shlex
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from rtscope.lab.boot import Boot
from rtscope.lab.emulator import STALE_CODE, panic_in
from rtscope.lab.guest import Guest
from rtscope.lab.machine import CONSOLE, PARALLEL
from rtscope.model.errors import RtscopeError
from rtscope.model.run import Lab
from rtscope.target.protocol import End, Hello

_CONSOLE = """\
Oops: int3: 0000 [#1] PREEMPT_RT SMP NOPTI
CPU: 1 UID: 0 PID: 0 Comm: swapper/1 Not tainted 6.12.94-rtscope #1
RIP: 0010:sched_clock_cpu+0x5/0x190
Code: c1 06 00 00 01 0f 84 73 ff ff ff 54 55 53 {met} <90> e8 e5 25 f8 ff 48 03 05 e6 9f a6 00
RSP: 0018:ffff88801f405d78 EFLAGS: 00000002
Call Trace:
 sched_init_debug+0x41/0x270
RIP: 0010:kmem_cache_alloc_lru_noprof+0x55/0x140
Code: 48 8b 7d 08 4c 89 ee {other} <49> 9c 0b 00 e9 6a ff ff ff 31
Kernel panic - not syncing: Fatal exception in interrupt
Kernel Offset: disabled
"""


@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_a_breakpoint_that_no_memory_holds_is_the_emulators_fault_and_is_told(end: str) -> None:
    """Which is what QEMU 7.2 met in a guest with two CPUs, whose kernel is the one above."""
    console = _CONSOLE.format(met="66", other="cc").replace("\n", end)
    assert panic_in(console) == f"Fatal exception in interrupt ({STALE_CODE})"


def test_a_breakpoint_that_is_there_is_the_kernels_own_fault() -> None:
    console = _CONSOLE.format(met="cc", other="66")
    assert panic_in(console) == "Fatal exception in interrupt"


def test_where_cpus_take_turns_or_are_the_hosts_it_is_not_the_emulators_fault() -> None:
    console = _CONSOLE.format(met="66", other="cc")
    assert panic_in(console, parallel=False) == "Fatal exception in interrupt"


def test_the_code_of_another_oops_says_nothing_of_the_breakpoint() -> None:
    unreadable = "Oops: int3: 0000 [#1]\nCode: Unable to access opcode bytes at 0x0.\n"
    console = unreadable + _CONSOLE.format(met="66", other="66").replace("int3: 0000", "0002")
    assert panic_in(console) == "Fatal exception in interrupt"


@pytest.mark.parametrize("oops", ["Oops: 0002", "Oops: general protection fault, maybe: 0000"])
def test_another_fault_is_the_kernels_own(oops: str) -> None:
    console = _CONSOLE.format(met="66", other="66").replace("Oops: int3: 0000", oops)
    assert panic_in(console) == "Fatal exception in interrupt"


def test_a_breakpoint_that_ended_no_kernel_is_no_panic() -> None:
    assert panic_in(_CONSOLE.format(met="66", other="66").partition("Kernel panic")[0]) == ""


@contextmanager
def guest(folder: Path, agent: Path, panics: int) -> Iterator[Guest]:
    """The agent itself instead of a machine, whose first boots panic by the emulator's fault."""
    (folder / "panic").write_text(_CONSOLE.format(met="66", other="cc"))
    here = shlex.quote(str(folder))
    script = f"""
        echo >> {here}/boots
        [ $(wc -l < {here}/boots) -gt {panics} ] && exec {shlex.quote(str(agent))} machine --json
        cp {here}/panic {CONSOLE}
    """
    (folder / "kernel").touch()
    lab = Lab("fast", None, 2, 1, "7.2", ["sh", "-c", script, PARALLEL], "a", "b", "c", None, "d")
    guest = Guest(Boot(lab, folder / "kernel", b""), 60.0, [], None)
    try:
        yield guest
    finally:
        guest.close()


def test_a_boot_that_the_emulator_made_panic_is_begun_anew(
    tmp_path: Path, agent_path: Path
) -> None:
    with guest(tmp_path, agent_path, panics=2) as one:
        lines = list(one.lines(60.0))
    assert isinstance(lines[0], Hello)
    assert isinstance(lines[-1], End)
    assert sum(isinstance(line, Hello) for line in lines) == 1


def test_a_boot_that_panics_each_time_ends_and_is_told(tmp_path: Path, agent_path: Path) -> None:
    with guest(tmp_path, agent_path, panics=9) as one, pytest.raises(RtscopeError) as told:
        list(one.lines(60.0))
    assert STALE_CODE in str(told.value)
    assert (tmp_path / "boots").read_text().count("\n") == 3
