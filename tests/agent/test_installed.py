# SPDX-License-Identifier: GPL-2.0-only
"""The installed package works on its own, away from the checkout."""

import os
import shutil
import subprocess
import sys
import sysconfig
from importlib.metadata import Distribution, distributions
from pathlib import Path

import pytest

from rtscope import __version__

COMMANDS = Path(sys.executable).parent


def installed(*words: str, cwd: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    """What `rtscope`, as pip installed it, did in another folder."""
    return subprocess.run(
        [COMMANDS / "rtscope", *words],
        cwd=cwd,
        env={"HOME": str(Path.home()), "PATH": os.environ["PATH"]} | environment,
        capture_output=True,
        text=True,
        check=False,
    )


def distribution() -> Distribution:
    """The one in this environment; the checkout's folder has none."""
    (one,) = distributions(name="rtscope", path=[sysconfig.get_path("purelib")])
    return one


def agent_of(arch: str, cwd: Path) -> Path:
    code = f"from rtscope.target.local import agent_path as a; print(a({arch!r}))"
    found = subprocess.run(
        [sys.executable, "-I", "-c", code], cwd=cwd, stdout=subprocess.PIPE, text=True, check=True
    )
    return Path(found.stdout.strip())


def test_the_wheel_is_for_any_python_and_one_platform() -> None:
    platform = sysconfig.get_platform().replace("-", "_").replace(".", "_")
    wheel = distribution().read_text("WHEEL") or ""
    assert f"Tag: py3-none-{platform}" in wheel.splitlines()
    assert distribution().version == __version__


def test_the_command_agent_runs_the_agent_of_the_wheel(tmp_path: Path) -> None:
    agent = agent_of(os.uname().machine, tmp_path)
    assert agent.is_relative_to(sys.prefix)
    for words in (["--version"], ["--help"], ["cyclic", "-h"], ["cyclic", "--no-such-option"]):
        by_hand = subprocess.run([agent, *words], capture_output=True, text=True, check=False)
        command = installed("agent", *words, cwd=tmp_path)
        assert command.stdout == by_hand.stdout
        assert command.stderr == by_hand.stderr
        assert command.returncode == by_hand.returncode
    program = installed("agent", "exec", "-l", "1", "--", "true", "--its-own", cwd=tmp_path)
    assert program.returncode == 0, "what follows -- is the program's"


def test_the_agent_of_a_foreign_board_is_built_when_it_is_needed(tmp_path: Path) -> None:
    agent = agent_of("mips64el", tmp_path)
    assert not agent.is_relative_to(Path(__file__).parents[2])
    emulator = shutil.which("qemu-mips64el-static") or shutil.which("qemu-mips64el")
    assert emulator, "install qemu-user-static"
    said = subprocess.run(
        [emulator, "-cpu", "Loongson-2E", agent, "--version"],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert said.stdout.startswith(f"rtscope-agent {__version__} ")


def test_a_kernel_is_not_built_before_its_agent_can_be(tmp_path: Path) -> None:
    """The commands that setup/musl needs are there, but no cross compiler."""
    commands = tmp_path / "bin"
    commands.mkdir()
    for name in ("sh", "dirname", "tr", "uname"):
        (commands / name).symlink_to(shutil.which(name) or pytest.fail(name))
    cache = tmp_path / "cache"
    built = installed(
        "lab", "kernel", "build", "loongson2e-rt",
        cwd=tmp_path, PATH=str(commands), XDG_CACHE_HOME=str(cache),
    )  # fmt: skip
    assert built.returncode == 2
    assert "gcc-mips64el-linux-gnuabi64" in built.stderr
    assert {path.name for path in (cache / "rtscope").iterdir()} == {"foreign-agents"}
