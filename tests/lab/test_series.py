# SPDX-License-Identifier: GPL-2.0-only
"""The ports are series that a maintainer could take: they apply, and checkpatch is content."""

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from rtscope.lab.recipes import kernel_folder
from rtscope.lab.source import find_source, source_tree

PATCHES = kernel_folder() / "patches"
BASE = "linux-6.12"
NEXT = "linux-7.2"
PORTS = ["mips-loongson2ef", "powerpc"]
FIXES = [
    "mips-loongson2ef/*Keep-the-DMA-timeout*",
    "mips-loongson2ef/*cpufreq-loongson2-Idle*",
    "mips-loongson2ef/*Call-syscall_trace_leave*",
    "mips-loongson2ef/*Do-not-lose-a-reschedule*",
    "powerpc/*Take-the-stack-canary*",
    "powerpc/*Do-not-log-errors-of-the-NVRAM*",
    "powerpc/*Order-writes-to-devices*",
]
"""sent on their own, because they do not need PREEMPT_RT or each other"""
ON_EACH_BASE = [
    *(pytest.param(f"{BASE}/{port}", marks=pytest.mark.kernels) for port in PORTS),
    *(pytest.param(f"{NEXT}/{port}", marks=pytest.mark.long) for port in PORTS),
]
_OF_FILE = re.compile(r"^--- a/(\S+)", re.MULTILINE)


def patches_of(port: str) -> list[Path]:
    names = (PATCHES / port / "series").read_text().split()
    return [PATCHES / port / name for name in names]


def source_of(port: str) -> Path:
    package = port.split("/", maxsplit=1)[0].replace("linux-", "linux-source-")
    return source_tree(find_source(None, package), lambda words: None)


def git(tree: Path, *words: str) -> None:
    someone = ["-c", "user.name=nobody", "-c", "user.email=nobody@example.org"]
    done = subprocess.run(
        ["git", *someone, *words], cwd=tree, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr


def apply(patches: list[Path], source: Path, tree: Path) -> None:
    """Apply them to a tree of the files that they change."""
    touched = {file for patch in patches for file in _OF_FILE.findall(patch.read_text())}
    for file in sorted(touched):
        (tree / file).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(source / file, tree / file)
    assert touched
    git(tree, "init", "--quiet")
    git(tree, "add", "--force", ".")
    git(tree, "commit", "--quiet", "--message", "base")
    git(tree, "am", *map(str, patches))


@pytest.mark.parametrize("port", ON_EACH_BASE)
def test_a_port_applies_with_git_am(port: str, tmp_path: Path) -> None:
    apply(patches_of(port), source_of(port), tmp_path)


@pytest.mark.parametrize(
    "base",
    [
        pytest.param(BASE, marks=pytest.mark.kernels),
        pytest.param(NEXT, marks=pytest.mark.long),
    ],
)
@pytest.mark.parametrize("fix", FIXES)
def test_a_fix_of_mainline_applies_on_its_own(base: str, fix: str, tmp_path: Path) -> None:
    patches = list((PATCHES / base).glob(fix))

    assert len(patches) == 1
    apply(patches, source_of(base), tmp_path)


@pytest.mark.parametrize("port", ON_EACH_BASE)
def test_checkpatch_has_nothing_to_say_of_a_port(port: str) -> None:
    checkpatch = ["perl", "scripts/checkpatch.pl", "--strict", "--terse", "--no-summary"]
    # Whoever sends a patch signs it. The source has no history to look into, new files are in
    # directories that have a maintainer, and lines of older style stay as they are around ours.
    checkpatch += ["--no-signoff", "--ignore=UNKNOWN_COMMIT_ID,FILE_PATH_CHANGES"]
    checkpatch += ["--ignore=AVOID_EXTERNS,BIT_MACRO"]
    done = subprocess.run(
        [*checkpatch, *map(str, patches_of(port))],
        cwd=source_of(port),
        capture_output=True,
        text=True,
        check=False,
    )

    assert (done.returncode, done.stdout) == (0, "")


@pytest.mark.parametrize("port", [f"{base}/{port}" for base in (BASE, NEXT) for port in PORTS])
def test_no_patch_is_signed_off_for_its_sender(port: str) -> None:
    """Documentation/process/coding-assistants.rst: only a human can."""
    assert patches_of(port)
    assert not [one.name for one in patches_of(port) if "Signed-off-by:" in one.read_text()]
