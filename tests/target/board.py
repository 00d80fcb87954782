# SPDX-License-Identifier: GPL-2.0-only
"""A board for tests: it has a root file system of its own, and nothing of the host's to write to.

Its network, processes and users are its own too, and it runs a real sshd. tests/target/root.py
makes the root. Whoever enters it later first compares the token that the test wrote there.
"""

import functools
import os
import re
import secrets
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from tests.target import root
from tests.target.root import MARKER

WAIT_S = 60.0
PORT = "2222"
# Networks of four addresses in 198.18.0.0/15, which is set aside for tests.
_NETWORKS = 32768
OWN_SPACES = ("--net", "--pid", "--fork", "--kill-child")
# Runs in the board's root, as its first process. The account pi has no rights, admin has sudo.
_BOOT = """
set -e
mkdir /run/sshd /home/pi /home/admin
chown 1234:1234 /home/pi
chown 1235:1235 /home/admin
echo ready
read -r link address
ip link set lo up
ip address add "$address"/30 dev "$link"
ip link set "$link" up
exec /usr/sbin/sshd -D -e -f /run/board/sshd_config 2>/run/board/log
"""
# One process compares the token and runs the script: no root can come between.
_ENTER = f"""
read -r token < {MARKER} && [ "$token" = "$0" ] || {{ echo "not the board's root" >&2; exit 125; }}
eval "$1"
"""
_SSHD = f"""
Port {PORT}
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
_ETC = {
    "passwd": "root:x:0:0::/root:/bin/bash\n"
    "sshd:x:100:65534::/run/sshd:/usr/sbin/nologin\n"
    "pi:x:1234:1234::/home/pi:/bin/sh\n"
    "admin:x:1235:1235::/home/admin:/bin/sh\n",
    "group": "root:x:0:\ntty:x:5:\nnogroup:x:65534:\npi:x:1234:\nadmin:x:1235:\n",
    "shadow": "".join(f"{name}:*:19000:0:99999:7:::\n" for name in ("root", "pi", "admin")),
    "sudoers": "admin ALL = (root) NOPASSWD: /home/admin/.cache/rtscope/agents/rtscope-agent-*\n",
    "nsswitch.conf": "passwd: files\ngroup: files\nshadow: files\nhosts: files\n",
    "pam.d/other": "auth required pam_deny.so\n"
    "account required pam_permit.so\n"
    "session required pam_permit.so\n",
}


@functools.cache
def lacking() -> str:
    """Why this place can have no board, found by trying; empty where it can."""
    trials = (
        ["unshare", "--mount", "--propagation=unchanged", *OWN_SPACES, "true"],
        ["unshare", "--net", "ip", "link", "add", "here", "type", "veth", "peer", "name", "there"],
    )
    for trial in trials:
        done = subprocess.run(trial, capture_output=True, text=True, check=False)
        if done.returncode:
            return f"a board needs `{' '.join(trial[:2])}`: {done.stderr.strip()}"
    return ""


needs_board = pytest.mark.skipif(bool(lacking()), reason=lacking())


class Board:
    """A running board."""

    def __init__(self, folder: Path, runtime: str, link: str, init: int, token: str) -> None:
        self.folder = folder
        """with the keys, and a folder bin for PATH, whose ssh has a configuration of its own"""
        self.runtime = runtime
        """where sockets of those who connect may be, a short name"""
        self.link = link
        """the interface here that leads there"""
        self.init = init
        """the board's first process, as it is numbered here"""
        self._token = token

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
        spaces = ("--mount", "--pid", "--net", "--root", "--wd")
        return subprocess.run(
            ["nsenter", f"--target={self.init}", *spaces, "sh", "-c", _ENTER, self._token, script],
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
    if lacking():
        pytest.skip(lacking())
    token = secrets.token_hex()
    furnish(folder)
    with subprocess.Popen(
        [
            *("setpriv", "--pdeathsig=KILL", "unshare", *OWN_SPACES),
            *(sys.executable, "-I", root.__file__, folder / "board", token, "sh", "-c", _BOOT),
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
            with _network(init) as (link, far, here, address):
                give_ssh(folder, address, PORT, (folder / "host_key.pub").read_text())
                subprocess.run(["ip", "address", "add", f"{here}/30", "dev", link], check=True)
                subprocess.run(["ip", "link", "set", link, "up"], check=True)
                print(far, address, file=process.stdin, flush=True)
                _await_sshd(folder)
                with tempfile.TemporaryDirectory(prefix="rts", dir="/tmp") as runtime:
                    yield Board(folder, runtime, link, init, token)
        finally:
            process.kill()


@contextmanager
def _network(init: int) -> Iterator[tuple[str, str, str, str]]:
    """Two new interfaces, one here and one of process `init`'s, and the addresses meant for them.

    An interface of that name here is another board's, and so are its addresses.
    """
    while True:
        number = secrets.randbelow(_NETWORKS)
        link, far = f"rts{number}h", f"rts{number}b"
        add = f"ip link add {link} type veth peer name {far} netns {init}"
        done = subprocess.run(add.split(), stderr=subprocess.PIPE, text=True, check=False)
        if not done.returncode:
            break
        assert "File exists" in done.stderr, done.stderr
    try:
        net = f"198.{18 + number // 16384}.{number // 64 % 256}"
        yield link, far, f"{net}.{number % 64 * 4 + 1}", f"{net}.{number % 64 * 4 + 2}"
    finally:
        # What was still to be sent keeps the board's network for minutes.
        subprocess.run(["ip", "link", "delete", link], stderr=subprocess.DEVNULL, check=False)


def furnish(folder: Path) -> None:
    """Write the files of the board's /etc and /run/board, and the keys that reach it."""
    for key in (folder / "key", folder / "host_key"):
        subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", key], check=True)
    for name, text in _ETC.items():
        path = folder / "board" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        path.chmod(0o440 if name in {"shadow", "sudoers"} else 0o644)
    run = folder / "board" / "run"
    run.mkdir()
    (run / "sshd_config").write_text(_SSHD)
    shutil.copy(folder / "key.pub", run)
    shutil.copy(folder / "host_key", run)


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
