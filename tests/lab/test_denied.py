# SPDX-License-Identifier: GPL-2.0-only
"""What the kernel denies the agent once that has begun is told with the run."""

import json
from pathlib import Path

import pytest

from rtscope.lab.kernels import Kernel
from rtscope.lab.vm import vm_target
from tests.agent.probing import Lines, of_type, threads
from tests.lab.guest_program import run_guest

LIMIT_S = 300


@pytest.fixture(scope="module")
def said(
    rt_kernel: Kernel, agent_path: Path, tmp_path_factory: pytest.TempPathFactory
) -> dict[str, str]:
    """By the agent, for each probe."""
    came = run_guest(
        vm_target(f"vm:{rt_kernel.name},mode=fast"),
        "denied_guest.c",
        tmp_path_factory.mktemp("denied"),
        modules=["rtdaq"],
        files={"agent": agent_path.read_bytes()},
        limit_s=LIMIT_S,
    )
    return {part.split()[0]: part for part in came.said.split("@ ")[1:]}


def lines_of(said: str) -> Lines:
    return [json.loads(line) for line in said.splitlines() if line.startswith("{")]


def test_daq_measures_on_where_it_may_not_set_the_interrupts_priority(
    said: dict[str, str],
) -> None:
    lines = lines_of(said["daq"])
    (warning,) = (line for line in of_type(lines, "warning") if line["code"] == "irq-priority")
    (end,) = of_type(lines, "end")

    assert warning["text"] == (
        "the interrupt's thread keeps the priority that the kernel gave it: Operation not permitted"
    )
    assert (end["status"], threads(lines)[""]["count"]) == ("complete", 5)


def test_event_fails_where_the_module_starts_no_receiver(said: dict[str, str]) -> None:
    lines = lines_of(said["event"])
    (warning,) = (line for line in of_type(lines, "warning") if line["code"] == "thread-failed")
    (end,) = of_type(lines, "end")

    assert warning["text"] == "thread 0 could not measure on: Not a tty"
    assert (end["status"], threads(lines)["sigwait"]["count"]) == ("failed", 0)
    assert "rtscope-agent event: the module rtevent cannot start: Not a tty" in said["event"]
