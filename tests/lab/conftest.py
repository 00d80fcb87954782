# SPDX-License-Identifier: GPL-2.0-only
"""Kernels in the user's cache: Debian's, downloaded once, and the lab's own, built once."""

import fcntl
import functools
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from rtscope.lab.build import build_kernel, built_kernel, plan_build
from rtscope.lab.kernels import Kernel, add_package, list_kernels, takes_snapshots
from rtscope.lab.ours import give_modules, modules_content
from tests.places import unshare


@pytest.fixture(autouse=True)
def _agent_of_this_checkout(agent_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RTSCOPE_AGENT", str(agent_path))


@contextmanager
def only_one() -> Iterator[None]:
    """Of the processes that run these tests, for one of them downloads and builds for all."""
    with Path(__file__).open() as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def debian_kernel(package: str, name: str, load: list[str]) -> Kernel:
    """With our modules as they are now."""
    with only_one():
        kept = {kernel.name: kernel for kernel in list_kernels() if takes_snapshots(kernel)}
        kernel = kept.get(name) or add_package(package, name=name, load=load)
        return kernel if kernel.ours == modules_content() else give_modules(kernel)


@pytest.fixture(scope="session")
def rt_kernel() -> Kernel:
    return debian_kernel("linux-image-6.12-rt-amd64", "6.12-rt-amd64", [])


@pytest.fixture(scope="session")
def arm64_kernel() -> Kernel:
    return debian_kernel("linux-image-6.12-rt-arm64", "6.12-rt-arm64", [])


@pytest.fixture(scope="session")
def standard_kernel() -> Kernel:
    """With modules that need one another."""
    return debian_kernel("linux-image-6.12-amd64", "6.12-amd64-vxlan", ["vxlan"])


@pytest.fixture(scope="session")
def audited_kernel() -> Kernel:
    """With a disk to swap on, and the registers of CPUs."""
    return debian_kernel("linux-image-6.12-amd64", "6.12-amd64-audited", ["zram", "msr"])


@pytest.fixture(scope="session")
def oldest_kernel() -> Kernel:
    """Of those that our modules are for."""
    return debian_kernel("linux-image-amd64", "6.1-amd64", [])


@pytest.fixture(scope="session")
def built() -> Callable[[str], Kernel]:
    """Builds a kernel by its recipe where the cache has none."""

    @functools.cache
    def build(name: str) -> Kernel:
        plan = plan_build(name, configs=[], patches=[])
        if kept := built_kernel(plan):
            return kept
        with only_one():
            return built_kernel(plan) or build_kernel(plan, 2, lambda words, done, total: None)

    return build


@pytest.fixture(scope="session")
def kernel_named(
    request: pytest.FixtureRequest, built: Callable[[str], Kernel]
) -> Callable[[str], Kernel]:
    """A kernel by its name, Debian's or one that the lab builds."""
    debian = {
        "6.12-rt-amd64": "rt_kernel",
        "6.12-amd64-vxlan": "standard_kernel",
        "6.1-amd64": "oldest_kernel",
    }

    def find(name: str) -> Kernel:
        if name not in debian:
            return built(name)
        kernel: Kernel = request.getfixturevalue(debian[name])
        return kernel

    return find


@pytest.fixture
def disk_of(tmp_path: Path) -> Iterator[Callable[[int], Path]]:
    """Makes a disk of so many KiB, once: one that a process has mounted for itself, as every user
    may, and that others reach by way of that process."""
    place = tmp_path / "disk"
    place.mkdir()
    holders: list[subprocess.Popen[str]] = []

    def mount(size_kib: int) -> Path:
        script = f'mount -t tmpfs -o size={size_kib}k rtscope-test "$0" && echo && exec cat'
        holder = subprocess.Popen(
            [*unshare("--user", "--map-root-user", "--mount"), "sh", "-c", script, place],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        holders.append(holder)
        assert holder.stdout
        assert holder.stdout.readline() == "\n", "this kernel lets users mount nothing"
        return Path(f"/proc/{holder.pid}/root{place}")

    yield mount
    for holder in holders:
        holder.communicate(timeout=60)
