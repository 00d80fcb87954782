# SPDX-License-Identifier: GPL-2.0-only
"""rtscope scale and interfere on guests: of one CPU, and with one offline."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from rtscope.lab.kernels import Kernel
from rtscope.store.database import list_runs

pytestmark = pytest.mark.kernels

SHORT = ("--form", "scalar", "-D", "20ms", "--rounds", "2", "--json", "--no-report")


@pytest.fixture(autouse=True)
def _own_store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))


def told(*words: str) -> dict[str, Any]:
    done = subprocess.run(
        [sys.executable, "-m", "rtscope", *words, *SHORT],
        capture_output=True, timeout=300, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def test_an_offline_cpu_is_left_alone_and_named(rt_kernel: Kernel) -> None:
    run = told("scale", "--target", f"vm:{rt_kernel.name},shape=1x1x2,offline=1")
    assert [cell["placement"]["cpus"] for cell in run["sweep"]["cells"]] == [[0]]
    assert [one["kind"] for one in run["advice"]] == ["only-placement"]
    assert run["findings"] == [
        {"kind": "cpus-not-measured", "severity": "info", "cpus": [1], "offline": True}
    ]
    assert "functional-only" in {warning["code"] for warning in run["warnings"]}
    assert run["lab"]["cpus"] == 2


def test_a_machine_of_one_cpu_gives_sense(rt_kernel: Kernel) -> None:
    target = f"vm:{rt_kernel.name}"
    run = told("scale", "--target", target)
    assert [one["kind"] for one in run["advice"]] == ["only-placement"]
    run = told("interfere", "--target", target, "--load", "cpu")
    assert run["warnings"][0]["code"] == "loads-not-beside"
    assert [cell["load"] for cell in run["sweep"]["cells"]] == ["idle", "cpu"]


def test_ctrl_c_keeps_what_was_measured_and_no_guest(rt_kernel: Kernel, tmp_path: Path) -> None:
    folder = tmp_path / "guests"
    folder.mkdir()
    words = ("scale", "--target", f"vm:{rt_kernel.name}", *SHORT, "--rounds", "900")
    with subprocess.Popen(
        [sys.executable, "-m", "rtscope", *words],
        stdout=subprocess.PIPE, start_new_session=True, env=os.environ | {"TMPDIR": str(folder)},
    ) as process:  # fmt: skip
        try:
            until, guests = time.monotonic() + 100, False
            while not list_runs() and process.poll() is None and time.monotonic() < until:
                guests |= any(folder.iterdir())
                time.sleep(0.1)
            assert guests
            os.killpg(process.pid, signal.SIGINT)
            out, _ = process.communicate(timeout=30)
        finally:
            process.kill()
    assert process.returncode == 130
    assert not any(folder.iterdir())
    assert not [
        line for line in Path("/proc").glob("[0-9]*/cwd") if str(folder) in os.path.realpath(line)
    ]
    kept = json.loads(out)
    assert (kept["id"], kept["status"]) == (list_runs()[0].id, "interrupted")
    assert kept["sweep"]["rounds"] >= 1
