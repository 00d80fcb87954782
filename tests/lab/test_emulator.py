# SPDX-License-Identifier: GPL-2.0-only
"""Why a guest ended, as its console tells, and when its boot is begun anew."""

import shlex
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from rtscope.lab.boot import Boot
from rtscope.lab.emulator import STALE_CODE, panic_in
from rtscope.lab.guest import Guest
from rtscope.lab.machine import CONSOLE, PARALLEL
from rtscope.model.errors import BootError, RtscopeError
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


# What QEMU 7.2 met in a guest with two CPUs: no memory holds the breakpoint.
_STALE = _CONSOLE.format(met="66", other="cc")
_FAULT = _CONSOLE.format(met="66", other="66")
_UNREADABLE = "Oops: int3: 0000 [#1]\nCode: Unable to access opcode bytes at 0x0.\n"
_CAUSE = "Fatal exception in interrupt"


@pytest.mark.parametrize(
    ("console", "parallel", "cause"),
    [
        (_STALE, True, f"{_CAUSE} ({STALE_CODE})"),
        (_STALE.replace("\n", "\r\n"), True, f"{_CAUSE} ({STALE_CODE})"),
        (_STALE, False, _CAUSE),
        (_CONSOLE.format(met="cc", other="66"), True, _CAUSE),
        (_UNREADABLE + _FAULT.replace("int3: 0000", "0002"), True, _CAUSE),
        (_FAULT.replace("int3: 0000", "0002"), True, _CAUSE),
        (_FAULT.replace("int3: 0000", "general protection fault, maybe: 0000"), True, _CAUSE),
        (_FAULT.partition("Kernel panic")[0], True, ""),
    ],
)
def test_only_a_breakpoint_that_no_memory_holds_is_the_emulators_fault(
    console: str, parallel: bool, cause: str
) -> None:
    assert panic_in(console, parallel=parallel) == cause


@contextmanager
def guest(folder: Path, agent: Path, panics: int, said: str = "") -> Iterator[Guest]:
    """The agent itself instead of a machine, whose first boots say a line and panic, by
    the emulator's fault."""
    (folder / "panic").write_text(_CONSOLE.format(met="66", other="cc"))
    (folder / "said").write_text(said)
    here = shlex.quote(str(folder))
    script = f"""
        echo >> {here}/boots
        [ $(wc -l < {here}/boots) -gt {panics} ] && exec {shlex.quote(str(agent))} machine --json
        cat {here}/said
        cp {here}/panic {CONSOLE}
    """
    (folder / "kernel").touch()
    lab = Lab("fast", None, 2, 1, "7.2", ["sh", "-c", script, PARALLEL], "a", "b", "c", None, "d")
    guest = Guest(Boot(lab, folder / "kernel", b""), 60.0, [], None)
    try:
        yield guest
    finally:
        guest.close()


@pytest.mark.parametrize("said", [False, True], ids=["in the boot", "after hello"])
def test_a_guest_that_the_emulator_made_panic_before_it_measured_is_started_again(
    tmp_path: Path, agent_path: Path, said: bool
) -> None:
    command = [str(agent_path), "machine", "--json"]
    hello = subprocess.check_output(command, text=True).splitlines(keepends=True)[0]
    with guest(tmp_path, agent_path, panics=2, said=hello if said else "") as one:
        lines = list(one.lines(60.0))
    assert isinstance(lines[0], Hello)
    assert isinstance(lines[-1], End)
    assert sum(isinstance(line, Hello) for line in lines) == 1


@pytest.mark.parametrize("said", [False, True], ids=["in the boot", "after hello"])
def test_a_boot_that_panics_each_time_ends_and_is_reported(
    tmp_path: Path, agent_path: Path, said: bool
) -> None:
    command = [str(agent_path), "machine", "--json"]
    hello = subprocess.check_output(command, text=True).splitlines(keepends=True)[0]
    with (
        guest(tmp_path, agent_path, panics=9, said=hello if said else "") as one,
        pytest.raises(RtscopeError) as reported,
    ):
        list(one.lines(60.0))
    assert STALE_CODE in str(reported.value)
    assert isinstance(reported.value, BootError) != said
    assert (tmp_path / "boots").read_text().count("\n") == 3
