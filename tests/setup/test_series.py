# SPDX-License-Identifier: GPL-2.0-only
"""setup/series: the patches of a port as they are sent, with cover letter and recipients."""

import re
import shutil
import subprocess
from pathlib import Path
from typing import Final

import pytest

from rtscope.lab.source import find_source, source_tree

pytestmark = pytest.mark.kernels

ROOT: Final = Path(__file__).parents[2]
SERIES: Final = ROOT / "kernel" / "patches" / "linux-6.12" / "mips-loongson2ef"
TOP: Final = ["COPYING", "CREDITS", "Kbuild", "MAINTAINERS", "Makefile", "README"]
FOLDERS: Final = [
    "Documentation",
    "arch",
    "include",
    "drivers",
    "fs",
    "init",
    "ipc",
    "kernel",
    "lib",
    "scripts",
]
"""what get_maintainer.pl recognises a kernel by"""


def git(tree: Path, *words: str) -> str:
    someone = ["-c", "user.name=nobody", "-c", "user.email=nobody@example.org"]
    done = subprocess.run(
        ["git", *someone, *words], cwd=tree, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout.strip()


@pytest.fixture(scope="module")
def linux(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A repository of the files that the series changes, and of what get_maintainer.pl needs."""
    tree = tmp_path_factory.mktemp("linux")
    source = source_tree(find_source(None, "linux-source-6.12"), lambda words: None)
    text = "".join(one.read_text() for one in SERIES.glob("*.patch"))
    touched = set(re.findall(r"^--- a/(\S+)", text, re.MULTILINE))
    for file in sorted({*touched, *TOP, "scripts/get_maintainer.pl"}):
        (tree / file).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(source / file, tree / file)
    for folder in FOLDERS:
        (tree / folder).mkdir(exist_ok=True)
        (tree / folder / ".keep").touch()
    git(tree, "init", "--quiet")
    git(tree, "add", "--force", ".")
    git(tree, "commit", "--quiet", "--message", "base")
    return tree


def series(linux: Path, out: Path, *more: str) -> subprocess.CompletedProcess[str]:
    command = [str(ROOT / "setup" / "series"), str(SERIES), str(linux), "HEAD", str(out), *more]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_a_whole_series_has_a_cover_letter_a_base_and_recipients(
    linux: Path, tmp_path: Path
) -> None:
    done = series(linux, tmp_path / "out")

    assert (done.returncode, done.stderr) == (0, "")
    patches = sorted((tmp_path / "out").glob("*.patch"))
    assert len(patches) == 1 + len((SERIES / "series").read_text().split())
    cover = patches[0].read_text()
    assert f"base-commit: {git(linux, 'rev-parse', 'HEAD')}" in cover
    assert "SUBJECT HERE" not in cover
    assert "BLURB HERE" not in cover
    assert "linux-mips@vger.kernel.org" in (tmp_path / "out" / "cc").read_text()
    assert "@" in (tmp_path / "out" / "to").read_text()
    assert git(linux, "worktree", "list").count("\n") == 0
    assert git(linux, "branch", "--list", "series-*") == ""


def test_one_fix_is_a_patch_of_its_own(linux: Path, tmp_path: Path) -> None:
    done = series(linux, tmp_path / "out", "cpufreq-loongson2")

    assert done.returncode == 0
    patches = list((tmp_path / "out").glob("*.patch"))
    assert len(patches) == 1
    assert "base-commit:" in patches[0].read_text()
    assert "linux-pm@vger.kernel.org" in (tmp_path / "out" / "cc").read_text()


def test_nothing_is_written_where_something_is_or_for_nothing(linux: Path, tmp_path: Path) -> None:
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "mine").touch()

    assert series(linux, tmp_path / "full").returncode == 1
    assert [one.name for one in (tmp_path / "full").iterdir()] == ["mine"]
    assert series(linux, tmp_path / "empty", "no-such-patch").returncode == 1
    assert git(linux, "branch", "--list", "series-*") == ""
