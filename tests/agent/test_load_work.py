# SPDX-License-Identifier: GPL-2.0-only
"""Every load does its work, counts it, and is the same load again with the same seed."""

import os
import re
import shutil
import signal
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.agent.probing import children
from tests.places import refusal, unshare

UNITS = {
    "cpu": {"iterations"},
    "memory": {"bytes"},
    "cache": {"updates"},
    "files": {"stats"},
    "disk": {"bytes_written", "fsyncs"},
    "network": {"packets"},
    "process": {"forks", "execs", "page_faults"},
    "ipc": {"messages"},
    "video": {"frames", "dropped_frames"},
    "timers": {"expirations"},
}


def run(
    driver: Path,
    spec: str,
    scratch: Path,
    *,
    seconds: float = 0.2,
    start_seconds: float = 20,
    through: tuple[str, ...] = (),
    preexec_fn: Callable[[], None] | None = None,
    **environment: str,
) -> list[str]:
    """The driver's lines: warning, ready (when, in s), load, work, alive or ended, rss, stopped."""
    done = subprocess.run(
        [*through, driver, "run", spec, str(seconds), str(start_seconds)],
        env={**os.environ, "TMPDIR": str(scratch), **environment},
        capture_output=True,
        timeout=60,
        check=False,
        preexec_fn=preexec_fn,
        text=True,
    )
    assert done.stderr == ""
    return done.stdout.splitlines()


def early_end(lines: list[str]) -> str:
    """Why a load ended by itself, before or after the start was complete."""
    [line] = [line for line in lines if line.startswith(("ended ", "failed "))]
    return line.split(" ", 1)[1]


def work(lines: list[str]) -> dict[str, int]:
    found = [line.split(" ") for line in lines if line.startswith("work ")]
    return {unit: int(total) for _, unit, total in found}


def steps(driver: Path, load: str, directory: Path, *, seed: int, worker: int = 0) -> str:
    """What came of twelve steps of one worker."""
    directory.mkdir()
    done = subprocess.run(
        [driver, "steps", load, str(seed), str(worker), directory, "12"],
        capture_output=True,
        timeout=60,
        check=False,
        text=True,
    )
    assert done.returncode == 0, done.stdout
    return done.stdout


@pytest.mark.parametrize("load", UNITS)
def test_a_load_does_its_work_and_counts_it(
    each_load_driver: Path, tmp_path: Path, load: str
) -> None:
    lines = run(each_load_driver, f"{load}:2", tmp_path)
    assert f"load 2 42 {load}" in lines
    assert "alive" in lines
    done = work(lines)
    assert set(done) == UNITS[load]
    assert all(total > 0 for unit, total in done.items() if unit != "dropped_frames")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("load", ["cpu", "memory", "cache", "files", "disk", "video"])
def test_the_same_seed_is_the_same_work(load_driver: Path, tmp_path: Path, load: str) -> None:
    first = steps(load_driver, load, tmp_path / "1", seed=7)
    assert steps(load_driver, load, tmp_path / "2", seed=7) == first
    assert steps(load_driver, load, tmp_path / "3", seed=8) != first
    assert steps(load_driver, load, tmp_path / "4", seed=7, worker=1) != first


@pytest.mark.parametrize(
    ("load", "check"),
    [("cpu", "f33667a10f7a8214"), ("files", "a5d8ae29c05ff155"), ("video", "b1cc3a89b4afbd78")],
)
def test_a_seed_is_the_same_work_on_every_machine(
    load_driver: Path, tmp_path: Path, load: str, check: str
) -> None:
    """Seen so on x86_64, aarch64, riscv64, mips64el and powerpc64."""
    assert f"check {check}" in steps(load_driver, load, tmp_path / "1", seed=7).splitlines()


def test_the_same_seed_is_the_same_tree_of_files(load_driver: Path, tmp_path: Path) -> None:
    def tree(name: str, seed: int) -> dict[str, bytes]:
        root = tmp_path / name
        steps(load_driver, "files", root, seed=seed)
        files = [path for path in root.rglob("*") if path.is_file()]
        return {str(path.relative_to(root)): path.read_bytes() for path in files}

    first = tree("1", 7)
    assert len(first) == 8 * 8 * 16
    assert tree("2", 7) == first
    assert tree("3", 8).keys().isdisjoint(first)


def test_workers_take_neither_priority_nor_affinity_from_the_agent(
    load_driver: Path, tmp_path: Path
) -> None:
    def become_special() -> None:
        os.sched_setaffinity(0, {min(allowed)})
        if os.geteuid() == 0:
            os.nice(7)
            os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(3))

    if not os.geteuid() and (why := refusal("chrt", "--fifo", "1", "true")):
        pytest.skip(why)
    allowed = os.sched_getaffinity(0)
    look = (
        "exec >&2; read -r -a field < /proc/self/stat; "
        "echo policy ${field[40]} nice ${field[18]} $(grep Cpus_allowed_list /proc/self/status); "
        "exit 1"
    )
    lines = run(
        load_driver,
        f"cmd:exec bash -c '{look}'",
        tmp_path,
        seconds=1,
        preexec_fn=become_special,
    )
    ended = early_end(lines)
    found = re.search(r"policy (\d+) nice (\d+) Cpus_allowed_list: (\S+)", ended)
    assert found is not None, ended
    assert found[1] == "0"
    least = 0 if os.geteuid() == 0 else max(0, os.nice(0))  # an ordinary user may not lower it
    assert found[2] == str(least)
    assert found[3] != str(min(allowed)) or len(allowed) == 1


