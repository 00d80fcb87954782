# SPDX-License-Identifier: GPL-2.0-only
"""What a probe does to the idle states, and what it records of them."""

import json
import struct
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.agent.probing import AGENT, Lines, measure, needs_root, of_type, refusal, started

DEVICE = Path("/dev/cpu_dma_latency")
HELD_US = 7
"""by the test itself, so that nothing here can be looser"""
LEFT_ALONE = ["exec", "gtod", "memory", "noise", "scaling", "topology"]
PROBES = [*LEFT_ALONE, "cyclic", "sched", "async", "signal", "loop", "pi", "migrate"]

pytestmark = [
    needs_root,
    pytest.mark.skipif(not DEVICE.exists(), reason="this kernel has no /dev/cpu_dma_latency"),
]


@contextmanager
def another_holder() -> Iterator[None]:
    with DEVICE.open("wb", buffering=0) as file:
        file.write(struct.pack("i", HELD_US))
        yield


def files_held(pid: int) -> int:
    """How many open files of the process limit the idle states."""
    files = Path(f"/proc/{pid}/fd").iterdir()
    return sum(file.readlink() == DEVICE for file in files)


def idle_states(lines: Lines) -> dict[str, Any]:
    found: dict[str, Any] = of_type(lines, "start")[0]["idle_states"]
    return found


def codes(lines: Lines) -> set[str]:
    return {line["code"] for line in of_type(lines, "warning")}


@pytest.mark.parametrize("probe", PROBES)
def test_only_probes_of_wake_ups_keep_cpus_out_of_idle_states(probe: str) -> None:
    command: list[str | Path] = [
        AGENT,
        probe,
        "--json",
        "--dry-run",
        *(["true"] if probe == "exec" else []),
    ]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=20)
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    assert idle_states(lines)["mode"] == ("default" if probe in LEFT_ALONE else "off")


@pytest.mark.parametrize(
    ("options", "held"),
    [
        ((), 1),
        (("--idle-states", "off"), 1),
        (("--idle-states", "limit:3us"), 1),
        (("--idle-states", "default"), 0),
        (("--tune", "latency limit=3000"), 1),
    ],
)
def test_idle_states_are_held_by_who_was_asked_to(
    tmp_path: Path, options: tuple[str, ...], held: int
) -> None:
    journal = ("--tune-journal", str(tmp_path))
    with started("cyclic", "-D", "20s", *journal, *options) as process:
        assert files_held(process.pid) == held


def test_off_takes_effect_and_a_default_shows_what_others_hold() -> None:
    with another_holder():
        off = measure("cyclic", "-D", "100ms")
        default = measure("cyclic", "-D", "100ms", "--idle-states", "default")
    assert idle_states(off) == {"mode": "off", "limit_ns": None, "effective_ns": 0}
    assert idle_states(default)["effective_ns"] <= HELD_US * 1000
    assert "stricter-cpu-dma-latency" not in codes(off) | codes(default)


@pytest.mark.parametrize(
    "options", [("--idle-states", "limit:50us"), ("--tune", "latency limit=50000")]
)
def test_a_limit_that_another_program_makes_stricter_is_not_claimed(
    tmp_path: Path, options: tuple[str, ...]
) -> None:
    journal = ("--tune-journal", str(tmp_path))
    with another_holder():
        lines = measure("cyclic", "-D", "100ms", *journal, *options)
    assert idle_states(lines)["effective_ns"] <= HELD_US * 1000
    assert "stricter-cpu-dma-latency" in codes(lines)
    for change in of_type(lines, "change"):
        assert (change["state"], change["why"] != "") == ("applied", True)


def test_a_tuning_that_contradicts_the_session_is_refused() -> None:
    sentence = refusal("cyclic", "--idle-states=off", "--tune", "latency limit=50000")
    assert "--idle-states" in sentence
    assert "--tune" in sentence
