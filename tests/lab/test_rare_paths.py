# SPDX-License-Identifier: GPL-2.0-only
"""The debug kernels of the ports have nothing to complain of where no probe and no load leads."""

import re
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest

from rtscope.engine.measure import measure
from rtscope.lab.boards import BOARDS
from rtscope.lab.kernels import Kernel
from rtscope.lab.vm import VmTarget, vm_target
from rtscope.model.machine import Machine
from rtscope.model.request import Request
from tests.lab.complaints import complaints
from tests.lab.guest_program import results, run_guest

Built = Callable[[str], Kernel]

LIMIT_S = 1800
MACHINES = [
    ("e6500-rt-debug", "ppce500"),
    ("pseries-rt-debug", "pseries"),
    ("pseries-rt-debug", "pseries-power9"),
    ("malta-rt-debug", "malta"),
    ("loongson2e-rt-debug", "fuloong2e"),
]
DUMP = re.compile("rare paths: a dump begins.*?rare paths: the dump is over", re.DOTALL)
SEEN = {
    "float": "Arithmetic exception",
    "instruction": "Illegal instruction",
    "trap": "Trace/breakpoint trap",
    "address": "Segmentation fault",
    "cpu time": "Virtual timer expired",
    "step": "20 stops",
    "system call": "20 stops",
    "unaligned": "right",
    "copy": "3 times",
    "patch": "3 times",
    "module": "3 times",
    "hotplug": "3 times",
    "sysrq l": "taken",
    "sysrq x": "taken",
    "lockdep": "looks",
}
SEEN_ELSEWHERE = {
    "ppce500": {"hotplug": "0 times"},  # it cannot turn CPUs off
    "fuloong2e": {"hotplug": "0 times", "step": "0 stops"},
    "malta": {"step": "0 stops"},  # MIPS leaves steps to the debugger
}

pytestmark = pytest.mark.long


def machine_of(name: str, board: str, options: str = "") -> VmTarget:
    return msgspec.structs.replace(vm_target(f"vm:{name}{options}"), board=BOARDS[board])


def test_a_load_does_not_make_it_complain_on_the_other_board_of_its_kernel(built: Built) -> None:
    built("pseries-rt-debug")
    request = Request(probe="cyclic", load="mixed", samples=300)
    target = machine_of("pseries-rt-debug", "pseries-power9")
    run = measure(request, Machine(), lambda agent: None, lambda line: None, target)

    assert run.status == "complete"
    assert run.lab is not None
    assert complaints(run.lab.console) == []


@pytest.mark.parametrize(("name", "board"), MACHINES, ids=[board for _, board in MACHINES])
def test_what_programs_seldom_do_does_not_make_it_complain(
    name: str, board: str, built: Built, tmp_path: Path
) -> None:
    built(name)
    cpus = min(2, BOARDS[board].most_cpus)
    target = machine_of(name, board, f",cpus={cpus}")
    came = run_guest(target, "rare_paths_guest.c", tmp_path, modules=["rtdelay"], limit_s=LIMIT_S)
    reported, _, log = came.said.partition("@ log")
    dumps = DUMP.findall(log)

    assert complaints(DUMP.sub(lambda dump: dump[0].replace("Call Trace:", ""), log)) == []
    assert results(reported) == SEEN | SEEN_ELSEWHERE.get(board, {})
    assert ("Show backtrace of all active CPUs" in dumps[0]) == (cpus > 1)
    if target.board.arch == "mips64el":
        assert "Show TLB entries" in dumps[1]
