# SPDX-License-Identifier: GPL-2.0-only
"""A board of another architecture over ssh, from its agent's way there to a connection's loss."""

import hashlib
import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import msgspec
import pytest

from rtscope.lab.kernels import Kernel, add_package, list_kernels
from rtscope.model.run import Run
from rtscope.target.local import agent_path as agent_of
from tests.lab.conftest import only_one
from tests.lab.emulated_board import EmulatedBoard, running_board
from tests.target.board import environment_of

pytestmark = pytest.mark.long

AGENTS = "/root/.cache/rtscope/agents"
THROTTLING = "/proc/sys/kernel/sched_rt_runtime_us"
# What profiles change: of each thread the CPUs, the priority and the policy, and where interrupts
# go.
STATE = rf"""
cd /proc
grep -H Cpus_allowed_list: [0-9]*/task/*/status
awk '{{
	kind = /[(]irq\// ? " irq" : ""
	sub(/.*[)] /, "")
	print FILENAME ":" $38 " " $39 kind
}}' [0-9]*/task/*/stat
grep . irq/*/smp_affinity_list irq/default_smp_affinity {THROTTLING}
cd /sys
grep . devices/virtual/workqueue/cpumask fs/cgroup/cgroup.subtree_control
printf '%s:there\n' fs/cgroup/*/
true
"""
INITS_CPUS = "1/task/1/status"
PARTITION = "fs/cgroup/rtscope.isolated-isolated-cores/"

Rtscope = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture(scope="module")
def kernel() -> Kernel:
    """Debian's, with the driver of the emulator's network."""
    name = "6.12-rt-arm64-networked"
    with only_one():
        kept = {kernel.name: kernel for kernel in list_kernels()}
        return kept.get(name) or add_package(
            "linux-image-6.12-rt-arm64", name=name, load=["virtio_net"]
        )


@pytest.fixture(scope="module")
def board(kernel: Kernel, tmp_path_factory: pytest.TempPathFactory) -> Iterator[EmulatedBoard]:
    with running_board(kernel, tmp_path_factory.mktemp("board")) as board:
        yield board


@pytest.fixture
def environment(board: EmulatedBoard, agent_path: Path) -> dict[str, str]:
    return environment_of(board.folder, board.runtime, agent_path)


@pytest.fixture
def rtscope(environment: dict[str, str]) -> Rtscope:
    def run(*words: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-m", "rtscope", *words, "--target", "ssh:board"],
            capture_output=True, text=True, timeout=120, check=False, env=environment,
        )  # fmt: skip

    return run


def state(board: EmulatedBoard) -> dict[str, str]:
    """What profiles change, by what it belongs to, as it is seen without rtscope."""
    said = subprocess.run(
        [board.folder / "bin/ssh", "board", STATE],
        check=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, timeout=60,
    ).stdout  # fmt: skip
    parts = [line.partition(":") for line in said.splitlines()]
    return {name: value.removeprefix("Cpus_allowed_list:").strip() for name, _, value in parts}


def lasting(one: dict[str, str], other: dict[str, str]) -> dict[str, str]:
    """Of one state what belongs to something that the other has too.

    An interrupt's thread is where the interrupt is, and of the CPUs that it may have again the
    kernel chooses.
    """
    chosen = {f"{name}us" for name, value in one.items() if value.endswith(" irq")}
    return {name: value for name, value in one.items() if name in other and name not in chosen}


def lines(done: subprocess.CompletedProcess[str]) -> list[Any]:
    """Its lines of JSON; it went well."""
    assert done.returncode == 0, done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()]


def findings(done: subprocess.CompletedProcess[str]) -> set[str]:
    (reported,) = lines(done)
    return {one["rule"] for one in reported["findings"]}


def test_the_agent_of_its_architecture_is_brought_once(
    board: EmulatedBoard, kernel: Kernel, rtscope: Rtscope
) -> None:
    places = []
    for _ in range(2):
        done = rtscope("measure", "cyclic", "-D", "500ms", "--json", "--no-report")
        assert done.returncode == 0, done.stderr
        run = msgspec.json.decode(done.stdout, type=Run)
        assert (run.status, run.target) == ("complete", "ssh:board")
        assert [(thread.cpu, thread.policy) for thread in run.threads] == [(0, "fifo"), (1, "fifo")]
        machine = run.machine
        assert (machine.architecture, machine.kernel_release) == ("aarch64", kernel.release)
        assert (machine.hostname, machine.preemption) == ("far", "rt")
        places.append(board.sh(f"ls -i {AGENTS}/*; sha256sum {AGENTS}/*"))
    assert places[0] == places[1]
    assert hashlib.sha256(agent_of("aarch64").read_bytes()).hexdigest() in places[0]
    assert not board.agents()


