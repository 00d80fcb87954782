# SPDX-License-Identifier: GPL-2.0-only
"""The wheels and the sdist of a release, built from clones of the last commit."""

import hashlib
import json
import os
import shutil
import struct
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import Final

import pytest

pytestmark = pytest.mark.kernels  # some minutes

ROOT: Final = Path(__file__).parents[2]
MACHINES: Final = {
    "aarch64": 183, "mips64el": 8, "powerpc64": 21, "riscv64": 243, "x86_64": 62,
}  # fmt: skip
"""the e_machine of each architecture's programs"""
PLATFORMS: Final = {
    "manylinux_2_17_x86_64": "x86_64",
    "manylinux2014_aarch64": "aarch64",
    "musllinux_1_1_x86_64": "x86_64",
    "musllinux_1_1_aarch64": "aarch64",
    "manylinux_2_31_riscv64": "riscv64",
}
"""what pip asks for, and the architecture of the command that it gets"""

SHARED: Final = (
    "man/man1/rtscope-measure.1",
    "bash-completion/completions/rtscope",
    "zsh/site-functions/_rtscope",
    "fish/vendor_completions.d/rtscope.fish",
    "doc/rtscope/html/index.html",
    "doc/rtscope/html/searchindex.js",
)
"""Files in share/ of an environment with the wheel."""


def built(folder: Path, umask: int) -> Path:
    """The files of a release, from a clone in this folder. Its native agent is built there, too."""
    python = Path(sys.executable)
    subprocess.run(["git", "clone", "-q", ROOT, folder], check=True, umask=umask)
    date = subprocess.run(
        ["git", "log", "-1", "--format=%ct"], cwd=folder, capture_output=True, text=True, check=True
    )
    environment = os.environ | {
        "PATH": f"{python.parent}:{os.environ['PATH']}",
        "SOURCE_DATE_EPOCH": date.stdout.strip(),
    }
    agents, man, site, dist = (
        folder / "build" / name for name in ("agents", "man", "site", "dist")
    )
    native = folder / "build" / "native"
    compiler = environment | {"CC": shutil.which("musl-gcc") or "gcc"}
    commands: tuple[list[str | Path], ...] = (
        ["meson", "setup", native],
        ["ninja", "--quiet", "-C", native],
        [python, "-m", "rtscope.manual", "docs", man],
        [python, "-m", "sphinx", "-q", "-b", "html", "-d", folder / "build/doctrees", "docs", site],
    )
    for command in commands:
        subprocess.run(command, cwd=folder, env=compiler, check=True, umask=umask)
    for arch in MACHINES:
        own = native if arch == os.uname().machine else ROOT / "build" / "agents" / arch
        (agents / arch).mkdir(parents=True)
        shutil.copy(own / "rtscope-agent", agents / arch)
    subprocess.run(
        [folder / "setup" / "dist", python, agents, man, site, dist],
        cwd=folder, env=environment, check=True, umask=umask,
    )  # fmt: skip
    return dist


@pytest.fixture(scope="module")
def dist(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return built(tmp_path_factory.mktemp("here") / "rtscope", 0o022)


def machine(program: bytes) -> tuple[int, bool]:
    """The architecture of a program, and whether it is static: it names no interpreter."""
    assert program[:5] == b"\x7fELF\x02"
    order = "<" if program[5] == 1 else ">"
    (architecture,) = struct.unpack_from(f"{order}H", program, 18)
    (start,) = struct.unpack_from(f"{order}Q", program, 32)
    size, count = struct.unpack_from(f"{order}HH", program, 54)
    kinds = [struct.unpack_from(f"{order}I", program, start + at * size)[0] for at in range(count)]
    return architecture, 3 not in kinds


def test_pip_finds_the_wheel_of_each_kind_of_computer(dist: Path, tmp_path: Path) -> None:
    wheels = sorted(dist.glob("*.whl"))
    assert len(wheels) == 3
    assert all(wheel.stat().st_size < 5_000_000 for wheel in wheels)
    for platform, arch in PLATFORMS.items():
        chosen = downloaded(dist, tmp_path / platform, platform)
        assert len(chosen) == 1, platform
        with zipfile.ZipFile(chosen[0]) as wheel:
            programs = {
                name: machine(wheel.read(name))
                for name in wheel.namelist()
                if name.endswith("/rtscope-agent")
            }
        ours = {name for name in programs if ".data/scripts/" in name}
        assert {programs[name] for name in ours} == {(MACHINES[arch], True)}
        others = {Path(name).parent.name: programs[name] for name in programs.keys() - ours}
        assert others == {one: (MACHINES[one], True) for one in MACHINES if one != arch}
    assert downloaded(dist, tmp_path / "none", "win_amd64") == []


def downloaded(dist: Path, folder: Path, platform: str) -> list[Path]:
    """The wheel that pip takes for a platform."""
    subprocess.run(
        [sys.executable, "-m", "pip", "download", "-q", "--no-deps", "--no-index", "--find-links",
         dist, "--only-binary", ":all:", "--platform", platform, "-d", folder, "rtscope"],
        stderr=subprocess.DEVNULL, check=False,
    )  # fmt: skip
    return list(folder.glob("*.whl"))


def test_the_wheel_measures_without_a_compiler(dist: Path, tmp_path: Path) -> None:
    """In a new environment whose commands are all that there is."""
    place = tmp_path / "venv"
    subprocess.run([sys.executable, "-m", "venv", place], check=True)
    environment = {
        "PATH": str(place / "bin"),
        "HOME": str(tmp_path),
        "PIP_CACHE_DIR": str(Path.home() / ".cache" / "pip"),
        "LC_ALL": "C.UTF-8",
    }
    environment |= {name: text for name, text in os.environ.items() if name.startswith("PIP_")}
    assert not any(shutil.which(name, path=environment["PATH"]) for name in ("cc", "gcc", "meson"))

    def output(*words: str) -> str:
        done = subprocess.run(
            [place / "bin" / words[0], *words[1:]],
            cwd=tmp_path, env=environment, capture_output=True, text=True, check=False,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        return done.stdout

    (wheel,) = dist.glob(f"*_{os.uname().machine}.whl")
    output("python", "-m", "pip", "install", "-q", "--only-binary", ":all:", str(wheel))
    run = json.loads(output("rtscope", "measure", "-D", "300ms", "--no-report", "--json"))
    assert run["threads"][0]["count"] > 0
    assert "cyclic" in output("rtscope-agent", "--help")
    foreign = "aarch64" if os.uname().machine != "aarch64" else "x86_64"
    code = f"from rtscope.target.local import agent_path; print(agent_path('{foreign}'))"
    path = Path(output("python", "-c", code).strip())
    assert path.is_relative_to(place)
    assert machine(path.read_bytes()) == (MACHINES[foreign], True)
    assert [name for name in SHARED if not (place / "share" / name).is_file()] == []


def test_the_same_commit_gives_the_same_files(dist: Path, tmp_path: Path) -> None:
    again = built(tmp_path / "elsewhere" / "clone", 0o077)
    assert hashes(dist) == hashes(again)


def hashes(folder: Path) -> dict[str, str]:
    return {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in folder.iterdir()}
