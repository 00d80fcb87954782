# SPDX-License-Identifier: GPL-2.0-only
"""The driver of the agent's loads, built from the sources as they are."""

import fcntl
import os
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


def build_load_driver(factory: pytest.TempPathFactory, name: str, *command: str) -> Path:
    """Build the driver with this compiler and options, once for all workers of a run."""
    own = factory.getbasetemp()
    folder = own.parent if "PYTEST_XDIST_WORKER" in os.environ else own
    path = folder / f"load-{name}" / "driver"
    with (folder / f"load-{name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if path.exists():
            return path
        path.parent.mkdir()
        sources = sorted((AGENT / "load").glob("*.c"))
        subprocess.run(
            [*command, "-std=gnu11", "-D_GNU_SOURCE", "-O2", "-Wall", "-Wextra", "-Werror",
             f"-I{AGENT}",
             *sources,
             *(AGENT / f"{source}.c" for source in SOURCES),
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
    return build_load_driver(tmp_path_factory, request.param, request.param, "-static")


@pytest.fixture(scope="session")
def load_driver(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The driver with the C library that the agent is shipped with."""
    return build_load_driver(tmp_path_factory, COMPILERS[-1], COMPILERS[-1], "-static")


@pytest.fixture(scope="session")
def checked_load_driver(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The driver with every access to memory checked."""
    sanitizers = ("-fsanitize=address,undefined", "-fno-sanitize-recover=all")
    return build_load_driver(tmp_path_factory, "checked", "cc", "-g", *sanitizers)


@pytest.fixture(autouse=True, scope="session")
def _agent_is_built(agent_path: Path) -> Path:
    return agent_path
