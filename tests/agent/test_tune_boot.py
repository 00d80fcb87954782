# SPDX-License-Identifier: GPL-2.0-only
"""Kernel parameters in the boot loader's own place, on a machine's files in a mount namespace.

GRUB's own update-grub looks for disks; the one here joins the settings as that does, and no more.
"""

import os
import signal
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tests.agent.probing import needs_root
from tests.agent.tuning import Tuned, tune
from tests.places import unshare

UPDATE = """#!/bin/sh
. /etc/default/grub
for file in /etc/default/grub.d/*.cfg; do [ ! -e "$file" ] || . "$file"; done
echo "linux /vmlinuz root=/dev/vda $GRUB_CMDLINE_LINUX" > /boot/grub/grub.cfg
"""
RULES = ("boot add=isolcpus=1 nohz_full=1", "boot add=rcu_nocbs=1")
ADDED = "isolcpus=1 nohz_full=1 rcu_nocbs=1"

pytestmark = [needs_root, pytest.mark.kernels]


class Machine:
    """Its files, which the agent sees in their places, and the agent."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.put("default/grub", 'GRUB_CMDLINE_LINUX="quiet"\n')
        self.put("default/grub.d/other.cfg", 'GRUB_CMDLINE_LINUX="$GRUB_CMDLINE_LINUX nosmt"\n')
        self.put("boot/grub/grub.cfg", "linux /vmlinuz root=/dev/vda quiet nosmt\n")
        self.put("sbin/update-grub", UPDATE, 0o755)
        self.put("sbin/grub-mkconfig", "for x in ${sysconfdir}/default/grub.d/*.cfg ; do\n", 0o755)
        self.put("cmdline", "BOOT_IMAGE=/vmlinuz root=/dev/vda quiet nosmt\n")

    def put(self, path: str, text: str, mode: int = 0o644) -> None:
        file = self.root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
        file.chmod(mode)

    def files(self) -> dict[str, str]:
        """All that could be changed, but for the journal."""
        found = [path for path in self.root.rglob("*") if path.is_file()]
        kept = (path for path in found if path.parent.name != "journal")
        return {str(path): path.read_text() for path in kept}

    def tune(self, *words: str, before: tuple[str, ...] = ()) -> Tuned:
        places = {"default": "/etc/default", "boot": "/boot", "sbin": "/usr/sbin"}
        mounts = [f"mount --bind {self.root / ours} {it}" for ours, it in places.items()]
        mounts.append(f"mount --bind {self.root / 'cmdline'} /proc/cmdline")
        script = " && ".join([*mounts, 'exec "$@"'])
        namespace = (*unshare("--mount"), "sh", "-c", script, "sh", *before)
        return tune(self.root / "journal", *words, before=namespace)


def undone(place: "Machine | Board") -> Tuned:
    """`undo` after a kill. The killed agent's child holds the journal until it is a program."""
    until = time.monotonic() + 20
    while (ended := place.tune("undo")).complaint and time.monotonic() < until:
        time.sleep(0.1)
    return ended


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    return Machine(tmp_path)


def test_parameters_are_there_from_the_next_boot_on_and_undone(machine: Machine) -> None:
    before = machine.files()
    (shown,) = machine.tune("show", "--profile", "iso", *RULES).changes
    assert (shown["kind"], shown["old"], shown["new"]) == ("boot", "", ADDED)
    assert shown["where"] == "/etc/default/grub.d/rtscope-iso.cfg"
    assert machine.files() == before

    applied = machine.tune("apply", "--profile", "iso", *RULES)
    assert (applied.status, applied.states()) == (0, ["applied"])
    assert applied.changes[0]["why"] == "from the next boot on"
    booted = (machine.root / "boot/grub/grub.cfg").read_text()
    assert booted == f"linux /vmlinuz root=/dev/vda quiet nosmt {ADDED}\n"
    assert machine.tune("apply", "--profile", "iso", *RULES).changes == []

    assert machine.tune("undo").states() == ["restored"]
    assert machine.files() == before


def test_they_outlive_the_boot(machine: Machine) -> None:
    before = machine.files()
    machine.tune("apply", *RULES)
    boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    journal = machine.root / "journal/journal"
    journal.write_text(journal.read_text().replace(boot, boot[::-1]))
    assert machine.tune("status").states() == ["in-effect"]
    assert machine.tune("undo").states() == ["restored"]
    assert machine.files() == before


