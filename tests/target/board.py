"""A board for tests: a network, processes and folders of its own, and a real sshd."""

import itertools
import os
import re
import shutil
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="a network of its own needs root")
WAIT_S = 60.0
PORT = "2222"
_numbers = itertools.count()
# What its users may write is its own, and so are the accounts: pi has no rights, admin has sudo.
# All else is as it is here.
_BOOT = """
set -e
ip link set lo up
mount -t tmpfs -o mode=755 board /run
mkdir /run/sshd /run/board
cp "$1"/* /run/board
chmod 600 /run/board/host_key /run/board/shadow
chmod 440 /run/board/sudoers
for name in passwd shadow group sudoers; do
	mount --bind /run/board/$name /etc/$name
done
mount -t tmpfs -o mode=755 board /home
mkdir /home/pi /home/admin
chown 1234:1234 /home/pi
chown 1235:1235 /home/admin
mount -t tmpfs -o mode=700 board /root
for place in /tmp /dev/shm; do
	mount -t tmpfs -o mode=1777 board $place
done
echo ready
read -r plugged
exec /usr/sbin/sshd -D -e -f /run/board/sshd_config 2>/run/board/log
"""
_SSHD = """
Port {PORT}
ListenAddress {address}
HostKey /run/board/host_key
AuthorizedKeysFile /run/board/key.pub
PidFile none
StrictModes no
UsePAM no
PasswordAuthentication no
KbdInteractiveAuthentication no
PermitRootLogin yes
UseDNS no
"""
_SSH = """
Host board
	HostName {address}
	Port {PORT}
	User root
Host *
	IdentityFile {folder}/key
	IdentityAgent none
	IdentitiesOnly yes
	UserKnownHostsFile {folder}/known_hosts
	GlobalKnownHostsFile none
"""
_ACCOUNTS = {
    "passwd": "pi:x:1234:1234::/home/pi:/bin/sh\nadmin:x:1235:1235::/home/admin:/bin/sh\n",
    "group": "pi:x:1234:\nadmin:x:1235:\n",
    "shadow": "".join(f"{name}:*:19000:0:99999:7:::\n" for name in ("root", "pi", "admin")),
    "sudoers": "admin ALL = (root) NOPASSWD: /home/admin/.cache/rtscope/agents/rtscope-agent-*\n",
}


class Board:
    """A running board."""

    def __init__(self, folder: Path, runtime: str, link: str, init: int) -> None:
        self.folder = folder
        """with the keys, and a folder bin for PATH, whose ssh has a configuration of its own"""
        self.runtime = runtime
        """where sockets of those who connect may be, a short name"""
        self.link = link
        """the interface here that leads there"""
        self.init = init
        """the board's first process, as it is numbered here"""

    def processes(self) -> dict[int, str]:
        """The command lines of what runs there, by its number here; parents first."""
        parents = {}
        for process in Path("/proc").glob("[0-9]*"):
            with suppress(OSError):
                fields = (process / "stat").read_text().rpartition(")")[2].split()
                parents[int(process.name)] = int(fields[1])
        there = [self.init]
        for pid in there:
            there += [child for child, parent in parents.items() if parent == pid]
        return {pid: _command_line(Path(f"/proc/{pid}")) for pid in there}

    def agents(self) -> list[int]:
        """Processes of the agent's and of its loads."""
        return [pid for pid, words in self.processes().items() if "/rtscope-agent-" in words]

    def still_running(self) -> list[str]:
        """Agents and loads that are left after some seconds."""
        return left_of(lambda: [_stat(pid) for pid in self.agents()])

    def sessions(self) -> list[int]:
        """The processes of sshd's that serve a connection."""
        said = self.processes().items()
        return [pid for pid, words in said if words.startswith("sshd: ") and pid != self.init]

    def clients(self) -> list[str]:
        """The command lines of those ssh here that lead there, or try to."""
        return list(clients_of(self.folder, self.runtime).values())

    def still_connected(self) -> list[str]:
        """Connections, there or here, that are left after some seconds."""
        return left_of(lambda: [*map(_stat, self.sessions()), *self.clients()])

    def sh(self, script: str) -> str:
        """What a script prints that runs on the board, as root."""
        space = ("--mount", "--pid", "--net")
        return subprocess.run(
            ["nsenter", f"--target={self.init}", *space, "sh", "-c", script],
            check=True,
            stdout=subprocess.PIPE,
            text=True,
        ).stdout

    def unplug(self) -> None:
        """From now on nothing comes through in either direction, and nobody is told."""
        subprocess.run(["ip", "link", "set", self.link, "down"], check=True)


