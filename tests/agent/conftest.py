# SPDX-License-Identifier: GPL-2.0-only
"""The driver of the agent's loads, built from the sources as they are."""

import shutil
import subprocess
from pathlib import Path

import pytest

SOURCES = (
    "base/cpulist",
    "proc/caches",
    "proc/cpus",
    "proc/file",
    "proc/partition",
    "proc/policies",
    "proc/processes",
    "proc/status",
    "proc/thread",
)
AGENT = Path(__file__).parents[2] / "agent"


def build_load_driver(path: Path, compiler: str, *options: str) -> Path:
    sources = sorted((AGENT / "load").glob("*.c"))
    subprocess.run(
        [compiler, "-std=gnu11", "-D_GNU_SOURCE", "-O2", "-Wall", "-Wextra", "-Werror", *options,
         f"-I{AGENT}",
         *sources,
         *(AGENT / f"{name}.c" for name in SOURCES),
         Path(__file__).with_name("load_driver.c"), "-o", path],
        check=True,
    )  # fmt: skip
    return path


COMPILERS = ["cc", *(["musl-gcc"] if shutil.which("musl-gcc") else [])]


@pytest.fixture(scope="session", params=COMPILERS)
def each_load_driver(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Path:
    """The driver, once with each C library that is here."""
    return build_load_driver(tmp_path_factory.mktemp("load") / "driver", request.param, "-static")


@pytest.fixture(scope="session")
def load_driver(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The driver with the C library that the agent is shipped with."""
    return build_load_driver(tmp_path_factory.mktemp("load") / "driver", COMPILERS[-1], "-static")


@pytest.fixture(scope="session")
def checked_load_driver(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The driver with every access to memory checked."""
    path = tmp_path_factory.mktemp("load") / "driver"
    return build_load_driver(
        path, "cc", "-g", "-fsanitize=address,undefined", "-fno-sanitize-recover=all"
    )


@pytest.fixture(autouse=True, scope="session")
def _agent_is_built(agent_path: Path) -> Path:
    return agent_path