def test_what_is_wrong_there_is_found_and_what_is_right_is_not(
    board: EmulatedBoard, rtscope: Rtscope
) -> None:
    assert "timers-lockup-detector" in findings(rtscope("check", "--json"))
    board.sh("echo 0 > /proc/sys/kernel/watchdog")
    try:
        assert "timers-lockup-detector" not in findings(rtscope("check", "--json"))
    finally:
        board.sh("echo 1 > /proc/sys/kernel/watchdog")


def test_its_threads_are_reported_as_they_are(board: EmulatedBoard, rtscope: Rtscope) -> None:
    (reported,) = lines(rtscope("threads", "--json"))
    known = state(board)
    fifo = {one["name"]: one for one in reported["threads"] if one["policy"] == "fifo"}
    assert {"ktimers/0", "ktimers/1", "migration/1"} <= set(fifo)
    assert any(one["irq"] and "virtio0" in name for name, one in fifo.items())
    for one in fifo.values():
        task = f"{one['pid']}/task/{one['tid']}"
        assert known[f"{task}/stat"].removesuffix(" irq") == f"{one['priority']} 1"
        assert known[f"{task}/status"] == one["cpus"]


@pytest.mark.parametrize(
    ("profile", "status", "changed"),
    [
        (["minimal"], 0, {THROTTLING: "-1"}),
        # Its processor counts events by an interrupt of each CPU, and nobody knows its boot loader.
        (["isolated-cores", "--cpus", "1"], 1, {INITS_CPUS: "0", PARTITION: "there"}),
    ],
)
def test_it_is_tuned_and_undone(
    board: EmulatedBoard, rtscope: Rtscope, profile: list[str], status: int, changed: dict[str, str]
) -> None:
    before = state(board)
    assert not changed.items() & before.items()
    assert "planned" in {
        one.get("state") for one in lines(rtscope("tune", "show", *profile, "--json"))
    }
    assert not changed.items() & state(board).items()

    done = rtscope("tune", "apply", *profile, "--yes")
    assert done.returncode == status, done.stdout + done.stderr
    assert changed.items() <= state(board).items()
    assert "in-effect" in {one.get("state") for one in lines(rtscope("tune", "status", "--json"))}

    assert "restored" in {one.get("state") for one in lines(rtscope("tune", "undo", "--json"))}
    after = state(board)
    assert lasting(after, before) == lasting(before, after)
    assert not changed.items() & after.items()
    assert "no profile is applied" in rtscope("tune", "status").stdout


@contextmanager
def measuring(board: EmulatedBoard, environment: dict[str, str]) -> Iterator[subprocess.Popen[str]]:
    """rtscope, measuring on the board for longer than any test."""
    words = ("measure", "-t", "ssh:board", "--load=cpu:1+files:2", "-D", "10m", "--json")
    with subprocess.Popen(
        [sys.executable, "-m", "rtscope", *words, "--no-report"],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment,
    ) as process:  # fmt: skip
        try:
            assert process.stderr is not None
            said = process.stderr.readline()
            assert " samples" in said, said + process.stderr.read()
            assert len(board.agents()) >= len(
                ("tether", "agent", "supervisor", "leader", "cpu", "files")
            )
            yield process
        finally:
            process.kill()


def assert_kept(process: subprocess.Popen[str]) -> None:
    """It says that the connection was lost, and what was measured until then."""
    out, complaints = process.communicate(timeout=60)
    assert process.returncode == 1, complaints
    run = msgspec.json.decode(out, type=Run)
    assert run.status == "failed"
    (reported,) = [one.text for one in run.warnings if one.code == "agent-died"]
    assert "the connection to ssh:board was lost" in reported
    assert all(thread.count == sum(thread.histogram.count) > 10 for thread in run.threads)


def test_a_network_that_falls_silent_ends_all_there(
    board: EmulatedBoard, environment: dict[str, str]
) -> None:
    with measuring(board, environment) as process:
        board.plug(up=False)
        try:
            assert not board.still_running()
            assert_kept(process)
        finally:
            board.plug(up=True)
