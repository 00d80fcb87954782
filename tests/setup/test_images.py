# SPDX-License-Identifier: GPL-2.0-only
"""Recipes for images and RPM: as far as they run without Yocto, Buildroot and Fedora.

Buildroot's utils/check-package is not packaged, so it was run by hand: no warning.
"""

import hashlib
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Final

import pytest

from rtscope import __version__

ROOT: Final = Path(__file__).parents[2]
PACKAGING: Final = ROOT / "packaging"
LAYER: Final = PACKAGING / "yocto" / "meta-rtscope"
RECIPE: Final = LAYER / "recipes-rt" / "rtscope-agent" / f"rtscope-agent_{__version__}.bb"
NATIVE: Final = ROOT / "build" / "native" / "rtscope-agent"


def test_every_recipe_is_of_this_version_and_licence() -> None:
    licence = hashlib.md5((ROOT / "LICENSE").read_bytes(), usedforsecurity=False).hexdigest()
    assert f"file://LICENSE;md5={licence}" in RECIPE.read_text()
    buildroot = PACKAGING / "buildroot" / "package" / "rtscope-agent" / "rtscope-agent.mk"
    versions = [
        re.search(r"^RTSCOPE_AGENT_VERSION = (.*)$", buildroot.read_text(), re.M),
        re.search(
            r"^Version: *(.*)$", (PACKAGING / "rpm" / "rtscope-agent.spec").read_text(), re.M
        ),
        re.search(r"^rtscope \((.*)-\d+\)", (ROOT / "debian" / "changelog").read_text()),
        re.search(r"^version: (.*)$", (ROOT / "CITATION.cff").read_text(), re.M),
    ]
    assert [found and found[1] for found in versions] == [__version__] * len(versions)


@pytest.mark.kernels
def test_oelint_finds_nothing() -> None:
    files = [str(path) for path in sorted(LAYER.rglob("*")) if path.suffix in (".bb", ".conf")]
    lint = Path(sys.executable).parent / "oelint-adv"
    done = subprocess.run(
        [lint, "--quiet", "--suppress=oelint.vars.homepageping", *files],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.kernels
def test_the_ptest_passes_where_the_agent_is_the_only_program(tmp_path: Path) -> None:
    """In a root with the agent and busybox."""
    busybox = shutil.which("busybox")
    assert busybox
    (tmp_path / "bin").mkdir()
    (tmp_path / "tmp").mkdir()
    shutil.copy(busybox, tmp_path / "bin" / "busybox")
    for name in ("sh", "cat", "rm"):
        (tmp_path / "bin" / name).symlink_to("busybox")
    shutil.copy(NATIVE, tmp_path / "bin")
    shutil.copy(RECIPE.parent / "files" / "run-ptest", tmp_path)
    done = subprocess.run(
        ["bwrap", "--bind", tmp_path, "/", "--proc", "/proc", "--dev", "/dev", "--unshare-pid",
         "--cap-add", "ALL", "--die-with-parent", "--clearenv", "--setenv", "PATH", "/bin",
         "/run-ptest"],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    results = [line for line in done.stdout.splitlines() if re.match("(PASS|FAIL): ", line)]
    assert results == [
        f"PASS: {name}" for name in ("cyclic", "sched", "async", "signal", "noise", "gtod")
    ], done.stdout + done.stderr


@pytest.mark.kernels
def test_the_rpm_has_one_static_program_that_measures(tmp_path: Path) -> None:
    environment = os.environ | {"PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"}
    subprocess.run([ROOT / "setup" / "rpm", tmp_path], env=environment, check=True)
    (package,) = [path for path in tmp_path.glob("*.rpm") if ".src." not in path.name]
    needed = subprocess.run(
        ["rpm", "-qp", "--requires", package], capture_output=True, text=True, check=True
    )
    assert not [line for line in needed.stdout.splitlines() if not line.startswith("rpmlib(")]
    script = f"rpm2cpio {package} | cpio -idm --quiet"
    subprocess.run(["sh", "-c", script], cwd=tmp_path, check=True)
    agent = tmp_path / "usr" / "bin" / "rtscope-agent"
    subprocess.run([agent, "cyclic", "-l", "20", "-q", "-a", "first"], check=True)