@pytest.mark.parametrize(
    ("action", "call", "number"),
    [
        *(("apply", call, 1) for call in ("rename", "fork,vfork,clone", "wait4")),
        ("apply", "fsync", 3),
        ("apply", "fsync", 4),
        *(("undo", call, 1) for call in ("fsync", "rename", "fork,vfork,clone", "wait4", "unlink")),
    ],
)
def test_killed_anywhere_undo_restores_the_boot_loader(
    machine: Machine, action: str, call: str, number: int
) -> None:
    before = machine.files()
    if action == "undo":
        machine.tune("apply", *RULES)
    strace = ("strace", "-o", "/dev/null", "-e", f"inject={call}:signal=KILL:when={number}")
    words = ("apply", *RULES) if action == "apply" else ("undo",)
    assert machine.tune(*words, before=strace).status == -signal.SIGKILL
    assert undone(machine).status == 0
    assert machine.files() == before


def test_what_a_kill_left_unfinished_another_apply_finishes(machine: Machine) -> None:
    before = machine.files()
    strace = ("strace", "-o", "/dev/null", "-e", "inject=fork,vfork,clone:signal=KILL:when=1")
    assert machine.tune("apply", *RULES, before=strace).status == -signal.SIGKILL
    assert ADDED not in (machine.root / "boot/grub/grub.cfg").read_text()

    (change,) = machine.tune("apply", *RULES).changes
    assert (change["old"], change["new"], change["state"]) == ("", ADDED, "applied")
    assert ADDED in (machine.root / "boot/grub/grub.cfg").read_text()
    assert machine.tune("apply", *RULES).changes == []

    assert machine.tune("undo").states() == ["restored"]
    assert machine.files() == before


def test_where_update_grub_fails_nothing_is_left(machine: Machine) -> None:
    machine.put("sbin/update-grub", "#!/bin/sh\nexit 3\n", 0o755)
    before = machine.files()
    applied = machine.tune("apply", *RULES)
    assert (applied.status, applied.states()) == (1, ["failed"])
    assert "update-grub" in applied.changes[0]["why"]
    assert machine.files() == before


def test_what_update_grub_does_not_put_there_has_not_held(machine: Machine) -> None:
    machine.put("sbin/update-grub", "#!/bin/sh\n", 0o755)
    applied = machine.tune("apply", *RULES)
    assert (applied.status, applied.states()) == (1, ["not-held"])
    assert "/boot/grub/grub.cfg" in applied.changes[0]["why"]


@pytest.mark.parametrize("missing", ["BOOT_IMAGE", "grub.d"])
def test_a_boot_loader_that_is_not_certain_is_left_alone(machine: Machine, missing: str) -> None:
    if missing == "BOOT_IMAGE":
        machine.put("cmdline", "root=/dev/vda quiet nosmt\n")
    else:
        machine.put("sbin/grub-mkconfig", "nothing of it\n", 0o755)
    before = machine.files()
    applied = machine.tune("apply", *RULES)
    assert (applied.status, applied.states()) == (1, ["failed"])
    assert "by hand" in applied.changes[0]["why"]
    assert machine.files() == before


MODELS = {"cmdline.txt": "Raspberry Pi 4 Model B Rev 1.4"}


class Board:
    """One without GRUB: its /boot, /etc and programs, and the part of /proc that is read."""

    def __init__(
        self, root: Path, running: str, file: str, text: str, *more: tuple[str, str]
    ) -> None:
        self.root = root
        self.file = root / "boot" / file
        contents = {f"boot/{name}": content for name, content in ((file, text), *more)} | {
            "etc/fstab": "# of the board\n",
            "usr/sbin/none": "",
            "proc/cmdline": f"coherent_pool=1M {running}\n",
            "proc/device-tree/model": f"{MODELS.get(file.rpartition('/')[2], 'Board')}\0",
            "proc/sys/kernel/random/boot_id": "board\n",
        }
        for path, content in contents.items():
            (root / path).parent.mkdir(parents=True, exist_ok=True)
            (root / path).write_bytes(content.encode())

    def text(self) -> str:
        return self.file.read_bytes().decode()

    def put(self, path: str, text: str) -> None:
        file = self.root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
        file.chmod(0o755)

    def files(self) -> dict[str, str]:
        """All that could be changed, and its folders."""
        found = [path for name in ("boot", "etc") for path in (self.root / name).rglob("*")]
        return {str(path): path.read_text() if path.is_file() else "" for path in found}

    def tune(self, *words: str, before: tuple[str, ...] = ()) -> Tuned:
        places = ("boot", "etc", "usr/sbin", "proc")
        mounts = [f"mount --bind {self.root / name} /{name}" for name in places]
        script = " && ".join([*mounts, 'exec "$@"'])
        namespace = (*unshare("--mount"), "sh", "-c", script, "sh", *before)
        return tune(self.root / "journal", *words, before=namespace)


