# SPDX-License-Identifier: GPL-2.0-only
"""The agent's topology verb on this machine: what is shared on purpose is found each time."""

import subprocess
from typing import Any

import pytest

from tests.agent.probing import (
    AGENT,
    LAST_CPU,
    Lines,
    measure,
    needs_two_cpus,
    of_type,
)

SHORT = ("--slot", "2ms", "-l", "6")


def matrices(lines: Lines) -> dict[str, dict[str, Any]]:
    """The matrix lines by their names."""
    return {matrix["name"]: matrix for matrix in of_type(lines, "matrix")}


def least(matrix: dict[str, Any], part: str = "value") -> float:
    """The least figure of a matrix."""
    return float(min(value for row in matrix[part] for value in row if value is not None))


@needs_two_cpus
def test_each_cpu_is_compared_with_each_other_in_each_work() -> None:
    lines = measure("topology", *SHORT)
    threads = of_type(lines, "thread")
    names = [f"CPU {thread['cpu']}" for thread in threads]
    found = matrices(lines)
    speed = found.pop("speed")
    assert (speed["rows"], speed["unit"]) == (names, "operations_per_s")
    assert speed["columns"][0] == "scalar"
    for cells, values in zip(speed["repeats"], speed["value"], strict=True):
        assert [len(cell) for cell in cells] == [6] * len(speed["columns"])
        assert min(values) > 1e6
    assert {"message", "awake", "scalar", "memory"} <= found.keys()
    for matrix in found.values():
        assert matrix["rows"] == matrix["columns"] == names
        assert matrix["unit"] == ("ns" if matrix["name"] == "message" else "ratio")
        for row, (values, lows, highs) in enumerate(
            zip(matrix["value"], matrix["low"], matrix["high"], strict=True)
        ):
            assert [value is None for value in values] == [row == n for n in range(len(names))]
            known = [one for n, one in enumerate(zip(lows, values, highs, strict=True)) if n != row]
            assert all(0 < low <= value <= high for low, value, high in known)
        for row, cells in enumerate(matrix["repeats"]):
            assert [len(cell) for cell in cells] == [6 * (row != n) for n in range(len(names))]
    assert [thread["count"] for thread in threads] == [6] * len(names)
    assert all(thread["facts"]["scalar_operations_per_s"] > 1e6 for thread in threads)
    assert of_type(lines, "end")[0]["status"] == "complete"


@needs_two_cpus
def test_a_cpu_that_is_only_awake_takes_nothing_from_another() -> None:
    lines = measure("topology", *SHORT)
    assert least(matrices(lines)["awake"], "low") < 1.3


def test_a_lone_cpu_is_measured_alone() -> None:
    lines = measure("topology", *SHORT, "-a", "0")
    (thread,) = of_type(lines, "thread")
    assert (thread["cpu"], thread["count"]) == (0, 0)
    assert thread["facts"]["memory_read_bytes_per_s"] > 1e6
    assert matrices(lines)["awake"]["value"] == [[None]]
    assert of_type(lines, "end")[0]["status"] == "complete"


@needs_two_cpus
@pytest.mark.parametrize(
    ("probe", "options"),
    [
        ("topology", SHORT),
        ("memory", ("--slot", "1ms", "--largest", "1", "-l", "1")),
        ("scaling", ("-l", "20")),
    ],
)
def test_in_a_container_only_its_cpus_are_measured(
    contained: tuple[str, ...], probe: str, options: tuple[str, ...]
) -> None:
    lines = measure(probe, *options, prefix=contained)
    assert [thread["cpu"] for thread in of_type(lines, "thread")] == [LAST_CPU]
    done = subprocess.run(
        [*contained, AGENT, probe, "-a", "0", "-l", "1"],
        capture_output=True, text=True, timeout=20, check=False,
    )  # fmt: skip
    assert done.returncode == 2
    assert "outside this process's cpuset" in done.stderr
