# SPDX-License-Identifier: GPL-2.0-only
"""Each emulator stays on one CPU of the host, of its own while there are enough."""

import os
import subprocess
from collections.abc import Iterator
from contextlib import ExitStack

import pytest

from rtscope.lab.hostcpu import take_one_cpu


@pytest.fixture(autouse=True)
def _no_other_emulators(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("rtscope.lab.hostcpu.NAMES", f"\0rtscope-test-{os.getpid()}-")


@pytest.fixture
def pids() -> Iterator[list[int]]:
    """One process for each CPU, and one more."""
    with ExitStack() as stack:
        processes = [
            stack.enter_context(subprocess.Popen(["sleep", "infinity"]))
            for _ in range(len(os.sched_getaffinity(0)) + 1)
        ]
        yield [process.pid for process in processes]
        for process in processes:
            process.kill()


def test_emulators_side_by_side_have_a_cpu_each_while_there_are_enough(pids: list[int]) -> None:
    claims = [take_one_cpu(pid) for pid in pids]
    places = [os.sched_getaffinity(pid) for pid in pids]

    assert {cpu for place in places[:-1] for cpu in place} == os.sched_getaffinity(0)
    assert [len(place) for place in places] == [1] * len(pids)
    assert [claim is None for claim in claims] == [False] * (len(pids) - 1) + [True]


def test_the_cpu_of_an_emulator_that_has_ended_is_free_again(pids: list[int]) -> None:
    claims = [take_one_cpu(pid) for pid in pids]
    assert claims[0] is not None
    place = os.sched_getaffinity(pids[0])
    claims[0].close()

    assert take_one_cpu(pids[-1]) is not None
    assert os.sched_getaffinity(pids[-1]) == place