RELEASE = os.uname().release
OPTIONS = "root=UUID=1-2 ro quiet"
ENTRY = f"title Linux\nversion {RELEASE}\nlinux /vmlinuz-{RELEASE}\noptions {OPTIONS}\n"
OTHER = ENTRY.replace(RELEASE, "5.4.3")
ENTRIES = ("loader/entries/1.conf", "efi/loader/entries/1.conf")
PI = "console=serial0 root=UUID=1-2 rootwait{}\n"
EXTLINUX = (
    "DEFAULT rt\nLABEL rt\n  LINUX /Image\n\tAPPEND ${{args}} root=UUID=1-2{}\n  FDT /a.dtb\n"
)
ARMBIAN = "rootdev=UUID=1-2\nextraargs=nosmt{}\nconsole=serial\n"


@pytest.mark.parametrize(
    ("file", "before", "after"),
    [
        ("firmware/cmdline.txt", PI.format(""), PI.format(f" {ADDED}")),
        ("cmdline.txt", PI.format("").rstrip(), PI.format(f" {ADDED}").rstrip()),
        ("cmdline.txt", "\n" + PI.format("\r"), "\n" + PI.format(f" {ADDED}\r")),
        ("cmdline.txt", PI.format(f" {ADDED}0"), PI.format(f" {ADDED}0 {ADDED}")),
        ("extlinux/extlinux.conf", EXTLINUX.format(""), EXTLINUX.format(f" {ADDED}")),
        ("armbianEnv.txt", ARMBIAN.format(""), ARMBIAN.format(f" {ADDED}")),
        (
            "armbianEnv.txt",
            "rootdev=UUID=1-2\noverlays=spi ",
            f"rootdev=UUID=1-2\noverlays=spi \nextraargs={ADDED}\n",
        ),
        (
            "armbianEnv.txt",
            ARMBIAN.format(" regdom="),
            ARMBIAN.format(f" regdom= {ADDED}"),
        ),
        ("armbianEnv.txt", "rootdev=UUID=1-2\n", f"rootdev=UUID=1-2\nextraargs={ADDED}\n"),
        ("armbianEnv.txt", "rootdev=UUID=1-2", f"rootdev=UUID=1-2\nextraargs={ADDED}\n"),
        (
            "armbianEnv.txt",
            "extraargs=\nrootdev=UUID=1-2\n",
            f"extraargs={ADDED}\nrootdev=UUID=1-2\n",
        ),
    ],
)
def test_the_line_of_a_boards_boot_loader_gets_the_parameters_and_loses_them(
    tmp_path: Path, file: str, before: str, after: str
) -> None:
    board = Board(tmp_path, "root=UUID=1-2 rw", file, before)
    (shown,) = board.tune("show", *RULES).changes
    assert (shown["where"], board.text()) == (f"/boot/{file}", before)
    applied = board.tune("apply", *RULES)
    assert (applied.status, applied.states()) == (0, ["applied"])
    assert board.text() == after
    assert board.tune("apply", *RULES).changes == []
    assert board.tune("undo").states() == ["restored"]
    assert board.text() == before + "\n" * (file == "armbianEnv.txt" and before[-1] != "\n")


