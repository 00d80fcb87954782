# SPDX-License-Identifier: GPL-2.0-only
"""The agent's daq verb where the module is not loaded; with it, tests/lab/test_daq.py measures."""

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.agent.probing import refusal

without_module = pytest.mark.skipif(
    Path("/dev/rtdaq").exists(), reason="the module rtdaq is loaded here"
)


def start_of(agent: Path, *options: str) -> dict[str, Any]:
    """What the probe would begin with."""
    command: list[str | Path] = [agent, "daq", "--json", "--dry-run", *options]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    return next(line for line in lines if line["type"] == "start")


def test_its_defaults_are_the_reports_digitizer_and_the_best_of_each_choice(
    agent_path: Path,
) -> None:
    start = start_of(agent_path)
    assert start["interval_ns"] == 10**9 // 120
    assert start["options"] == {
        "transfer": "scatter",
        "arm": "atomic",
        "interrupts": "event",
        "channels": 10,
        "samples_per_channel": 1024,
        "modules": 1,
        "irq_priority": 90,
        "work_ns": 0,
    }


def test_each_digitizer_has_a_thread_with_its_name(agent_path: Path) -> None:
    threads = start_of(agent_path, "--modules", "8")["threads"]
    assert [thread["name"] for thread in threads] == [f"module {n}" for n in range(1, 9)]


@without_module
def test_without_the_module_it_says_how_to_have_it(agent_path: Path) -> None:
    said = refusal(agent_path, "daq", "-l", "1")
    assert "there is no /dev/rtdaq: load the module rtdaq (make modules builds it" in said


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--transfer", "carry"], "copy, mapped or scatter"),
        (["--arm", "twice"], "separate or atomic"),
        (["--interrupts", "never"], "event or channel"),
        (["--channels", "0"], "1 to 64"),
        (["--channels", "65"], "1 to 64"),
        (["--samples-per-channel", "1000"], "a multiple of 512"),
        (["--samples-per-channel", "0"], "a multiple of 512"),
        (["--channels", "64", "--samples-per-channel", "32768"], "at most 2097152"),
        (["--modules", "9"], "1 to 8"),
        (["--irq-priority", "100"], "1 to 99"),
        (["--work", "much"], "2ms"),
        (["--interval", "99us"], "100us to 10s"),
        (["--policy", "deadline"], "use fifo or other"),
    ],
)
def test_what_cannot_be_done_is_refused(agent_path: Path, options: list[str], words: str) -> None:
    assert words in refusal(agent_path, "daq", "--dry-run", *options)
