# SPDX-License-Identifier: GPL-2.0-only
"""The agent's event verb where there is no module: what it refuses, and what it would do."""

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.agent.probing import refusal

without_module = pytest.mark.skipif(Path("/dev/rtevent").exists(), reason="rtevent is loaded here")


def planned(agent_path: Path, *options: str) -> dict[str, Any]:
    """The start line of a rehearsal."""
    done = subprocess.run(
        [agent_path, "event", "--json", "--dry-run", *options],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    return next(line for line in lines if line["type"] == "start")


def test_its_defaults_are_those_of_the_report(agent_path: Path) -> None:
    start = planned(agent_path)
    assert start["interval_ns"] == 2_778_000
    assert start["options"] == {
        "via": "sigwait",
        "busy_percent": 40,
        "deadline_ns": 1_000_000,
        "irq_priority": 99,
        "data_ns": 555_600,
    }
    (thread,) = start["threads"]
    assert (thread["name"], thread["priority"]) == ("sigwait", 94 if os.geteuid() == 0 else 0)


@pytest.mark.parametrize(
    "road", ["sigio", "sigwait", "read", "ioctl", "poll", "epoll", "eventfd", "page", "uring"]
)
def test_every_road_is_a_series_of_its_name(agent_path: Path, road: str) -> None:
    (thread,) = planned(agent_path, "--via", road)["threads"]
    assert thread["name"] == road
    assert (thread["policy"] == "other") == (road == "sigio" or os.geteuid() != 0)


@without_module
def test_without_the_module_it_says_what_to_load(agent_path: Path) -> None:
    assert (
        "there is no /dev/rtevent: load the module rtevent (make modules builds it for the running "
        "kernel; on a lab kernel it is loaded by itself)"
    ) in refusal(agent_path, "event", "-D", "1s")


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--via", "telepathy"], "ioctl, poll, epoll, eventfd, page or uring"),
        (["--busy", "81"], "0 to 80"),
        (["--deadline", "0"], "1ms"),
        (["--irq-priority", "0"], "from 1 to 99"),
        (["--irq-priority", "100"], "from 1 to 99"),
        (["--data", "soon"], "0 for none"),
        (["--data", "1389us"], "shorter than half of --interval"),
        (["--interval", "99us"], "at least 100 us"),
        (["--policy", "deadline"], "SCHED_DEADLINE"),
    ],
)  # fmt: skip
def test_what_cannot_be_done_is_refused(agent_path: Path, options: list[str], words: str) -> None:
    assert words in refusal(agent_path, "event", *options)
