"""The debug kernels of the ports have nothing to complain of, whatever runs on them."""

import re
from collections.abc import Callable
from pathlib import Path

import pytest

from rtscope.experiment.measure import Request, measure
from rtscope.experiment.targets import target_of
from rtscope.lab.boards import find_board
from rtscope.lab.kernels import Kernel
from rtscope.lab.recipes import recipes
from rtscope.model.machine import Machine

Built = Callable[[str], Kernel]

KERNELS = sorted(name for name in recipes().kernels if name.endswith("-debug"))
PROBES = ["async", "cyclic", "gtod", "loop", "migrate", "noise", "pi", "sched", "signal"]
LOADS = ["idle", "files:50", "network:1", "process:2", "mixed"]
COMPLAINT = re.compile(
    r"WARNING: (?!nvram)|BUG: |INFO: |Oops|possible .* detected|inconsistent lock state|"
    r"suspicious RCU|scheduling while atomic|[Uu]nable to handle"
)

pytestmark = [pytest.mark.long, pytest.mark.parametrize("name", KERNELS)]


@pytest.fixture(autouse=True)
def _agent_of_this_checkout(agent_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RTSCOPE_AGENT", str(agent_path))


def complaints(kernel: Kernel, probe: str, load: str) -> list[str]:
    """What the kernel said on its console of what it should not have met.

    On two CPUs where its board has them.
    """
    cpus = min(2, find_board(kernel.board, kernel.arch).most_cpus)
    request = Request(probe=probe, samples=300, load=load)
    target = target_of(f"vm:{kernel.name},cpus={cpus}")
    run = measure(request, Machine(), lambda agent: None, lambda line: None, target)

    assert run.status == "complete"
    assert run.lab is not None
    assert "Lock dependency validator" in run.lab.console
    return [line for line in run.lab.console.splitlines() if COMPLAINT.search(line)]


@pytest.mark.parametrize("load", LOADS)
def test_no_load_makes_it_complain(name: str, load: str, built: Built) -> None:
    assert complaints(built(name), "cyclic", load) == []


@pytest.mark.parametrize("probe", PROBES)
def test_no_probe_makes_it_complain(name: str, probe: str, built: Built) -> None:
    assert complaints(built(name), probe, "idle") == []