def environment_of(folder: Path, runtime: str, agent: Path) -> dict[str, str]:
    """What runs this checkout, with a board's ssh and sockets, and a store in its folder."""
    return os.environ | {
        "PATH": f"{folder}/bin:{os.environ['PATH']}",
        "RTSCOPE_AGENT": str(agent),
        "XDG_DATA_HOME": str(folder),
        "XDG_RUNTIME_DIR": runtime,
        "PYTHONPATH": str(Path(__file__).parents[2]),
    }


def clients_of(folder: Path, runtime: str) -> dict[int, str]:
    """The command lines of those ssh here that use one of these folders, by their number."""
    lines = {process.name: _command_line(process) for process in Path("/proc").glob("[0-9]*")}
    return {
        int(number): line
        for number, line in lines.items()
        if re.match(r"(/\S*/)?ssh:? ", line) and (str(folder) in line or runtime in line)
    }


def left_of(look: Callable[[], list[str]]) -> list[str]:
    """What is to be seen still after WAIT_S; nothing as soon as nothing is."""
    until = time.monotonic() + WAIT_S
    while (seen := look()) and time.monotonic() < until:
        time.sleep(0.1)
    return seen


def _stat(pid: int) -> str:
    """Its number, name, state, and so on, as the kernel tells."""
    try:
        return Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return f"{pid}, which has ended"


def _command_line(process: Path) -> str:
    """With blanks between its words; empty where it has ended."""
    try:
        return (process / "cmdline").read_bytes().replace(b"\0", b" ").decode()
    except OSError:
        return ""


@contextmanager
def running_board(folder: Path) -> Iterator[Board]:
    """A board that is gone with the block, and all that ran on it."""
    number = (os.getpid() * 2 + next(_numbers) % 2) % 32768 * 4
    net = f"198.{18 + number // 65536}.{number // 256 % 256}"
    here, address = f"{net}.{number % 256 + 1}", f"{net}.{number % 256 + 2}"
    link, far = f"rts{number}h", f"rts{number}b"
    _furnish(folder, address)
    alone = ("--net", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc")
    with subprocess.Popen(
        [
            "setpriv",
            "--pdeathsig=KILL",
            "unshare",
            *alone,
            "sh",
            "-c",
            _BOOT,
            "sh",
            folder / "board",
        ],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        try:
            assert process.stdin is not None
            assert process.stdout is not None
            assert process.stdout.readline() == "ready\n"
            children = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text()
            init = int(children)
            for command in (
                f"ip link add {link} type veth peer name {far} netns {init}",
                f"ip address add {here}/30 dev {link}",
                f"ip link set {link} up",
                f"nsenter --target={init} --net ip address add {address}/30 dev {far}",
                f"nsenter --target={init} --net ip link set {far} up",
            ):
                subprocess.run(command.split(), check=True)
            print("plugged", file=process.stdin, flush=True)
            _await_sshd(folder)
            with tempfile.TemporaryDirectory(prefix="rts", dir="/tmp") as runtime:
                yield Board(folder, runtime, link, init)
        finally:
            process.kill()
            # What was still to be sent keeps the board's network for minutes.
            subprocess.run(["ip", "link", "delete", link], stderr=subprocess.DEVNULL, check=False)


def _furnish(folder: Path, address: str) -> None:
    """Write what the board boots with, and what ssh needs to reach it."""
    board = folder / "board"
    board.mkdir()
    for key in (folder / "key", board / "host_key"):
        subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", key], check=True)
    shutil.copy(folder / "key.pub", board)
    for name, more in _ACCOUNTS.items():
        known = Path("/etc", name).read_text() if name in {"passwd", "group"} else ""
        (board / name).write_text(known + more)
    (board / "sshd_config").write_text(_SSHD.format(PORT=PORT, address=address))
    give_ssh(folder, address, PORT, (board / "host_key.pub").read_text())


def give_ssh(folder: Path, address: str, port: str, host_key: str) -> None:
    """Write a configuration that reaches a board by the key in `folder`, and bin/ssh there, which
    uses it."""
    (folder / "known_hosts").write_text(f"[{address}]:{port} {host_key}")
    config = folder / "ssh_config"
    config.write_text(_SSH.format(PORT=port, address=address, folder=folder))
    command = folder / "bin" / "ssh"
    command.parent.mkdir()
    command.write_text(f'#!/bin/sh\nexec {shutil.which("ssh")} -F "{config}" "$@"\n')
    command.chmod(0o755)


def _await_sshd(folder: Path) -> None:
    until = time.monotonic() + WAIT_S
    ask = [f"{folder}/bin/ssh", "-oBatchMode=yes", "board", "exit 0"]
    while subprocess.run(ask, capture_output=True, check=False).returncode:
        assert time.monotonic() < until, "sshd does not answer"
        time.sleep(0.1)
