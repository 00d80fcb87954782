# SPDX-License-Identifier: GPL-2.0-only
"""rtscope farm run with a board that labgrid's QEMUDriver emulates, and that fails."""

import json
import subprocess
import time
from pathlib import Path

import pytest

from rtscope.lab.kernels import Kernel
from tests.farm.conftest import Words, runs_of, started
from tests.farm.labgrid import Labgrid
from tests.farm.qemu_board import QemuBoard

pytestmark = pytest.mark.kernels


def test_a_board_that_hangs_is_power_cycled_and_measured_on(
    qemu_farm: Words, environment: dict[str, str], qemu_board: QemuBoard, qemu_labgrid: Labgrid
) -> None:
    process = started(qemu_farm("20s"), environment, "measuring 0/2: cyclic")
    _await_samples(process, Path(environment["XDG_STATE_HOME"]))
    qemu_board.sh("echo c > /proc/sysrq-trigger")
    printed, said = process.communicate(timeout=900)
    assert process.returncode == 0, said
    assert "its power was cycled" in said
    runs = runs_of(printed)
    assert [run["status"] for run in runs] == ["failed", "complete", "complete"]
    complaints = [one["text"] for one in runs[0]["warnings"] if one["code"] == "board-complained"]
    assert any("Kernel panic" in text for text in complaints), complaints
    assert not qemu_board.emulators()
    assert not qemu_labgrid.holder("one")


def test_a_board_that_starts_again_by_itself_is_measured_on(
    qemu_farm: Words, environment: dict[str, str], qemu_board: QemuBoard
) -> None:
    process = started(qemu_farm("20s", "quiet = false"), environment, "measuring 0/2: cyclic")
    _await_samples(process, Path(environment["XDG_STATE_HOME"]))
    qemu_board.sh("reboot -f")
    printed, said = process.communicate(timeout=900)
    assert process.returncode == 0, said
    assert "recovering" in said
    assert "its power was cycled" not in said
    runs = runs_of(printed)
    assert [run["status"] for run in runs] == ["failed", "complete", "complete"]
    assert [run["load"] for run in runs] == ["idle", "idle", "cpu"]
    assert runs[0]["threads"][0]["count"] > 0
    complaints = [one["text"] for one in runs[0]["warnings"] if one["code"] == "board-complained"]
    assert any("started again by itself" in text for text in complaints), runs[0]["warnings"]


def test_the_wanted_kernel_is_booted_by_a_strategy(
    qemu_farm: Words, environment: dict[str, str], qemu_board: QemuBoard, networked_kernel: Kernel
) -> None:
    file = qemu_board.folder / "environment.yaml"
    described = json.loads(file.read_text())
    described["images"]["kernel"] = "nothing-that-boots"
    (qemu_board.folder / "nothing-that-boots").write_text("no kernel")
    described["targets"]["board"]["drivers"] |= {
        "ShellDriver": {"prompt": "/ # ", "login_prompt": "login: ", "username": "root"},
        "ShellStrategy": {},
    }
    file.write_text(json.dumps(described))
    keys = ("quiet = false", 'images = { kernel = "kernel" }')
    words = qemu_farm("1s", *keys, f'kernel = "{networked_kernel.release}"')
    done = subprocess.run(words, env=environment, capture_output=True, text=True, check=False)
    assert not done.returncode, done.stderr
    runs = runs_of(done.stdout)
    assert [run["status"] for run in runs] == ["complete", "complete"]
    assert {run["machine"]["kernel_release"] for run in runs} == {networked_kernel.release}
    assert not qemu_board.emulators()


def _await_samples(process: subprocess.Popen[str], state: Path) -> None:
    """Wait until the run in progress has samples, or end its process."""
    until = time.monotonic() + 300
    while process.poll() is None and time.monotonic() < until:
        for file in (state / "rtscope/activity").glob("*.jsonl"):
            _, board = map(json.loads, file.read_text().splitlines())
            if (board["progress"] or {}).get("samples"):
                return
        time.sleep(0.1)
    process.terminate()
    raise AssertionError(f"nothing was measured: {process.communicate(timeout=60)}")


def test_a_board_that_is_not_quiet_is_not_measured(
    qemu_farm: Words, environment: dict[str, str], qemu_board: QemuBoard
) -> None:
    process = started(
        qemu_farm("1s", 'quiet_wait = "8s"', "recoveries = 0"), environment, "checking"
    )
    qemu_board.sh("(while :; do :; done) > /dev/null 2>&1 &")
    printed, said = process.communicate(timeout=900)
    assert process.returncode == 1
    assert "busy" in said
    assert not printed


def test_a_place_that_nobody_exports_is_refused_with_its_line(
    qemu_farm: Words, environment: dict[str, str]
) -> None:
    words = qemu_farm("1s", target="labgrid:attic")
    done = subprocess.run(words, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert "farm.toml:4: labgrid:attic" in done.stderr
