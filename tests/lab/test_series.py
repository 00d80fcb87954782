# SPDX-License-Identifier: GPL-2.0-only
"""The ports are series that a maintainer could take: they apply, and checkpatch is content."""

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from rtscope.lab.recipes import kernel_folder
from rtscope.lab.source import find_source, source_tree

SERIES = kernel_folder() / "patches" / "linux-6.12"
PORTS = sorted(path.parent.name for path in SERIES.glob("*/README.md"))
_OF_FILE = re.compile(r"^--- a/(\S+)", re.MULTILINE)

pytestmark = [pytest.mark.kernels, pytest.mark.parametrize("port", PORTS)]


def patches_of(port: str) -> list[Path]:
    names = (SERIES / port / "series").read_text().split()
    return [SERIES / port / name for name in names]


@pytest.fixture(scope="module")
def source() -> Path:
    return source_tree(find_source(None, "linux-source-6.12"), lambda words: None)


def git(tree: Path, *words: str) -> None:
    someone = ["-c", "user.name=nobody", "-c", "user.email=nobody@example.org"]
    done = subprocess.run(
        ["git", *someone, *words], cwd=tree, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr


def test_a_port_applies_with_git_am(port: str, source: Path, tmp_path: Path) -> None:
    patches = patches_of(port)
    touched = {file for patch in patches for file in _OF_FILE.findall(patch.read_text())}
    for file in sorted(touched):
        (tmp_path / file).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(source / file, tmp_path / file)

    assert touched
    git(tmp_path, "init", "--quiet")
    git(tmp_path, "add", ".")
    git(tmp_path, "commit", "--quiet", "--message", "base")
    git(tmp_path, "am", *map(str, patches))


def test_checkpatch_has_nothing_to_say_of_a_port(port: str, source: Path) -> None:
    checkpatch = ["perl", "scripts/checkpatch.pl", "--strict", "--terse", "--no-summary"]
    checkpatch.append("--ignore=UNKNOWN_COMMIT_ID")  # the source has no history to look into
    done = subprocess.run(
        [*checkpatch, *map(str, patches_of(port))],
        cwd=source,
        capture_output=True,
        text=True,
        check=False,
    )

    assert (done.returncode, done.stdout) == (0, "")
