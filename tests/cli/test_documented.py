# SPDX-License-Identifier: GPL-2.0-only
"""Every command line of README.md and docs/ works by the installed rtscope, from another folder."""

import json
import lzma
import os
import shutil
import subprocess
import sys
import sysconfig
import tempfile
from collections.abc import Iterator
from pathlib import Path

import platformdirs
import pytest

from tests.cli.documented import (
    NOT_RUN,
    ROOT,
    as_run,
    commands,
    kernels,
    needed_rights,
    ring,
    statuses,
)
from tests.target.board import Board, running_board

COMMANDS = Path(sys.executable).parent
CARRIED = ("agent", "cross", "kernel", "meson.build", "meson.options", "setup")
LIMIT_S = 1800
POINTS_C = """
#include <rtscope/points.h>
int main(void) { return rtscope_points_error() != 0; }
"""
MINI_PLAN = """
title = "mini"
[[measure]]
probes = ["cyclic"]
loads = ["idle"]
intervals = ["1ms"]
samples = 100
"""
TRACE = """
  make-7    [001] d.h1. 1234.566990: local_timer_exit: vector=236
  make-7    [001] d.h2. 1234.567003: sched_waking: comm=control pid=100 prio=19 target_cpu=001
  make-7    [001] d..2. 1234.567045: sched_switch: prev_comm=make prev_pid=7 prev_prio=120 \
prev_state=R ==> next_comm=control next_pid=100 next_prio=19
  control-100 [001] d.h1. 1234.567050: local_timer_entry: vector=236
"""
APP = "#!/bin/sh\nn=0\nwhile [ $n -lt 2000 ]; do n=$((n + 1)); done\n"

LINES: dict[str, str] = {}
"""what is run, and where it is documented first"""
for _command, _place in commands().items():
    if _command not in NOT_RUN:
        LINES.setdefault(as_run(_command), _place)


def parameters() -> Iterator[object]:
    for line in LINES:
        mark = ring(line)
        yield pytest.param(line, marks=[getattr(pytest.mark, mark)] if mark else [])


def shell(line: str, cwd: Path, environment: dict[str, str]) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        ["bash", "-c", line], cwd=cwd, env=environment, stdin=subprocess.DEVNULL,
        capture_output=True, text=True, timeout=LIMIT_S, check=False,
    )  # fmt: skip


@pytest.fixture(scope="module")
def installed() -> Path:
    """The package in this environment, which has to be what this tree makes, file by file."""
    package = Path(sysconfig.get_path("purelib")) / "rtscope"
    pairs = [(ROOT / "rtscope", package), *((ROOT / name, package / name) for name in CARRIED)]
    for source, copy in pairs:
        for file in [source] if source.is_file() else sorted(source.rglob("*")):
            place = copy / file.relative_to(source)
            if file.is_dir() or "__pycache__" in file.parts:
                continue
            if not place.is_file() or place.read_bytes() != file.read_bytes():
                pytest.fail(f"{place} is not this tree's: run `make .venv/.installed`")
    return package


LOOP_C = """
#include <unistd.h>

int main(void)
{
	for (;;)
		usleep(1000);
}
"""


