# SPDX-License-Identifier: GPL-2.0-only
"""A load never survives its run, whatever kills it: no process and no file of it is left."""

import os
import signal
import subprocess
import sys
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.places import refusal, unshare

START_WITHIN_S = 20
LEFT_WITHIN_S = 20.0
PLAIN = "cpu:1+files:2+ipc:1+process:1"
DAEMON = (
    "cmd:setsid sh -c 'trap \"\" TERM; setsid sleep 600 & sleep 601'"
    " < /dev/null > /dev/null 2>&1 & sleep 602"
)

# No PID namespace can be made below this one.
FORBID = (
    "echo 0 > /proc/sys/user/max_pid_namespaces;"
    'echo 0 > /proc/sys/user/max_user_namespaces; exec "$@"'
)
UNCONTAINED = ("unshare", "-Ur", "sh", "-c", FORBID, "sh")


@dataclass
class Running:
    """A driver with its loads at work, and what of it is to be found."""

    process: subprocess.Popen[str]
    mark: str
    scratch: Path
    said: list[str]

    def find(self) -> dict[int, str]:
        """Process id to name of all that inherited the mark, zombies left out."""
        found = {}
        for directory in Path("/proc").glob("[0-9]*"):
            try:
                if self.mark.encode() in (directory / "environ").read_bytes():
                    found[int(directory.name)] = (directory / "comm").read_text().strip()
            except OSError:
                pass
        return found

    def pids(self, *names: str) -> list[int]:
        own = {"agent": "driver", "supervisor": "rtscope-loads", "leader": "rtscope-leader"}
        found = self.find()
        return [pid for name in names for pid, comm in found.items() if comm == own[name]]

    def kill(self, *names: str) -> None:
        pids = self.pids(*names)
        assert len(pids) == len(names)
        for pid in pids:
            os.kill(pid, signal.SIGSTOP)
        for pid in pids:
            os.kill(pid, signal.SIGKILL)

    def left(self, *spared: str) -> list[str]:
        """Names of what is left, after it has had its time to end."""
        end = time.monotonic() + LEFT_WITHIN_S
        while True:
            kept = self.pids(*spared)
            left = [comm for pid, comm in self.find().items() if pid not in kept]
            if not left or time.monotonic() > end:
                return left
            time.sleep(0.02)


@contextmanager
def running(
    driver: Path, spec: str, scratch: Path, *, through: tuple[str, ...] = ()
) -> Iterator[Running]:
    mark = f"RTSCOPE_TEST_MARK={uuid.uuid4()}"
    name, value = mark.split("=")
    with subprocess.Popen(
        [*through, driver, "run", spec, "60", str(START_WITHIN_S)],
        env={**os.environ, "TMPDIR": str(scratch), name: value},
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout is not None
        said = []
        while (line := process.stdout.readline()) and not line.startswith("ready "):
            said.append(line)
        assert line, said
        run = Running(process, mark, scratch, said)
        try:
            yield run
        finally:
            for pid in run.find():
                with suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)


def until_daemon_sleeps(run: Running) -> None:
    end = time.monotonic() + 20
    while list(run.find().values()).count("sleep") < 3:
        assert time.monotonic() < end
        time.sleep(0.02)


ALL_THREE = ("agent", "supervisor", "leader")


@pytest.mark.parametrize("spec", [PLAIN, DAEMON], ids=["plain", "daemon"])
@pytest.mark.parametrize(
    "killed", [("agent",), ("agent", "supervisor"), ("supervisor",), ALL_THREE], ids="+".join
)
def test_whoever_is_killed_the_loads_end_and_their_files_are_removed(
    load_driver: Path, tmp_path: Path, spec: str, killed: tuple[str, ...]
) -> None:
    with running(load_driver, spec, tmp_path) as run:
        if spec == DAEMON:
            until_daemon_sleeps(run)
        assert len(list(tmp_path.iterdir())) == 1
        run.kill(*killed)
        assert run.left(*{"agent"}.difference(killed)) == []
    if killed == ALL_THREE:  # the next start removes the files
        subprocess.run(
            [load_driver, "run", "files:1", "0", "20"],
            env={**os.environ, "TMPDIR": str(tmp_path)},
            stdout=subprocess.DEVNULL,
            check=True,
        )
    assert list(tmp_path.iterdir()) == []


def test_loads_end_with_their_process_group(load_driver: Path, tmp_path: Path) -> None:
    with running(load_driver, DAEMON, tmp_path) as run:
        until_daemon_sleeps(run)
        run.kill("leader")
        assert run.left("agent", "supervisor") == []
        run.kill("agent")
        assert run.left() == []
        assert list(tmp_path.iterdir()) == []


def test_loads_end_with_the_agent_while_their_supervisor_is_stopped(
    load_driver: Path, tmp_path: Path
) -> None:
    with running(load_driver, DAEMON, tmp_path) as run:
        until_daemon_sleeps(run)
        [supervisor] = run.pids("supervisor")
        os.kill(supervisor, signal.SIGSTOP)
        run.kill("agent")
        assert run.left("supervisor") == []
        assert list(tmp_path.iterdir()) == []
        os.kill(supervisor, signal.SIGCONT)
        assert run.left() == []


