# SPDX-License-Identifier: GPL-2.0-only
"""The CPUs that irqbalance leaves alone: its file of settings, and a daemon that runs.

The daemon here answers as irqbalance 1.9.2 was seen to: who sends no credentials of root's gets no
answer, and what it is told shows when it looks next.
"""

import os
import socket
import struct
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.agent.probing import LAST_CPU, needs_root, needs_two_cpus
from tests.agent.tuning import Tuned, tune
from tests.places import unshare

SETTINGS = "# settings\nIRQBALANCE_ARGS=\n#IRQBALANCE_BANNED_CPULIST=\n"
RULE = f"irqbalance ban={LAST_CPU}"
LINE = f"IRQBALANCE_BANNED_CPULIST={LAST_CPU}"
LATER = "irqbalance adopts it at its next scan, within 10 s"

pytestmark = [needs_root, needs_two_cpus, pytest.mark.kernels]


class Daemon:
    """What it bans, and what it was told since it looked."""

    def __init__(self, path: Path) -> None:
        self.banned = ""
        self.reported: list[str] = []
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.socket.bind(str(path))
        self.socket.listen()
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_PASSCRED, 1)
        threading.Thread(target=self.serve, daemon=True).start()

    def serve(self) -> None:
        while True:
            try:
                caller, _ = self.socket.accept()
            except OSError:
                return
            with caller:
                words, ancillary, _, _ = caller.recvmsg(4096, socket.CMSG_SPACE(12))
                uids = [struct.unpack("3i", data)[1] for _, _, data in ancillary]
                if uids != [0]:
                    continue
                if words == b"setup":
                    mask = sum(1 << int(cpu) for cpu in self.banned.split(",") if cpu)
                    caller.sendall(f"SLEEP 10 IRQ 24 LOAD 7 CLASS 0 BANNED {mask:08x}".encode())
                elif words.startswith(b"settings cpus "):
                    self.reported.append(words.decode().removeprefix("settings cpus "))

    def look(self) -> None:
        self.banned = self.reported[-1].replace("NULL", "")


class Machine:
    """Its files, which the agent sees in their places."""

    def __init__(self, root: Path) -> None:
        self.root = root
        (root / "default").mkdir()
        (root / "run").mkdir()
        self.settings = root / "default" / "irqbalance"
        self.settings.write_text(SETTINGS)

    def tune(self, *words: str) -> Tuned:
        script = (
            f"mount --bind {self.root / 'default'} /etc/default && mount -t tmpfs none /run && "
            f"mkdir /run/irqbalance && mount --bind {self.root / 'run'} /run/irqbalance && "
            'exec "$@"'
        )
        namespace = (*unshare("--mount"), "sh", "-c", script, "sh")
        return tune(self.root / "journal", *words, before=namespace)

    @contextmanager
    def daemon(self) -> Iterator[Daemon]:
        daemon = Daemon(self.root / "run" / "irqbalance4711.sock")
        try:
            yield daemon
        finally:
            daemon.socket.shutdown(socket.SHUT_RDWR)
            daemon.socket.close()


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    return Machine(tmp_path)


@pytest.mark.parametrize(
    ("before", "wanted"),
    [
        (SETTINGS, SETTINGS + LINE + "\n"),
        (SETTINGS.rstrip(), SETTINGS + LINE + "\n"),
        (f"{LINE}\n{SETTINGS}", None),
        (f'IRQBALANCE_BANNED_CPULIST="0"\n{SETTINGS}', f"{LINE.replace('=', '=0-')}\n{SETTINGS}"),
    ],
)
def test_the_file_is_set_once_and_put_back(
    machine: Machine, before: str, wanted: str | None
) -> None:
    machine.settings.write_text(before)
    machine.settings.chmod(0o640)
    applied = machine.tune("apply", RULE)
    assert applied.status == 0
    assert machine.settings.read_text() == (wanted or before)
    assert len(applied.changes) == (wanted is not None)
    assert machine.settings.stat().st_mode & 0o777 == 0o640
    assert machine.tune("undo").status == 0
    assert machine.settings.read_text().rstrip() == before.rstrip()


def test_a_file_that_is_a_link_stays_one(machine: Machine) -> None:
    kept = machine.settings.with_name("kept")
    machine.settings.rename(kept)
    machine.settings.symlink_to("kept")
    assert machine.tune("apply", RULE).states() == ["applied"]
    assert machine.settings.is_symlink()
    assert kept.read_text() == SETTINGS + LINE + "\n"
    assert machine.tune("undo").states() == ["restored"]
    assert machine.settings.is_symlink()
    assert kept.read_text() == SETTINGS


def test_what_belongs_to_the_file_stays(machine: Machine) -> None:
    """Owner, mode and extended attributes; a link that leads nowhere is no file to make."""
    os.chown(machine.settings, 65534, 65533)
    machine.settings.chmod(0o640)
    try:
        os.setxattr(machine.settings, "user.rtscope", b"kept")
    except OSError as error:
        pytest.skip(f"this file system has no extended attributes: {error}")
    for verb, text in (("apply", SETTINGS + LINE + "\n"), ("undo", SETTINGS)):
        assert machine.tune(verb, *([RULE] if verb == "apply" else [])).status == 0
        assert machine.settings.read_text() == text
        status = machine.settings.stat()
        assert (status.st_uid, status.st_gid, status.st_mode & 0o7777) == (65534, 65533, 0o640)
        assert os.getxattr(machine.settings, "user.rtscope") == b"kept"
    assert list(machine.settings.parent.iterdir()) == [machine.settings]


def test_a_file_with_another_hard_link_is_refused(machine: Machine) -> None:
    other = machine.settings.with_name("other")
    os.link(machine.settings, other)
    applied = machine.tune("apply", RULE)
    assert (applied.status, applied.states()) == (1, ["failed"])
    assert "hard links" in applied.changes[0]["why"]
    assert machine.settings.samefile(other)
    assert other.read_text() == SETTINGS
    assert machine.tune("undo").changes == []


def test_the_running_daemon_is_reconfigured_and_restored(machine: Machine) -> None:
    with machine.daemon() as daemon:
        socket_change, _ = machine.tune("apply", RULE).changes
        assert (socket_change["old"], socket_change["new"]) == ("", str(LAST_CPU))
        assert (socket_change["state"], socket_change["why"]) == ("applied", LATER)
        assert daemon.reported == [str(LAST_CPU)]
        daemon.look()
        assert machine.tune("status").states() == ["in-effect"] * 2
        undone = machine.tune("undo")
        assert undone.states() == ["restored"] * 2
        assert daemon.reported[-1] == "NULL"


def test_a_daemon_that_has_not_polled_yet_is_restored_too(machine: Machine) -> None:
    with machine.daemon() as daemon:
        machine.tune("apply", RULE)
        machine.tune("undo")
        assert daemon.reported[-1] == "NULL"


def test_a_daemon_that_has_ended_is_gone(machine: Machine) -> None:
    with machine.daemon():
        machine.tune("apply", RULE)
    assert sorted(machine.tune("undo").states()) == ["gone", "restored"]


def test_where_there_is_none_nothing_is_to_be_done(machine: Machine) -> None:
    machine.settings.unlink()
    applied = machine.tune("apply", RULE)
    assert (applied.status, applied.changes) == (0, [])