def test_a_worker_that_is_killed_is_noticed(load_driver: Path, tmp_path: Path) -> None:
    with subprocess.Popen(
        [load_driver, "run", "video:1+timers:1", "2", "20"],
        stdout=subprocess.PIPE,
        env={**os.environ, "TMPDIR": str(tmp_path)},
        text=True,
    ) as process:
        assert process.stdout is not None
        assert any(line.startswith("ready ") for line in process.stdout)  # warnings come before
        [supervisor] = children(process.pid)
        [leader] = children(supervisor)
        by_name = {Path(f"/proc/{pid}/comm").read_text().strip(): pid for pid in children(leader)}
        os.kill(by_name["load-timers"], signal.SIGKILL)
        lines = process.stdout.read().splitlines()
    assert "ended load timers: a worker was killed by signal 9 (Killed)" in lines


@pytest.mark.parametrize(
    ("command", "status", "words"),
    [("echo one >&2; echo two three >&2; exit 5", 5, "two three"), ("sleep 0.2; exit 3", 3, "")],
)
def test_a_command_that_ends_early_is_noticed_with_its_last_words(
    load_driver: Path, tmp_path: Path, command: str, status: int, words: str
) -> None:
    ended = early_end(run(load_driver, f"cmd:{command}", tmp_path, seconds=1))
    said = rf"load cmd: it ended by itself with exit status {status} after \d+\.\d s(: {words})?"
    assert re.fullmatch(said, ended)


@pytest.mark.parametrize(
    "work",
    [
        "while :; do :; done",
        "(while :; do :; done) & sleep 60",
        "setsid sh -c 'while :; do :; done' &",
        "while :; do /bin/true; done",
    ],
    ids=["the shell", "a child", "a daemon", "short programs"],
)
def test_a_command_is_up_when_what_it_has_started_works(
    load_driver: Path, tmp_path: Path, work: str
) -> None:
    lines = run(load_driver, f"cmd:sleep 0.5; touch {tmp_path}/begun; {work}", tmp_path)
    assert "alive" in lines
    assert not [line for line in lines if line.startswith("warning load-slow")]
    began = (tmp_path / "begun").stat().st_mtime
    assert began < float(next(line for line in lines if line.startswith("ready ")).split()[1])


@pytest.mark.parametrize("command", ["sleep 60", "exec 2>&-; sleep 60", "echo >&2; sleep 60 &"])
def test_a_command_that_does_nothing_is_reported(
    load_driver: Path, tmp_path: Path, command: str
) -> None:
    lines = run(load_driver, f"cmd:{command}", tmp_path, start_seconds=0.5)
    assert (
        f"warning load-slow load cmd:{command}: its processes had hardly used a CPU after 0.5 s, "
        "when the measurement began"
    ) in lines
    assert "alive" in lines


def test_a_command_keeps_its_temporary_files_where_they_are_cleaned_up(
    load_driver: Path, tmp_path: Path
) -> None:
    scratch, seen = tmp_path / "scratch", tmp_path / "seen"
    scratch.mkdir()
    run(load_driver, f"cmd:mktemp > {seen}; exec yes", scratch)
    made = Path(seen.read_text().strip())
    assert made.is_relative_to(scratch)
    assert not made.exists()


@pytest.mark.skipif(not shutil.which("stress-ng"), reason="stress-ng is not installed")
def test_stress_ng_runs_where_it_is_installed(load_driver: Path, tmp_path: Path) -> None:
    lines = run(load_driver, "stress-ng:--cpu 1 --hdd 1", tmp_path)
    assert "alive" in lines
    assert list(tmp_path.iterdir()) == []


def test_stress_ng_that_is_missing_is_asked_for(load_driver: Path, tmp_path: Path) -> None:
    lines = run(load_driver, "stress-ng:--cpu 1", tmp_path, PATH="/nonexistent")
    assert lines == [
        "failed load stress-ng: stress-ng is not installed here: run 'apt install stress-ng', "
        "or use another load"
    ]


def test_without_permission_the_network_load_says_that_it_is_udp(
    load_driver: Path, tmp_path: Path
) -> None:
    def become_nobody() -> None:
        if os.geteuid() == 0:
            os.setgroups([])
            os.setgid(65534)
            os.setuid(65534)

    gid = 65534 if os.geteuid() == 0 else os.getegid()
    first, last = map(int, Path("/proc/sys/net/ipv4/ping_group_range").read_text().split())
    driver = Path(f"/var/tmp/rtscope-test-driver-{os.getpid()}")
    shutil.copy(load_driver, driver)
    try:
        lines = run(driver, "network:1", tmp_path, preexec_fn=become_nobody)
    finally:
        driver.unlink()
    degraded = any(line.startswith("warning load-degraded load network: no ICMP") for line in lines)
    assert degraded == (not first <= gid <= last)
    assert work(lines)["packets"] > 0


def test_a_loopback_interface_that_is_down_is_brought_up_and_reported(
    load_driver: Path, tmp_path: Path
) -> None:
    lines = run(load_driver, "network:1", tmp_path, through=unshare("--net"))
    assert any(line.startswith("warning load-loopback ") for line in lines)
    assert work(lines)["packets"] > 0


@pytest.mark.parametrize(
    ("spec", "sentence"),
    [("disk:2", "failed load disk: cannot write in"), ("files:2", "failed load files: cannot")],
)
def test_a_full_disk_is_a_sentence(
    load_driver: Path, tmp_path: Path, spec: str, sentence: str
) -> None:
    mount = f"mount -t tmpfs -o size=300k none {tmp_path} && head -c 200k /dev/zero > {tmp_path}/f"
    through = (*unshare("--mount"), "sh", "-c", f'{mount}; exec "$@"', "sh")
    [*_, line] = run(load_driver, spec, tmp_path, through=through)
    assert line.startswith(sentence)
    assert "No space left on device" in line
    assert "set TMPDIR" in line