def test_a_start_leaves_the_files_of_a_run_that_lives_alone(
    load_driver: Path, tmp_path: Path
) -> None:
    with running(load_driver, "files:1", tmp_path) as first:
        with running(load_driver, "files:1", tmp_path) as second:
            assert len(list(tmp_path.iterdir())) == 2
            second.kill("agent")
            assert second.left() == []
        assert len(list(tmp_path.iterdir())) == 1
        assert "load-files" in first.find().values()


def test_a_command_is_asked_before_it_is_killed(load_driver: Path, tmp_path: Path) -> None:
    scratch, tidied = tmp_path / "scratch", tmp_path / "tidied"
    scratch.mkdir()
    command = (
        f"trap 'echo > {tidied}; exit' TERM; echo > {tmp_path}/set; while :; do sleep 0.05; done"
    )
    with running(load_driver, f"cmd:{command}", scratch) as run:
        end = time.monotonic() + 20
        while not (tmp_path / "set").exists() and time.monotonic() < end:
            time.sleep(0.02)
        run.kill("agent")
        assert run.left() == []
    assert tidied.exists()


@pytest.fixture
def uncontained() -> tuple[str, ...]:
    """What runs a program where it can make no PID namespace."""
    # In a chroot the kernel gives no user namespace, but root can make a PID namespace without.
    for through in (UNCONTAINED, ("setpriv", "--bounding-set=-sys_admin")):
        if not refusal(*through, "true"):
            return through
    return ()  # then the driver cannot make one either


@pytest.mark.parametrize(
    "killed", [("agent",), ("supervisor",), ("leader",), ("agent", "supervisor")], ids="+".join
)
@pytest.mark.parametrize("spec", [PLAIN, DAEMON], ids=["plain", "daemon"])
def test_without_a_namespace_loads_end_too_and_a_warning_says_what_is_lost(
    load_driver: Path,
    tmp_path: Path,
    uncontained: tuple[str, ...],
    spec: str,
    killed: tuple[str, ...],
) -> None:
    with running(load_driver, spec, tmp_path, through=uncontained) as run:
        assert any(line.startswith("warning load-containment ") for line in run.said)
        if spec == DAEMON:
            until_daemon_sleeps(run)
        run.kill(*killed)
        if "agent" not in killed:
            assert run.left(*{"agent", "supervisor"}.difference(killed)) == []
            run.kill("agent")
        assert run.left() == []
        assert list(tmp_path.iterdir()) == []


def test_without_a_namespace_plain_loads_end_whoever_is_killed(
    load_driver: Path, tmp_path: Path, uncontained: tuple[str, ...]
) -> None:
    with running(load_driver, PLAIN, tmp_path, through=uncontained) as run:
        run.kill("agent", "supervisor", "leader")
        assert run.left() == []


# In a PID namespace whose /proc is that of the namespace above: starts a process that is not of
# the loads with the number CHILD, and the driver so that its leader has the number PARENT.
_FOREIGN_NUMBERS = """
import os, subprocess, sys, time
parent, child = map(int, sys.argv[1:3])

def begin(number, *command):
    open("/proc/sys/kernel/ns_last_pid", "w").write(str(number - 1))
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert process.pid == number
    return process

def some_live():
    try:
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass
        return True
    except ChildProcessError:
        return False

bystander = begin(child, "sleep", "60")
driver = begin(parent - 2, *sys.argv[3:])  # its supervisor and its leader have the next numbers
print(driver.communicate()[0], end="")
print("bystander", bystander.poll())
bystander.kill()
bystander.wait()
end = time.monotonic() + 2
while some_live() and time.monotonic() < end:
    time.sleep(0.02)
print("some live", some_live())
"""


def test_where_proc_counts_as_another_namespace_the_loads_end_and_no_other_process(
    load_driver: Path, tmp_path: Path, uncontained: tuple[str, ...]
) -> None:
    if uncontained != UNCONTAINED:
        pytest.skip("no user namespace can be made here")
    inside = (*unshare("-Ur", "--pid", "--fork", "--kill-child"), *UNCONTAINED[2:])
    with subprocess.Popen(
        ["sh", "-c", "sleep 60 & echo $!; wait"],
        stdout=subprocess.PIPE,
        text=True,
        start_new_session=True,
    ) as parent:
        try:
            assert parent.stdout is not None
            numbers = (str(parent.pid), parent.stdout.readline().strip())
            done = subprocess.run(
                [*inside, sys.executable, "-c", _FOREIGN_NUMBERS, *numbers,
                 load_driver, "run", DAEMON, "1", str(START_WITHIN_S)],
                env={**os.environ, "TMPDIR": str(tmp_path)},
                capture_output=True,
                text=True,
                check=True,
                timeout=60,
            )  # fmt: skip
        finally:
            os.killpg(parent.pid, signal.SIGKILL)
    assert "warning load-containment " in done.stdout
    assert done.stdout.splitlines()[-2:] == ["bystander None", "some live False"]
