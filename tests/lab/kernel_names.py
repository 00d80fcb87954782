# SPDX-License-Identifier: GPL-2.0-only
"""The kernels that our modules and their probes are tried on, with the ring of each."""

import pytest

DEBIAN = [
    pytest.param(name, marks=pytest.mark.long) for name in ["6.12-rt-amd64", "6.12-amd64-vxlan"]
]
"""as packaged; the ring kernels sees the same on the lab's own"""
BUILT = [
    pytest.param(name, marks=pytest.mark.kernels)
    for name in ["x86_64-rt", "x86_64-std", "arm64-rt"]
]
OTHERS = ["riscv64-rt", "e6500-rt", "loongson2e-rt", "pseries-rt"]
"""built without what only x86 and arm64 have been asked for"""
BUILT_OTHERS = [pytest.param(name, marks=pytest.mark.long) for name in OTHERS]
DEBUG = [
    pytest.param(f"{name}-debug", marks=pytest.mark.long)
    for name in ["x86_64-rt", "x86_64-std", "malta-rt", "loongson2e-rt", "e6500-rt", "pseries-rt"]
]
NEWEST = pytest.param("x86_64-rt-7.2", marks=pytest.mark.long)
OLDEST = pytest.param("6.1-amd64", marks=pytest.mark.long)
"""that our modules are written for"""