@pytest.mark.parametrize(
    ("running", "file", "text"),
    [
        ("root=UUID=1-23", "cmdline.txt", PI.format("")),
        ("rw", "cmdline.txt", PI.format("")),
        ("root=UUID=1-2", "cmdline.txt", "console=serial0\n"),
        ("root=UUID=1-2", "cmdline.txt", 2 * PI.format("")),
        ("root=UUID=1-2", "cmdline.txt", PI.format("") + "\0"),
        ("root=UUID=1-2", "cmdline.txt", PI.format(" " + 4080 * "x")),
        ("root=/dev/nfs", "armbianEnv.txt", ARMBIAN.format("")),
        ("root=UUID=1-2", "armbianEnv.txt", 2 * ARMBIAN.format("")),
        ("root=/dev/nfs", "extlinux/extlinux.conf", EXTLINUX.format("")),
        ("root=UUID=1-2", "extlinux/extlinux.conf", 2 * EXTLINUX.format("")),
        (
            "root=UUID=1-2",
            "extlinux/extlinux.conf",
            "## use: u-boot-update\n" + EXTLINUX.format(""),
        ),
        ("root=UUID=1-2", "extlinux/extlinux.conf", EXTLINUX.format("") + 16384 * "#"),
        ("root=UUID=1-2", "extlinux/extlinux.conf", "LABEL rt\n"),
        ("root=UUID=1-2", "extlinux/extlinux.conf", EXTLINUX.format("") + "LABEL old\n"),
        (
            "root=UUID=1-2",
            "extlinux/extlinux.conf",
            "# APPEND root=UUID=1-2\n" + EXTLINUX.format("").replace("UUID=1-2", "UUID=9-9"),
        ),
        (
            "root=UUID=1-2 BOOT_IMAGE=(hd0,gpt2)/vmlinuz",
            "extlinux/extlinux.conf",
            EXTLINUX.format(""),
        ),
        ("root=UUID=1-2", ENTRIES[0], OTHER),
        ("root=UUID=1-2", ENTRIES[0], ENTRY.replace(RELEASE, f"{RELEASE}1")),
        ("root=UUID=1-23", ENTRIES[0], ENTRY),
        ("root=UUID=1-2", ENTRIES[0], ENTRY.replace("quiet", "$kernelopts")),
        ("root=UUID=1-2", ENTRIES[0], ENTRY + "options nosmt\n"),
    ],
)
def test_a_file_that_may_not_have_booted_the_board_is_left_alone(
    tmp_path: Path, running: str, file: str, text: str
) -> None:
    board = Board(tmp_path, running, file, text)
    applied = board.tune("apply", *RULES)
    assert (applied.status, applied.states()) == (1, ["failed"])
    assert "by hand" in applied.changes[0]["why"]
    assert board.text() == text


def with_entries(root: Path, entry: str = ENTRIES[0], running: str = OPTIONS) -> Board:
    """Files of systemd-boot or Fedora's GRUB, and what kernel-install gives to later kernels."""
    board = Board(root, running, entry, ENTRY, (entry.replace("1.conf", "other.conf"), OTHER))
    board.put("etc/kernel/cmdline", f"{OPTIONS}\n")
    return board


def with_menu(root: Path) -> Board:
    """Files of Debian's u-boot-menu. Its program lists kernels; the one here joins the settings."""
    listed = ("## use: u-boot-update", "label l0\n append root=UUID=1-2 ro quiet", "label l0r", "")
    board = Board(root, "root=UUID=1-2 ro quiet", "extlinux/extlinux.conf", "\n".join(listed))
    board.put("usr/sbin/u-boot-update", U_BOOT_UPDATE)
    return board


U_BOOT_UPDATE = """#!/bin/sh
for file in /etc/u-boot-menu/conf.d/*.conf; do [ ! -e "$file" ] || . "$file"; done
[ -n "$U_BOOT_PARAMETERS" ] || U_BOOT_PARAMETERS="ro quiet"
printf '## use: u-boot-update\\nlabel l0\\n append root=UUID=1-2 %s\\nlabel l0r\\n' \\
	"$U_BOOT_PARAMETERS" > /boot/extlinux/extlinux.conf
"""


@pytest.mark.parametrize("entry", ENTRIES)
@pytest.mark.parametrize("running", [OPTIONS, f"BOOT_IMAGE=(hd0,gpt2)/vmlinuz {OPTIONS}"])
def test_the_running_kernels_entry_and_those_of_later_kernels_get_the_parameters(
    tmp_path: Path, entry: str, running: str
) -> None:
    board = with_entries(tmp_path, entry, running)
    before = board.files()
    applied = board.tune("apply", *RULES)
    assert (applied.status, applied.states()) == (0, ["applied", "applied"])
    assert board.text() == ENTRY.replace(OPTIONS, f"{OPTIONS} {ADDED}")
    assert (tmp_path / "etc/kernel/cmdline").read_text() == f"{OPTIONS} {ADDED}\n"
    assert board.tune("apply", *RULES).changes == []
    assert board.tune("undo").states() == ["restored", "restored"]
    assert board.files() == before


