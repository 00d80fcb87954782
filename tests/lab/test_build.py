# SPDX-License-Identifier: GPL-2.0-only
"""Kernels are built once for each content, from a source that stays as it is, or not at all."""

import os
import signal
import subprocess
import sys
import tarfile
import time
from pathlib import Path

import pytest

from rtscope.lab.boards import find_board
from rtscope.lab.build import Plan, build_kernel, built_kernel, plan_build
from rtscope.lab.kernels import Kernel, find_kernel, kernel_file, list_kernels
from rtscope.lab.patches import read_series
from rtscope.lab.recipes import kernel_folder, recipes
from rtscope.model.errors import RtscopeError
from tests.lab.tiny_kernel import MAKEFILE, tiny_kernel


@pytest.fixture
def cache(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return tmp_path / "cache" / "rtscope"


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """What make can take for a kernel's source; its kernel is head and init/main.c."""
    return tiny_kernel(tmp_path / "linux")


def series_of(directory: Path, old: str, new: str, file: str = "init/main.c") -> Path:
    directory.mkdir()
    (directory / "series").write_text("# in this order\n0001-change.patch\n")
    (directory / "0001-change.patch").write_text(
        f"Change it.\n---\n--- a/{file}\n+++ b/{file}\n"
        f"@@ -1,3 +1,3 @@\n one\n-{old}\n+{new}\n three\n"
    )
    return directory


def plan(
    source: Path, *, configs: list[Path] | None = None, patches: list[Path] | None = None
) -> Plan:
    return plan_build(
        "arm64-rt", name="mine", source=source, configs=configs or [], patches=patches or []
    )


def build(plan: Plan) -> Kernel:
    return build_kernel(plan, 1, lambda words, done, total: None)


def contents(tree: Path) -> dict[str, bytes]:
    return {str(path): path.read_bytes() for path in tree.rglob("*") if path.is_file()}


@pytest.mark.usefixtures("cache")
def test_a_tree_is_built_and_kept_and_stays_as_it_is(tree: Path) -> None:
    before = contents(tree)
    kernel = build(plan(tree))

    assert contents(tree) == before
    assert (kernel.name, kernel.arch, kernel.release) == ("mine", "aarch64", "6.12.99")
    assert find_kernel("mine") == kernel
    assert kernel_file(kernel).read_bytes().endswith(b"one\ntwo\nthree\nfour\n")
    assert (kernel_file(kernel).parent / "System.map").read_text() == "0\n"
    assert kernel.config_sha256


@pytest.mark.usefixtures("cache")
def test_the_same_content_is_built_once_and_any_other_anew(tree: Path, tmp_path: Path) -> None:
    kernel = build(plan(tree))
    assert built_kernel(plan(tree)) == kernel
    image = kernel_file(kernel).read_bytes()
    kernel_file(kernel).write_bytes(image[:-1])
    assert built_kernel(plan(tree)) is None
    kernel_file(kernel).write_bytes(image)

    (tmp_path / "more.config").write_text("CONFIG_NR_CPUS=2\n")
    series = series_of(tmp_path / "series", "two", "2")
    assert built_kernel(plan(tree, configs=[tmp_path / "more.config"])) is None
    assert built_kernel(plan(tree, patches=[series])) is None
    (tree / "init" / "main.c").write_text("another\n")
    assert built_kernel(plan(tree)) is None


@pytest.mark.usefixtures("cache")
@pytest.mark.parametrize("form", ["tree", "tarball"])
def test_patches_are_applied_to_a_copy_and_recorded(tree: Path, tmp_path: Path, form: str) -> None:
    source = tree
    if form == "tarball":
        source = tmp_path / "linux.tar.gz"
        with tarfile.open(source, "w:gz") as archive:
            archive.add(tree, "linux-6.12.99")
    build(plan(source))
    kernel = build(plan(source, patches=[series_of(tmp_path / "series", "two", "2")]))
    assert kernel_file(kernel).read_bytes().endswith(b"one\n2\nthree\nfour\n")
    assert kernel.patches == [str(read_series(tmp_path / "series"))]
    assert kernel.patches[0].startswith("series: 1 patch, sha256 ")
    assert (tree / "init" / "main.c").read_text() == "one\ntwo\nthree\nfour\n"

    kernel = build(plan(source))
    assert kernel_file(kernel).read_bytes().endswith(b"one\ntwo\nthree\nfour\n")
    assert kernel.patches == []


def test_what_other_patches_leave_as_it_was_is_not_built_again(
    tree: Path, tmp_path: Path, cache: Path
) -> None:
    """A file is compiled when it is younger than its object."""
    (tree / "init" / "other.c").write_text("one\ntwo\nthree\nfour\n")
    tarball = tmp_path / "linux.tar.gz"
    with tarfile.open(tarball, "w:gz") as archive:
        archive.add(tree, "linux-6.12.99")
    built = cache / "build" / "mine"
    main, other = (built / "source" / "init" / name for name in ("main.c", "other.c"))
    first = series_of(tmp_path / "first", "two", "2")
    build(plan(tarball, patches=[first]))
    compiled = built / "objects" / "main.o"
    compiled.touch()
    (first / "0001-change.patch").write_text(
        (first / "0001-change.patch").read_text().replace("Change it.", "Change it, because.")
    )
    build(plan(tarball, patches=[first]))
    assert compiled.exists()
    assert main.stat().st_mtime_ns < compiled.stat().st_mtime_ns

    build(plan(tarball, patches=[series_of(tmp_path / "next", "two", "2", "init/other.c")]))
    assert main.read_text() == "one\ntwo\nthree\nfour\n"
    assert other.read_text() == "one\n2\nthree\nfour\n"
    assert main.stat().st_mtime_ns > compiled.stat().st_mtime_ns
    assert other.stat().st_mtime_ns > compiled.stat().st_mtime_ns
    assert (built / "source" / "head").stat().st_mtime_ns < compiled.stat().st_mtime_ns

    build(plan(tarball))
    assert not compiled.exists()


@pytest.mark.parametrize(
    ("old", "new", "file", "sentence"),
    [
        ("zwei", "2", "init/main.c", r"init/main\.c, hunk #1 at line 1, does not match"),
        ("2", "two", "init/main.c", r"init/main\.c already has the change"),
        ("two", "2", "init/none.c", r"there is no file init/none\.c"),
    ],
)
def test_a_patch_that_does_not_apply_is_named_with_its_place(
    tree: Path, tmp_path: Path, cache: Path, old: str, new: str, file: str, sentence: str
) -> None:
    series = series_of(tmp_path / "series", old, new, file)
    with pytest.raises(RtscopeError, match=rf"0001-change\.patch .* Linux 6\.12\.99 .*{sentence}"):
        build(plan(tree, patches=[series]))
    assert list_kernels() == []
    assert {path.name for path in (cache / "build" / "mine").iterdir()} <= {"lock"}


def test_a_setting_that_the_kernel_did_not_take_is_named(
    tree: Path, tmp_path: Path, cache: Path
) -> None:
    (tmp_path / "my.config").write_text("\n# CONFIG_HOTPLUG_CPU is not set\n")
    with pytest.raises(
        RtscopeError, match=r"Linux 6\.12\.99 .* CONFIG_HOTPLUG_CPU=n \(my\.config:2\) became y;"
    ):
        build(plan(tree, configs=[tmp_path / "my.config"]))
    (tree / "always.config").write_text("")
    with pytest.raises(RtscopeError, match=r"CONFIG_HOTPLUG_CPU=y \(base\.config:\d+\) became n;"):
        build(plan(tree))
    assert list_kernels() == []
    assert not (cache / "kernels").exists()


@pytest.mark.usefixtures("cache")
@pytest.mark.parametrize(
    ("recipe", "sentence"),
    [
        (
            "echo 'init/main.c:3:1: error: expected one' >&2; echo 'x: error: second'; false",
            r"init/main\.c:3:1: error: expected one; .*log",
        ),
        ("cat head >/dev/full", r"cat: write error: No space left on device"),
        ("echo 'x.c:1: fatal error: gelf.h: No such file'; false", r"the package libelf-dev"),
    ],
)
def test_a_build_that_fails_reports_the_first_error_and_where_all_is(
    tree: Path, recipe: str, sentence: str
) -> None:
    (tree / "Makefile").write_text(MAKEFILE.replace("	cat head", f"	@{recipe}\n	cat head"))
    with pytest.raises(RtscopeError, match=f"mine could not be built: .*{sentence}"):
        build(plan(tree))
    assert list_kernels() == []


def running_build(tree: Path, tmp_path: Path, cache: Path) -> tuple[subprocess.Popen[str], int]:
    """A build by the command line, and the process of its compiler that never ends."""
    (tree / "Makefile").write_text(
        MAKEFILE.replace("	cat head", "	echo $$$$ >$(O)/pid; exec sleep 1000\n	cat head")
    )
    process = subprocess.Popen(
        [sys.executable, "-m", "rtscope.cli.main", "lab", "kernel", "build", "arm64-rt",
         "--name", "mine", "--source", str(tree)],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        env={**os.environ, "XDG_CACHE_HOME": str(tmp_path / "cache")},
    )  # fmt: skip
    file = cache / "build" / "mine" / "objects" / "pid"
    until = time.monotonic() + 60
    while not (file.exists() and file.read_text()) and time.monotonic() < until:
        time.sleep(0.05)
    return process, int(file.read_text())


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_however_a_build_is_ended_nothing_runs_on_and_no_kernel_is_there(
    tree: Path, tmp_path: Path, cache: Path, number: signal.Signals
) -> None:
    process, compiler = running_build(tree, tmp_path, cache)
    process.send_signal(number)
    process.communicate(timeout=60)

    killed = number == signal.SIGKILL
    assert process.returncode == (-number if killed else 128 + number)
    until = time.monotonic() + 60
    while Path(f"/proc/{compiler}").exists() and time.monotonic() < until:
        time.sleep(0.05)
    assert not Path(f"/proc/{compiler}").exists()
    assert list_kernels() == []


def test_nobody_builds_a_name_while_another_does(tree: Path, tmp_path: Path, cache: Path) -> None:
    process, _ = running_build(tree, tmp_path, cache)
    try:
        with pytest.raises(RtscopeError, match="mine is being built by another rtscope"):
            build(plan(tree))
    finally:
        process.terminate()
        process.communicate(timeout=60)


@pytest.mark.usefixtures("cache")
def test_what_is_no_clean_source_is_refused(tree: Path, tmp_path: Path) -> None:
    (tmp_path / "junk.tar").write_bytes(b"no archive")
    with pytest.raises(RtscopeError, match=r"junk\.tar cannot be unpacked: tar: "):
        build(plan(tmp_path / "junk.tar"))
    with pytest.raises(RtscopeError, match=r"the source .*none cannot be read: No such file"):
        plan(tmp_path / "none")
    with pytest.raises(RtscopeError, match="is not a Linux kernel source"):
        plan(tmp_path)
    (tree / ".config").touch()
    with pytest.raises(RtscopeError, match=r"was configured in place, .*make mrproper"):
        plan(tree)


def test_a_missing_tool_is_reported_with_its_package(
    tree: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(RtscopeError, match=r"aarch64-linux-gnu-gcc.* install make .*gcc-aarch64"):
        plan(tree)


@pytest.mark.usefixtures("cache")
def test_a_kernel_that_has_not_been_built_is_reported_with_the_command_that_does(
    tree: Path,
) -> None:
    with pytest.raises(RtscopeError, match="`rtscope lab kernel build riscv64-rt`"):
        find_kernel("riscv64-rt")
    with pytest.raises(RtscopeError, match="no recipe for a kernel 'none': the lab builds x86"):
        plan_build("none", source=tree, configs=[], patches=[])


@pytest.mark.parametrize("name", recipes().kernels)
def test_each_recipe_finds_what_it_names_and_a_machine_that_boots_it(name: str) -> None:
    recipe = recipes().kernels[name]

    assert recipe.arch in recipes().architectures
    assert find_board(recipe.board, recipe.arch).arch == recipe.arch
    for config in recipe.configs:
        assert (kernel_folder() / "configs" / f"{config}.config").is_file()
    for series in recipe.patches:
        assert read_series(kernel_folder() / "patches" / series).files
