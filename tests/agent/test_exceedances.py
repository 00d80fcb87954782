# SPDX-License-Identifier: GPL-2.0-only
"""The largest samples with their times, which the agent keeps for the tail's bounds."""

import json
import subprocess
from pathlib import Path

import pytest


@pytest.mark.parametrize("wanted", [50, 500])
def test_every_sample_above_the_last_threshold_is_kept_with_its_time(
    agent_path: Path, tmp_path: Path, wanted: int
) -> None:
    samples = tmp_path / "samples"
    done = subprocess.run(
        [agent_path, "cyclic", "--json", "--samples", "3000", "--interval", "200us",
         "--exceedances", str(wanted), "--samples-file", samples],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    every: dict[int, list[tuple[int, int]]] = {}
    for row in samples.read_text().splitlines()[1:]:
        thread, _, time_ns, latency_ns = map(int, row.split("\t"))
        every.setdefault(thread, []).append((time_ns, latency_ns))
    assert "samples-file-dropped" not in {line.get("code") for line in lines}

    kept = [line for line in lines if line["type"] == "exceedances"]
    assert [line["thread"] for line in kept] == sorted(every)
    for line in kept:
        assert line["dropped"] == 0
        assert wanted <= len(line["time_ns"]) < 2 * wanted
        assert list(zip(line["time_ns"], line["latency_ns"], strict=True)) == [
            sample for sample in every[line["thread"]] if sample[1] > line["above_ns"]
        ]
