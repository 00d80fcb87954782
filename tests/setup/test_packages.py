# SPDX-License-Identifier: GPL-2.0-only
"""setup/packages: apt's output is in a log, and shown only if apt fails.

apt itself runs, but only simulates: nothing is installed here.
"""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

SETUP = Path(__file__).parents[2] / "setup"
PACKAGE = "hello"
MANAGERS = {"dnf": "musl-gcc", "zypper": "musl-gcc", "pacman": "musl", "apk": "musl-dev"}
"""of other distributions, and their name of Debian's musl-tools"""

needs_apt = pytest.mark.skipif(
    os.geteuid() != 0 or not shutil.which("apt-get"), reason="only root has apt install packages"
)


def run(tree: Path, *configuration: str) -> subprocess.CompletedProcess[str]:
    """What a copy of setup/ does about PACKAGE, with more of apt's configuration."""
    shutil.copytree(SETUP, tree / "setup")
    (tree / "apt.conf").write_text("\n".join(['APT::Get::Simulate "true";', *configuration]))
    return subprocess.run(
        [tree / "setup" / "packages", "--", PACKAGE],
        env=os.environ | {"APT_CONFIG": str(tree / "apt.conf")},
        capture_output=True,
        text=True,
        check=False,
    )


@needs_apt
def test_installing_prints_one_line(tmp_path: Path) -> None:
    policy = subprocess.run(
        ["apt-cache", "policy", PACKAGE], capture_output=True, text=True, check=True
    ).stdout
    if "Installed: (none)" not in policy or "Candidate: (none)" in policy:
        pytest.skip(f"{PACKAGE} is installed here, or apt does not know it")
    done = run(tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    assert len(done.stdout.splitlines()) == 1
    assert f"Inst {PACKAGE} " in (tmp_path / "build" / "packages.log").read_text()


@needs_apt
def test_a_failure_shows_all_that_apt_printed(tmp_path: Path) -> None:
    nowhere = ['Dir::Etc::sourcelist "/dev/null";', 'Dir::Etc::sourceparts "/dev/null";']
    (tmp_path / "state" / "lists" / "partial").mkdir(parents=True)
    done = run(tmp_path, *nowhere, f'Dir::State "{tmp_path}/state";', f'Dir::Cache "{tmp_path}";')
    assert done.returncode == 1
    log = (tmp_path / "build" / "packages.log").read_text()
    assert f"Unable to locate package {PACKAGE}" in log
    assert log in done.stderr


def named(file: Path) -> list[str]:
    """The packages of a list; of alternatives the first."""
    lines = [line.partition("#")[0].split() for line in file.read_text().splitlines()]
    return [words[0] for words in lines if words]


@pytest.mark.parametrize("manager", MANAGERS)
def test_without_apt_the_command_of_another_manager_is_printed(
    tmp_path: Path, manager: str
) -> None:
    commands = ("dirname", "cat", "sed", "awk", "sort", "xargs", "sh", "echo")
    for name in commands:
        (tmp_path / name).symlink_to(str(shutil.which(name)))
    (tmp_path / manager).symlink_to("/bin/false")
    done = subprocess.run(
        [str(shutil.which("sh")), SETUP / "packages", "measure"],
        env={"PATH": str(tmp_path)}, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0
    command = done.stderr.splitlines()[-1].split()
    assert command[0] == manager
    assert MANAGERS[manager] in command


def test_every_package_has_its_names_elsewhere() -> None:
    table = SETUP / "packages-elsewhere.txt"
    rows = [line.split() for line in table.read_text().splitlines() if not line.startswith("#")]
    assert {len(row) for row in rows} == {5}
    wanted = {
        name for file in SETUP.glob("packages-*.txt") if file != table for name in named(file)
    }
    assert wanted == {row[0] for row in rows}
