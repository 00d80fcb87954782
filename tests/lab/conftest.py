"""Debian's kernels, downloaded once into the user's cache."""

import pytest

from rtscope.lab.kernels import Kernel, add_package, find_kernel
from rtscope.model.errors import RtscopeError


def debian_kernel(package: str) -> Kernel:
    try:
        return find_kernel(package.removeprefix("linux-image-"))
    except RtscopeError:
        return add_package(package, name=None, load=[])


@pytest.fixture(scope="session")
def rt_kernel() -> Kernel:
    return debian_kernel("linux-image-6.12-rt-amd64")


@pytest.fixture(scope="session")
def standard_kernel() -> Kernel:
    return debian_kernel("linux-image-6.12-amd64")
