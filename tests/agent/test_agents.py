# SPDX-License-Identifier: GPL-2.0-only
"""The agents that `make agents` builds start and measure on the CPUs that they are meant for."""

import json
import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

AGENTS = Path(__file__).parents[2] / "build" / "agents"

# The least CPU of each architecture that has to run it; None where it is the emulator's own choice.
CPUS = [
    ("aarch64", "aarch64", "cortex-a53"),
    ("mips64el", "mips64el", "Loongson-2E"),
    ("mips64el", "mips64el", "Loongson-2F"),
    ("powerpc64", "ppc64", "e5500"),
    ("powerpc64", "ppc64", "e6500"),
    ("powerpc64", "ppc64", "power8"),
    ("riscv64", "riscv64", None),
    ("x86_64", "x86_64", "qemu64"),
]
# What uname -m says there.
MACHINES = {"mips64el": "mips64", "powerpc64": "ppc64"}
ARCHES = sorted({arch for arch, _, _ in CPUS})


def agent_of(arch: str) -> Path:
    path = AGENTS / arch / "rtscope-agent"
    if not os.access(path, os.X_OK):
        pytest.fail(f"{path} is not built: run `make agents` first")
    return path


def emulated(arch: str, emulator: str, cpu: str | None, *arguments: str) -> str:
    """Standard output of an agent on an emulated CPU."""
    qemu = shutil.which(f"qemu-{emulator}-static") or shutil.which(f"qemu-{emulator}")
    if qemu is None:
        pytest.fail(f"there is no qemu-{emulator}: install qemu-user-static")
    choice = ["-cpu", cpu] if cpu else []
    run = subprocess.run(
        [qemu, *choice, str(agent_of(arch)), *arguments],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert run.returncode == 0, run.stderr
    return run.stdout


@pytest.mark.parametrize(("arch", "emulator", "cpu"), CPUS)
def test_an_agent_measures(arch: str, emulator: str, cpu: str | None) -> None:
    output = emulated(
        arch, emulator, cpu, "cyclic", "--json", "-l", "20", "-i", "10000", "--policy", "other"
    )
    lines = [json.loads(line) for line in output.splitlines()]

    assert lines[0]["type"] == "hello"
    assert lines[0]["arch"] == MACHINES.get(arch, arch)
    assert (lines[-1]["type"], lines[-1]["status"]) == ("end", "complete")
    assert [phase["name"] for phase in lines[-1]["phases"]] == ["measuring"]
    started = next(line for line in lines if line["type"] == "start")
    threads = [line for line in lines if line["type"] == "thread"]
    histograms = [line for line in lines if line["type"] == "histogram"]
    assert len(started["threads"]) == len(threads) > 0
    for thread, histogram in zip(threads, histograms, strict=True):
        assert thread["count"] == sum(histogram["count"]) > 0
        assert histogram["lower_ns"][0] <= thread["min_ns"]
        assert thread["min_ns"] <= thread["mean_ns"] <= thread["max_ns"]
        assert histogram["lower_ns"][-1] <= thread["max_ns"]


@pytest.mark.parametrize(
    "probe",
    [
        ("gtod", "-l", "500"),
        ("noise", "-l", "5"),
        ("scaling", "-l", "3", "--items", "50"),
        ("sched", "-l", "5", "--busy", "0"),
    ],
    ids=lambda probe: probe[0],
)
@pytest.mark.parametrize(("arch", "emulator", "cpu"), CPUS)
def test_the_probes_measure(
    arch: str, emulator: str, cpu: str | None, probe: tuple[str, ...]
) -> None:
    output = emulated(arch, emulator, cpu, *probe, "--json", "-a", "0", "--policy", "other")
    lines = [json.loads(line) for line in output.splitlines()]
    assert lines[-1]["status"] == "complete"
    threads = {line["name"]: line for line in lines if line["type"] == "thread"}
    assert all(thread["count"] > 0 and thread["facts"] for thread in threads.values())
    if probe[0] == "gtod":
        assert {"gettimeofday", "CLOCK_MONOTONIC", "CLOCK_MONOTONIC:syscall"} <= threads.keys()
        # The emulator's MIPS counter stands still, where it is allowed at all.
        counter = {"aarch64": "cntvct_el0", "powerpc64": "mftb", "riscv64": "rdtime"}.get(arch)
        assert counter is None or threads[counter]["facts"]["frequency_hz"] > 1e6


@pytest.mark.parametrize("probe", [("topology",), ("memory", "--largest", "1")], ids=lambda p: p[0])
@pytest.mark.parametrize(("arch", "emulator", "cpu"), CPUS)
def test_arithmetic_and_memory_are_worked_on(
    arch: str, emulator: str, cpu: str | None, probe: tuple[str, ...]
) -> None:
    short = ("--json", "-a", "0", "--policy", "other", "-l", "1", "--slot", "1ms")
    output = emulated(arch, emulator, cpu, *probe, *short)
    lines = [json.loads(line) for line in output.splitlines()]
    assert lines[-1]["status"] == "complete"
    (thread,) = (line for line in lines if line["type"] == "thread")
    curves = [line["value"][0] for line in lines if line["type"] == "matrix"]
    if probe[0] == "memory":
        assert len(curves) == 4
        assert all(figure > 0 for curve in curves for figure in curve)
    else:
        assert thread["facts"]["scalar_operations_per_s"] > 0
        vector = lines[[line["type"] for line in lines].index("start")]["options"]["vector"]
        assert vector in {
            "aarch64": {"neon"}, "x86_64": {"sse2", "avx2"}, "powerpc64": {"altivec", "none"},
        }.get(arch, {"none"})  # fmt: skip
        assert ("vector_operations_per_s" in thread["facts"]) == (vector != "none")


@pytest.mark.parametrize("arch", ARCHES)
def test_an_agent_is_one_small_static_executable(arch: str) -> None:
    path = agent_of(arch)
    headers = subprocess.run(
        ["readelf", "--wide", "--program-headers", "--sections", str(path)],
        capture_output=True,
        text=True,
        check=True,
    ).stdout

    assert "INTERP" not in headers
    assert "DYNAMIC" not in headers
    assert ".symtab" not in headers
    assert path.stat().st_size < 600_000


def test_the_mips_agent_has_no_instruction_that_mips_iii_lacks() -> None:
    """The emulator proves it for what runs, this for the rest: `.word` is what objdump cannot read.

    The one exception is rdhwr, which asks for the thread pointer or for the cycle counter and which
    the kernel emulates.
    """
    disassembly = subprocess.run(
        ["mips64el-linux-gnuabi64-objdump", "-d", "-m", "mips:4000", str(agent_of("mips64el"))],
        capture_output=True,
        text=True,
        check=True,
    ).stdout

    assert re.search(r"\tjr\t", disassembly)
    assert set(re.findall(r"\.word\t(\w+)", disassembly)) == {
        "0x7c03e83b",
        "0x7c03103b",
    }