@pytest.fixture(scope="module")
def environment(installed: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """A user who installed rtscope, with a home and a store of his own."""
    home = tmp_path_factory.mktemp("home")
    series = ROOT / "kernel" / "patches" / "linux-6.12" / "lab-x86_64"
    shutil.copytree(series, home / "my-series")
    return {
        "HOME": str(home),
        "PATH": f"{COMMANDS}:{os.environ['PATH']}",
        "XDG_CACHE_HOME": str(platformdirs.user_cache_path()),
        "XDG_RUNTIME_DIR": str(home),
        "COLUMNS": "120",
        "TMPDIR": tempfile.gettempdir(),
    }


@pytest.fixture(scope="module")
def measured(environment: dict[str, str], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store with two runs."""
    store = tmp_path_factory.mktemp("store")
    for _ in range(2):
        line = "rtscope measure --no-report --duration 300ms"
        done = shell(line, store, environment | {"XDG_DATA_HOME": str(store)})
        assert done.returncode == 0, done.stderr
    return store


@pytest.fixture(scope="module")
def llrf(environment: dict[str, str], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The example, built as docs/how-to/points.md has it, but static."""
    folder = tmp_path_factory.mktemp("examples") / "llrf"
    shutil.copytree(ROOT / "examples" / "llrf", folder)
    places = (
        f"RTSCOPE_INCLUDE=$(rtscope points --include-dir) RTSCOPE_MODULES={ROOT}/kernel/modules"
    )
    done = shell(f"make -s LDFLAGS=-static {places}", folder, environment)
    assert done.returncode == 0, done.stderr
    return folder / "llrf"


@pytest.fixture
def process(llrf: Path) -> Iterator[str]:
    """A running program with measurement points."""
    with subprocess.Popen([llrf, "-t", "600"], stdout=subprocess.DEVNULL) as started:
        yield str(started.pid)
        started.kill()


@pytest.fixture(scope="module")
def board(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Board]:
    with running_board(tmp_path_factory.mktemp("board")) as board:
        yield board


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The files that the documents name, as a user has them in some folder."""
    folder = tmp_path_factory.mktemp("files")
    shutil.copy(
        ROOT / "tests" / "store" / "files" / "cyclictest-2.4.json", folder / "cyclictest.json"
    )
    (folder / "trace.dat").write_text(TRACE)
    (folder / "loop.c").write_text(POINTS_C)
    (folder / "app").write_text(APP)
    (folder / "app").chmod(0o755)
    (folder / "my-loop.c").write_text(LOOP_C)
    (folder / "mini.toml").write_text(MINI_PLAN)
    subprocess.run(["cc", "-static", "-o", folder / "my-loop", folder / "my-loop.c"], check=True)
    shutil.copytree(ROOT / "examples" / "driver", folder / "examples" / "driver")
    (folder / "tree").mkdir()
    (folder / "tree" / "Makefile").write_text("all:\n\tsleep 600\n")
    series = ROOT / "kernel" / "patches" / "linux-6.12" / "lab-x86_64"
    patch = b"".join(path.read_bytes() for path in sorted(series.glob("*.patch")))
    (folder / "patch-6.12-rt5.patch.xz").write_bytes(lzma.compress(patch))
    return folder


@pytest.fixture
def folder(files: Path, tmp_path: Path) -> Path:
    """A copy of the files, which a command may change."""
    return shutil.copytree(files, tmp_path, dirs_exist_ok=True)


def started_there(llrf: Path, environment: dict[str, str]) -> str:
    """Its number on the board, with which it ends."""
    script = (
        "cat >/tmp/llrf && chmod 700 /tmp/llrf && { /tmp/llrf -t 600 >/dev/null 2>&1 & echo $!; }"
    )
    done = shell(f"ssh board '{script}' <{llrf}", llrf.parent, environment)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def make_run_files(folder: Path, environment: dict[str, str]) -> None:
    """A run under five ids, as five runs of one system."""
    done = shell("rtscope export last -F run -o run.json", folder, environment)
    assert done.returncode == 0, done.stderr
    run = json.loads((folder / "run.json").read_text())
    for number in range(1, 6):
        (folder / f"run-{number}.json").write_text(json.dumps(run | {"id": f"{number:016x}"}))
    (folder / "run.json").unlink()


def make_repository(folder: Path, environment: dict[str, str]) -> None:
    """A tree with a tag, and a change since."""
    who = "-c user.name=rtscope -c user.email=rtscope@example.org"
    script = f"git init -q && git add loop.c && git {who} commit -qm one && git tag v6.12"
    done = shell(f"{script} && echo '/* */' >>loop.c", folder, environment)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("line", list(parameters()))
def test_a_documented_command_works(
    line: str,
    folder: Path,
    environment: dict[str, str],
    measured: Path,
    request: pytest.FixtureRequest,
) -> None:
    if os.geteuid() and (rights := needed_rights(line)):
        pytest.skip(f"needs {rights}")
    store = shutil.copytree(measured, folder / "data")
    own = environment | {"XDG_DATA_HOME": str(store)}
    if line.startswith("git "):
        make_repository(folder, environment)
    if "examples/llrf" in line:
        shutil.copytree(request.getfixturevalue("llrf").parent, folder / "examples" / "llrf")
    if "run-" in line:
        make_run_files(folder, own)
    if "ssh:" in line or line.startswith("ssh "):
        board: Board = request.getfixturevalue("board")
        own |= {"PATH": f"{board.folder}/bin:{own['PATH']}", "XDG_RUNTIME_DIR": board.runtime}
    if "$LLRF" in line:
        llrf = request.getfixturevalue("llrf")
        own["LLRF"] = (
            started_there(llrf, own) if "ssh:" in line else request.getfixturevalue("process")
        )
    for kernel in sorted(kernels(line)):
        give_kernel(kernel, folder, own)
    done = shell(line, folder, own)
    assert done.returncode in statuses(line), f"{LINES[line]}: {line}\n{done.stdout}{done.stderr}"
    assert "Traceback" not in done.stderr


def give_kernel(name: str, folder: Path, environment: dict[str, str]) -> None:
    """Build or fetch a kernel as the documents say, where it is not there yet."""
    known = shell("rtscope lab kernel list", folder, environment)
    if f"\n{name}: " in f"\n{known.stdout}":
        return
    debian = name.endswith("-amd64")
    get = f"add debian:linux-image-{name}" if debian else f"build {name}"
    done = shell(f"rtscope lab kernel {get}", folder, environment)
    assert done.returncode == 0, done.stderr


def test_a_command_that_is_not_run_is_in_the_documents() -> None:
    assert NOT_RUN.keys() <= commands().keys()
