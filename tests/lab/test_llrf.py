# SPDX-License-Identifier: GPL-2.0-only
"""The control loop of examples/llrf on its two devices, under load, to the instruction."""

import json
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from rtscope.lab.kernels import Kernel
from rtscope.lab.vm import vm_target
from rtscope.target.local import agent_path
from tests.lab.guest_shell import run_script

KernelNamed = Callable[[str], Kernel]

ROOT = Path(__file__).parents[2]
EXAMPLE = ROOT / "examples" / "llrf"
LIMIT_S = 600
PULSES = 480
# The loop beside the agent's load, while the agent reads its measurement points twice.
SCRIPT = """
insmod /rtevent.ko && insmod /rtdaq.ko || echo "@ failed: a module does not load"
agent cyclic --priority=10 --load=mixed -D 60s > /dev/null & load=$!
sleep 2
llrf -d -p 80 -t 4 & loop=$!
for look in 1 2; do usleep 1500000; agent points $loop --json; echo "look ended: $?"; done
wait $loop; echo "loop ended: $?"
kill -INT $load; wait $load; echo "load ended: $?"
"""


def built_example(arch: str, directory: Path) -> bytes:
    for name in ("llrf.c", "devices.c", "devices.h", "Makefile"):
        (directory / name).write_bytes((EXAMPLE / name).read_bytes())
    words = [
        f"CC={ROOT / 'build' / 'musl' / arch / 'bin' / 'cc'}",
        "LDFLAGS=-static",
        f"RTSCOPE_INCLUDE={ROOT / 'agent' / 'include'}",
        f"RTSCOPE_MODULES={ROOT / 'kernel' / 'modules'}",
    ]
    subprocess.run(["make", "-s", "-C", directory, *words], check=True)
    return (directory / "llrf").read_bytes()


@pytest.mark.parametrize("name", [pytest.param("x86_64-rt", marks=pytest.mark.kernels)])
def test_it_keeps_2_7_ms_under_load_on_the_real_time_kernel_and_shows_its_points_meanwhile(
    name: str, kernel_named: KernelNamed, tmp_path: Path
) -> None:
    kernel = kernel_named(name)
    (tmp_path / "example").mkdir()
    (tmp_path / "machine").mkdir()
    came = run_script(
        vm_target(f"vm:{kernel.name},mode=exact"),
        SCRIPT,
        agent_path(kernel.arch),
        tmp_path / "machine",
        programs={"llrf": built_example(kernel.arch, tmp_path / "example")},
        modules=["rtevent", "rtdaq"],
        limit_s=LIMIT_S,
    )
    said = came.said.replace("\r", "")
    looks = [json.loads(line) for line in said.splitlines() if line.startswith("{")]
    (early, later) = (look["points"] for look in looks if look["type"] == "points")
    longest_us = {point["name"]: point["max_ns"] / 1000 for point in later}
    assert 0 < early[0]["count"] < later[0]["count"] < PULSES
    assert later[0]["over_budget"] == 0
    assert longest_us["DAQ"] > 56, "the transfer alone takes as long"
    assert longest_us["DAQ"] < longest_us["MAINLOOP"] < 2700
    assert f"\n{PULSES} pulses, 0 late; " in said
    assert "\n0 triggers and 0 waveforms lost, 0 blocks of another pulse\n" in said
    off_degrees = float(said.partition("phase off by ")[2].split()[0])
    assert off_degrees < 0.2, "the controller has brought 30 degrees to the set point"
    assert said.count(" ended: 0\n") == 4