def test_u_boot_menu_gets_a_fragment_and_writes_its_menu(tmp_path: Path) -> None:
    board = with_menu(tmp_path)
    before = board.files()
    applied = board.tune("apply", "--profile", "iso", *RULES)
    assert (applied.status, applied.states()) == (0, ["applied"])
    assert applied.changes[0]["where"] == "/etc/u-boot-menu/conf.d/rtscope-iso.conf"
    assert f"append root=UUID=1-2 ro quiet {ADDED}\n" in board.text()
    assert board.tune("apply", "--profile", "iso", *RULES).changes == []
    assert board.tune("undo").states() == ["restored"]
    assert board.files() == before


@pytest.mark.parametrize("make", [with_entries, with_menu])
@pytest.mark.parametrize(
    ("action", "call", "number"),
    [
        *(("apply", "rename", number) for number in (1, 2)),
        *(("apply", "fsync", number) for number in (3, 4, 5)),
        *(("undo", "rename", number) for number in (1, 2)),
        *(("undo", "fsync", number) for number in (1, 2)),
    ],
)
def test_killed_anywhere_undo_restores_a_boards_boot_loader(
    tmp_path: Path, make: Callable[[Path], Board], action: str, call: str, number: int
) -> None:
    board = make(tmp_path)
    before = board.files()
    if action == "undo":
        board.tune("apply", *RULES)
    strace = ("strace", "-o", "/dev/null", "-e", f"inject={call}:signal=KILL:when={number}")
    words = ("apply", *RULES) if action == "apply" else ("undo",)
    killed = board.tune(*words, before=strace).status
    assert killed in (-signal.SIGKILL, 0)  # with_menu makes fewer of some calls
    if killed == 0 and action == "undo":
        assert board.files() == before
        return
    assert undone(board).status == 0
    assert board.files() == before


def test_a_board_of_another_make_has_no_raspberry_pis_boot_loader(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(MODELS, "cmdline.txt", "Pine64")
    board = Board(tmp_path, "root=UUID=1-2", "cmdline.txt", PI.format(""))
    assert board.tune("apply", *RULES).states() == ["failed"]


def test_of_two_boot_loaders_that_may_have_booted_the_board_none_is_changed(tmp_path: Path) -> None:
    extlinux = ("extlinux/extlinux.conf", EXTLINUX.format(""))
    board = Board(tmp_path, "root=UUID=1-2", "armbianEnv.txt", ARMBIAN.format(""), extlinux)
    applied = board.tune("apply", *RULES)
    assert (applied.states(), board.text()) == (["failed"], ARMBIAN.format(""))


@pytest.mark.parametrize(
    ("verb", "moment"), [("apply", "planned"), ("apply", "written"), ("undo", "written")]
)
def test_a_line_that_somebody_changes_meanwhile_is_not_overwritten(
    tmp_path: Path, verb: str, moment: str
) -> None:
    """Between the plan and the write, and while the new file is written."""
    board = Board(tmp_path, "root=UUID=1-2", "cmdline.txt", PI.format(""))
    if verb == "undo":
        board.tune("apply", *RULES)
    theirs = PI.format(" theirs")
    fresh, journal = board.file.with_name("cmdline.txt.rtscope"), tmp_path / "journal" / "journal"

    def has_come() -> bool:
        return (
            fresh.exists()
            if moment == "written"
            else journal.exists() and journal.stat().st_size > 0
        )

    def change() -> None:
        until = time.monotonic() + 20
        while not has_come() and time.monotonic() < until:
            time.sleep(0.005)
        board.file.write_text(theirs)

    slow = ("strace", "-o", "/dev/null", "-e", "inject=fsync:delay_enter=500000")
    with ThreadPoolExecutor() as pool:
        changing = pool.submit(change)
        ended = board.tune(verb, *(RULES if verb == "apply" else ()), before=slow)
        changing.result()
    assert (ended.status, ended.states()) == (1, ["failed"])
    assert "somebody changed the file" in ended.changes[0]["why"]
    assert board.text() == theirs
    assert not fresh.exists()


def test_a_file_that_is_away_is_put_back_later(tmp_path: Path) -> None:
    board = Board(tmp_path, "root=UUID=1-2", "cmdline.txt", PI.format(""))
    board.tune("apply", *RULES)
    away = board.file.rename(tmp_path / "away")
    undone = board.tune("undo")
    assert (undone.status, undone.states()) == (1, ["failed"])
    away.rename(board.file)
    assert board.tune("undo").states() == ["restored"]
    assert board.text() == PI.format("")
