# SPDX-License-Identifier: GPL-2.0-only
"""rtscope scale and interfere on guests: of one CPU, and with one offline."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from rtscope.lab.kernels import Kernel

pytestmark = pytest.mark.kernels

SHORT = ("--form", "scalar", "-D", "20ms", "--rounds", "2", "--json", "--no-report")


@pytest.fixture(autouse=True)
def _own_store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))


def reported(*words: str) -> dict[str, Any]:
    done = subprocess.run(
        [sys.executable, "-m", "rtscope", *words, *SHORT],
        capture_output=True, timeout=300, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def test_an_offline_cpu_is_left_alone_and_named(rt_kernel: Kernel) -> None:
    run = reported("scale", "--target", f"vm:{rt_kernel.name},shape=1x1x2,offline=1")
    assert [cell["placement"]["cpus"] for cell in run["sweep"]["cells"]] == [[0]]
    assert [one["kind"] for one in run["advice"]] == ["only-placement"]
    assert run["findings"] == [
        {"kind": "cpus-not-measured", "severity": "info", "cpus": [1], "offline": True}
    ]
    assert "functional-only" in {warning["code"] for warning in run["warnings"]}
    assert run["lab"]["cpus"] == 2


def test_a_machine_of_one_cpu_gives_sense(rt_kernel: Kernel) -> None:
    target = f"vm:{rt_kernel.name}"
    run = reported("scale", "--target", target)
    assert [one["kind"] for one in run["advice"]] == ["only-placement"]
    run = reported("interfere", "--target", target, "--load", "cpu")
    assert run["warnings"][0]["code"] == "loads-not-beside"
    assert [cell["load"] for cell in run["sweep"]["cells"]] == ["idle", "cpu"]
