# SPDX-License-Identifier: GPL-2.0-only
"""A user's own modules, files, commands and kernel parameters in a VM."""

from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rtscope.engine.explain import Received, explained
from rtscope.engine.measure import measure
from rtscope.lab.additions import additions
from rtscope.lab.kernels import Kernel
from rtscope.lab.machine import parse_spec, with_options
from rtscope.lab.vm import vm_target
from rtscope.model.errors import RtscopeError
from rtscope.model.machine import Machine
from rtscope.model.request import Request
from rtscope.model.run import Run

KernelNamed = Callable[[str], Kernel]

DRIVER = Path(__file__).parents[2] / "examples" / "driver"
WORK_NS = 50_000
OTHER = Kernel("other", "x86_64", "6.12.1-other", "a file", "0" * 64)
KERNELS = [
    pytest.param("x86_64-rt", marks=pytest.mark.kernels),
    pytest.param("arm64-rt", marks=pytest.mark.kernels),
    pytest.param("x86_64-rt-7.2", marks=pytest.mark.long),
    pytest.param("6.12-rt-amd64", marks=pytest.mark.long),
]


@given(st.lists(st.text(st.characters(exclude_categories=["C", "Z"]), min_size=1), min_size=1))
def test_any_command_can_be_an_option_of_the_target(commands: list[str]) -> None:
    name = with_options("vm:x,cpus=2", "run", commands)
    assert (parse_spec(name.removeprefix("vm:")).commands, parse_spec("x,run=a\\n").commands) == (
        commands,
        ["a\\n"],
    )


@pytest.mark.parametrize(
    ("option", "sentence"),
    [
        ("load=./missing", "cannot read the module missing: No such file"),
        ("load=./empty", "empty has neither Kbuild nor Makefile"),
        ("load=./text.ko", "text.ko is not a kernel module"),
        ("load=./older.ko", "was built for Linux 6.1.0-1, and other is 6.12.1-other: give the dir"),
        ("load=nowhere", "there is no module 'nowhere'"),
        ("file=missing", "there is no file or directory missing"),
        ("file=text.ko:bin/x", "'bin/x' cannot be a file of the guest: give an absolute path"),
        ("file=text.ko:/a/../init", "cannot be a file of the guest"),
        ("file=text.ko:/init", "cannot be a file of the guest"),
        ("file=text.ko:/rtscope.args", "cannot be a file of the guest"),
    ],
)
def test_what_cannot_be_added_is_refused_before_a_boot(
    option: str, sentence: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "empty").mkdir()
    (tmp_path / "text.ko").write_text("text")
    (tmp_path / "older.ko").write_bytes(b"\x7fELF\0vermagic=6.1.0-1 SMP\0")
    with pytest.raises(RtscopeError, match=sentence.replace("(", r"\(")):
        additions(parse_spec(f"x,{option}"), OTHER)


def test_only_a_vm_takes_them() -> None:
    with pytest.raises(RtscopeError, match="ssh:board: only a VM of the lab takes modules"):
        with_options("ssh:board", "load", ["x"])


def test_a_directory_is_laid_over_the_guests_root(tmp_path: Path) -> None:
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "tool").write_text("#!/bin/sh\n")
    (tmp_path / "bin" / "tool").chmod(0o755)
    (tmp_path / "conf").write_text("1")
    added = additions(parse_spec(f"x,file={tmp_path},file={tmp_path}/conf:/etc/c"), OTHER)
    shell = added.files.pop("bin/busybox")
    assert added.files == {"bin/tool": b"#!/bin/sh\n", "conf": b"1", "etc/c": b"1"}
    assert shell.startswith(b"\x7fELF"), "for loads that are commands"
    assert added.executables == ["bin/tool", "bin/busybox"]


def run_of(target: str, samples: int = 400) -> tuple[Run, Received]:
    received = Received()
    request = Request(samples=samples)
    run = measure(request, Machine(), lambda agent: None, received.receive, vm_target(target))
    return run, received


@pytest.mark.parametrize("name", KERNELS)
def test_the_users_driver_is_built_measured_and_named_as_the_cause(
    name: str, kernel_named: KernelNamed
) -> None:
    target = f"vm:{kernel_named(name).name},load={DRIVER}"
    sources = {path: path.read_bytes() for path in DRIVER.iterdir()}
    run, received = run_of(target)
    machine = vm_target(target)
    (reported,) = explained(
        run, received, Request(samples=400), machine, 1, lambda agent: None
    ).explanations
    assert reported.functions[0].function.endswith(" [ticker]")
    # The deadline may come while the driver already works.
    assert WORK_NS / 2 < reported.functions[0].ns < WORK_NS + 2000
    threaded, _ = run_of(f"{target} threaded=Y")
    assert (threaded.threads[0].max_ns or 0) < WORK_NS / 2
    assert {path: path.read_bytes() for path in DRIVER.iterdir()} == sources


@pytest.mark.kernels
def test_a_command_changes_the_guest_before_the_agent_starts(kernel_named: KernelNamed) -> None:
    name = kernel_named("x86_64-rt").name
    longer = "echo 200 > /sys/module/ticker/parameters/work_us"
    read = "grep -q rtscope_test=1 /proc/cmdline && grep -q obj-m /bin/Kbuild"
    target = with_options(f"vm:{name},load={DRIVER}", "run", [longer, read])
    target = with_options(target, "file", [f"{DRIVER}/Kbuild"])
    run, _ = run_of(with_options(target, "append", ["rtscope_test=1"]))
    assert (run.threads[0].max_ns or 0) > 2 * WORK_NS
    with pytest.raises(RtscopeError, match=r"echo 1 > /none/x ended with status 1: sh: "):
        run_of(f"vm:{name},run=echo 1 > /none/x")


@pytest.mark.kernels
def test_a_driver_that_does_not_compile_is_refused_with_its_line(
    kernel_named: KernelNamed, tmp_path: Path
) -> None:
    kernel = kernel_named("x86_64-rt")
    (tmp_path / "Kbuild").write_text("obj-m := mine.o\n")
    (tmp_path / "mine.c").write_text("#include <linux/module.h>\nint x = missing;\n")
    with pytest.raises(RtscopeError, match=rf"{tmp_path}/mine.c:2:\d+: error: .*missing"):
        additions(parse_spec(f"{kernel.name},load={tmp_path}"), kernel)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["Kbuild", "mine.c"]
