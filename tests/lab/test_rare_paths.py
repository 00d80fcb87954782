"""The debug kernels of powerpc have nothing to complain of where no probe and no load leads."""

import re
import subprocess
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest

from rtscope.experiment.measure import Request, measure
from rtscope.lab.boards import BOARDS
from rtscope.lab.image import initramfs
from rtscope.lab.kernels import Kernel, kernel_file
from rtscope.lab.machine import CONSOLE, INITRAMFS, KERNEL, qemu_command
from rtscope.lab.tether import tethered
from rtscope.lab.vm import VmTarget, vm_target
from rtscope.model.machine import Machine

Built = Callable[[str], Kernel]

SOURCE = Path(__file__).parent / "rare_paths_guest.c"
COMPILERS = Path(__file__).parents[2] / "build" / "musl"
LIMIT_S = 900
COMPLAINT = re.compile(
    r"^.*(?:WARNING: (?!nvram)|BUG: |INFO: |possible .*lock|Call Trace:).*", re.MULTILINE
)

MACHINES = [
    ("e6500-rt-debug", "ppce500"),
    ("pseries-rt-debug", "pseries"),
    ("pseries-rt-debug", "pseries-power9"),
]

pytestmark = [
    pytest.mark.long,
    pytest.mark.parametrize(("name", "board"), MACHINES, ids=[board for _, board in MACHINES]),
]


@pytest.fixture(autouse=True)
def _agent_of_this_checkout(agent_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RTSCOPE_AGENT", str(agent_path))


def machine_of(name: str, board: str, options: str) -> VmTarget:
    return msgspec.structs.replace(vm_target(f"vm:{name}{options}"), board=BOARDS[board])


def complaints(console: str) -> list[str]:
    assert "Lock dependency validator" in console, console[-2000:]
    return COMPLAINT.findall(console)


def test_a_load_does_not_make_it_complain_on_each_of_its_boards(
    name: str, board: str, built: Built
) -> None:
    built(name)
    request = Request(probe="cyclic", load="mixed", samples=300)
    target = machine_of(name, board, "")
    run = measure(request, Machine(), lambda agent: None, lambda line: None, target)

    assert run.status == "complete"
    assert run.lab is not None
    assert run.lab.console is not None
    assert complaints(run.lab.console) == []


def test_what_programs_seldom_do_does_not_make_it_complain(
    name: str, board: str, built: Built, tmp_path: Path
) -> None:
    kernel = built(name)
    target = machine_of(name, board, ",cpus=2")
    compiler = COMPILERS / kernel.arch / "bin" / "cc"
    program = tmp_path / "guest"
    subprocess.run([compiler, "-O2", "-Werror", "-static", "-o", program, SOURCE], check=True)
    (tmp_path / KERNEL).symlink_to(kernel_file(kernel))
    (tmp_path / INITRAMFS).write_bytes(initramfs({"init": program.read_bytes()}))
    done = subprocess.run(
        tethered(qemu_command(target.board, target.spec, target.kernel_options()), "KILL"),
        cwd=tmp_path,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=True,
        timeout=LIMIT_S,
    )
    console = (tmp_path / CONSOLE).read_text(errors="replace")

    assert done.stdout.rstrip().endswith("@ end"), console[-2000:]
    assert complaints(console) == []
    paths = dict(re.findall(r"^@ ([\w ]+): (.*?)\r?$", done.stdout, re.MULTILINE))
    hotplug = "0 times" if board == "ppce500" else "3 times"  # it cannot turn CPUs off
    assert paths == {
        "float": "signal 8",
        "instruction": "signal 4",
        "trap": "signal 5",
        "address": "signal 11",
        "cpu time": "signal 26",
        "step": "20 steps",
        "copy": "3 times",
        "patch": "3 times",
        "hotplug": hotplug,
    }
