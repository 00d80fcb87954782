# SPDX-License-Identifier: GPL-2.0-only
"""Our kernel modules: built for kernels that are not ours, and loaded where a probe needs them."""

import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from rtscope.lab.kernels import Kernel, cache_directory, kernel_modules
from rtscope.lab.modules import needed_module
from rtscope.lab.ours import copy_modules, give_modules, module_names, modules_content
from rtscope.lab.source import find_source, source_tree
from rtscope.lab.vm import vm_target
from rtscope.model.errors import RtscopeError
from rtscope.model.request import Request

ROOT = Path(__file__).parents[2]
KernelNamed = Callable[[str], Kernel]

OURS = module_names()


LOOP = Request(probe="loop", options={"in": "kernel"})


@pytest.mark.parametrize(
    ("asked", "module"),
    [
        (LOOP, "rtloop"),
        (Request(probe="loop", options={"in": "program"}), None),
        (Request(probe="daq"), "rtdaq"),
        (Request(probe="cyclic", options={"in": "kernel"}), None),
        (Request(probe="event"), "rtevent"),
    ],
)
def test_a_probe_names_the_module_it_needs(asked: Request, module: str | None) -> None:
    assert needed_module(asked) == module


def test_it_is_loaded_with_the_one_that_was_asked_for(rt_kernel: Kernel) -> None:
    target = vm_target(f"vm:{rt_kernel.name},load=rtdelay delay_us=5").fitted(LOOP)
    lines = target.guest_files()["rtscope.modules"].decode().splitlines()

    assert lines[-2:] == ["!/modules/rtdelay.ko delay_us=5", "!/modules/rtloop.ko"]


def test_a_kernel_without_it_is_reported_before_it_boots(
    rt_kernel: Kernel, monkeypatch: pytest.MonkeyPatch
) -> None:
    target = vm_target(f"vm:{rt_kernel.name}")
    monkeypatch.setattr("rtscope.lab.vm.has_module", lambda kernel, name: False)

    with pytest.raises(
        RtscopeError, match=r"has no module rtloop, which the probe loop needs.*added again"
    ):
        target.fitted(LOOP)


def test_debians_kernels_have_all_of_ours_for_either_architecture(
    rt_kernel: Kernel, standard_kernel: Kernel, arm64_kernel: Kernel
) -> None:
    for kernel in (rt_kernel, standard_kernel, arm64_kernel):
        found = kernel_modules(kernel, *OURS)
        assert kernel.ours == modules_content()
        for name in OURS:
            assert f"vermagic={kernel.release} ".encode() in found[name]
        assert b"intree=Y" not in found["rtloop"]


def test_a_compiler_that_is_missing_is_reported_with_its_package(
    rt_kernel: Kernel, arm64_kernel: Kernel, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("rtscope.lab.ours.shutil.which", lambda tool: None)

    for kernel, package in [(rt_kernel, "gcc-12"), (arm64_kernel, "gcc-12-aarch64-linux-gnu")]:
        with pytest.raises(RtscopeError, match=f"without .*: install the package {package}$"):
            give_modules(kernel)


@pytest.mark.kernels
@pytest.mark.parametrize("name", ["6.12-rt-amd64", "6.1-amd64"])
def test_make_modules_builds_all_of_them_without_a_warning(
    name: str, kernel_named: KernelNamed, tmp_path: Path
) -> None:
    release = kernel_named(name).release
    (kdir,) = (cache_directory() / "headers" / release).glob(f"usr/src/linux-headers-{release}")
    done = subprocess.run(
        [ROOT / "setup" / "modules", kdir, tmp_path / "modules"],
        capture_output=True,
        text=True,
        check=True,
    )

    assert done.stderr == ""
    assert sorted(path.stem for path in (tmp_path / "modules").glob("*.ko")) == OURS


@pytest.mark.kernels
def test_the_kernels_own_checker_has_nothing_to_say(tmp_path: Path) -> None:
    """But that the kernel's own code knows its version, while this is built for many."""
    tree = source_tree(find_source(None, "linux-source-6.12"), lambda words: None)
    copy_modules(tmp_path / "modules")
    files = list((tmp_path / "modules").rglob("*.[ch]"))
    words = ["--no-tree", "--strict", "--terse", "--ignore", "LINUX_VERSION_CODE", "-f"]
    done = subprocess.run(
        ["perl", tree / "scripts" / "checkpatch.pl", *words, *files],
        capture_output=True,
        text=True,
        check=False,
    )

    assert len(files) > len(OURS)
    assert done.returncode == 0, done.stdout
