# SPDX-License-Identifier: GPL-2.0-only
"""Kernels are kept whole under a name, or not at all, and bad ones are refused in a sentence."""

import gzip
import lzma
import os
import signal
import struct
import subprocess
import sys
import time
from pathlib import Path

import pytest

from rtscope.lab.kernelfile import read_kernel
from rtscope.lab.kernels import (
    add_file,
    cache_directory,
    find_kernel,
    kernel_file,
    kernel_modules,
    list_kernels,
)
from rtscope.lab.vm import vm_target
from rtscope.lab.workfolder import work_folder
from rtscope.model.errors import RtscopeError
from rtscope.model.request import MachineRequest

PVH = struct.pack("<II4s", 8, 18, b"Xen\0")
VERSION = b"Linux version 6.12.0-test (someone@somewhere)"


def vmlinux(
    machine: int = 62, note: bytes = PVH, version: bytes = VERSION, order: str = "<"
) -> bytes:
    """An ELF file of one segment, which holds what is looked for, and a table of no sections."""
    begin, content = 64 + 56, version + note
    header = struct.pack(
        f"{order}4sBBB9xHHIQQQIHHHHHH",
        *(b"\x7fELF", 2, 2 if order == ">" else 1, 1, 2, machine, 1, 0, 64),
        *(begin + len(content), 0, 64, 56, 1, 64, 1, 0),
    )
    segment = struct.pack(
        f"{order}IIQQQQQQ", 1, 5, begin, 0, 0, len(content), len(content) + 999, 1
    )
    return header + segment + content + bytes(64)


def arm64_image() -> bytes:
    return bytes(0x38) + b"ARM\x64" + VERSION


def uefi(image: bytes) -> bytes:
    """The image as a PE file of one section behind its header, with a signature at the end."""
    at, options = max(0x60, len(image)), 160
    header = struct.pack("<4sHHIIIHH", b"PE\0\0", 0xAA64, 1, 0, 0, 0, options, 0)
    end = at + len(header) + options + 40
    directories = bytes(112 + 32) + struct.pack("<II", end + 2000, 1500) + bytes(8)
    section = struct.pack("<8sIIII16x", b".text", 2000, end, 2000, end)
    start = b"MZ" + image[2:0x3C] + struct.pack("<I", at)
    return start.ljust(at, b"\0") + header + directories + section + VERSION.ljust(3500)


def bzimage() -> bytes:
    """A setup of one sector, then a payload and 64 bytes of code behind it."""
    setup, payload = bytearray(1024), b"payload"
    setup[0x1F1] = 1
    struct.pack_into("<I", setup, 0x1F4, 1088 // 16)
    setup[0x202:0x206] = b"HdrS"
    struct.pack_into("<H", setup, 0x20E, 0x100)
    setup[0x300:0x30B] = b"6.12.0-test"
    struct.pack_into("<II", setup, 0x248, 1024 - len(payload), len(payload))
    return bytes(setup) + bytes(1024 - len(payload)) + payload + bytes(64)


def riscv64_image() -> bytes:
    return bytes(0x30) + b"RISCV\0\0\0RSC\x05" + VERSION


@pytest.fixture
def cache(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return tmp_path / "cache" / "rtscope"


def test_kernels_are_identified_by_their_content() -> None:
    x86, arm = read_kernel(vmlinux(), "a"), read_kernel(gzip.compress(arm64_image()), "b")

    assert (x86.arch, x86.release) == ("x86_64", "6.12.0-test")
    assert (arm.arch, arm.release, arm.data) == ("aarch64", "6.12.0-test", arm64_image())
    assert read_kernel(riscv64_image(), "c").arch == "riscv64"
    assert read_kernel(vmlinux(machine=8, note=b""), "d").arch == "mips64el"
    assert read_kernel(vmlinux(machine=21, note=b"", order=">"), "e").arch == "powerpc64"


@pytest.mark.parametrize(
    ("data", "sentence"),
    [
        (b"", "not a kernel that the lab can boot"),
        (b"MZ and more", "not a kernel that the lab can boot"),
        (vmlinux(note=b""), "without CONFIG_PVH"),
        (vmlinux()[:-1], r"k is truncated: it has 2\d\d bytes, but its headers require 2\d\d;"),
        (vmlinux()[: -64 - len(PVH)], "is truncated"),
        (vmlinux()[:30], "is truncated"),
        (vmlinux(machine=21, note=b"", order=">")[:-1], "is truncated"),
        (vmlinux(machine=183), "for arm64 and riscv64 give the Image"),
        (vmlinux(version=b""), "contains no version"),
        (gzip.compress(arm64_image(), mtime=0)[:-9], "damaged gzip"),
        (bytes(0x202) + b"HdrS", "damaged"),
    ],
)
def test_what_is_no_kernel_is_refused_and_leaves_nothing(
    data: bytes, sentence: str, cache: Path, tmp_path: Path
) -> None:
    (tmp_path / "k").write_bytes(data)

    with pytest.raises(RtscopeError, match=sentence):
        add_file(tmp_path / "k", name=None, config=None, modules=None, load=[])
    assert list(cache.rglob("*")) == []


@pytest.mark.parametrize("whole", [uefi(arm64_image()), uefi(riscv64_image()), bzimage()])
def test_an_image_is_refused_whatever_is_cut_off(whole: bytes) -> None:
    assert read_kernel(whole, "a").data == whole
    for cut in (1, 60, 1000):
        with pytest.raises(RtscopeError, match="a is truncated"):
            read_kernel(whole[:-cut], "a")


def test_a_kernel_that_was_damaged_in_the_cache_is_not_booted(cache: Path, tmp_path: Path) -> None:
    (tmp_path / "k").write_bytes(vmlinux())
    kernel = add_file(tmp_path / "k", name=None, config=None, modules=None, load=[])
    kernel_file(kernel).write_bytes(vmlinux()[:-1] + b"x")

    with (
        pytest.raises(RtscopeError, match=f"rtscope lab kernel add {tmp_path}/k --name k"),
        vm_target("vm:k").started_agent(MachineRequest()),
    ):
        pass


def test_a_kernel_whose_last_segment_is_cut_is_refused() -> None:
    whole = vmlinux()
    without_sections = whole[:40] + bytes(8) + whole[48:60] + bytes(4) + whole[64:-64]
    assert read_kernel(without_sections, "a").data == without_sections
    with pytest.raises(RtscopeError, match="a is truncated"):
        read_kernel(without_sections[:-1], "a")


@pytest.mark.parametrize(
    "data",
    [b"\xff\xfe\x00", b"", b"# no setting\n", gzip.compress(b"CONFIG_A=y\n", mtime=0)],
    ids=["binary", "empty", "comment", "packed"],
)
def test_what_is_no_configuration_is_refused_when_it_is_given(
    data: bytes, cache: Path, tmp_path: Path
) -> None:
    (tmp_path / "k").write_bytes(vmlinux())
    (tmp_path / "config").write_bytes(data)

    with pytest.raises(RtscopeError, match="config is not a kernel configuration: give the"):
        add_file(tmp_path / "k", name=None, config=tmp_path / "config", modules=None, load=[])
    assert list(cache.rglob("*")) == []


def test_a_kernel_is_found_again_by_its_name_and_replaced_by_another(
    cache: Path, tmp_path: Path
) -> None:
    (tmp_path / "one").write_bytes(vmlinux())
    (tmp_path / "two").write_bytes(vmlinux() + b"more")
    add_file(tmp_path / "one", name="mine", config=None, modules=None, load=[])
    add_file(tmp_path / "two", name="mine", config=None, modules=None, load=[])

    assert cache_directory() == cache
    assert [kernel.name for kernel in list_kernels()] == ["mine"]
    assert kernel_file(find_kernel("mine")).read_bytes() == vmlinux() + b"more"


@pytest.mark.parametrize("name", ["", "../x", ".x", "a b", "a,b", "x" * 70])
@pytest.mark.usefixtures("cache")
def test_a_name_that_would_leave_the_cache_is_refused(name: str, tmp_path: Path) -> None:
    (tmp_path / "k").write_bytes(vmlinux())
    with pytest.raises(RtscopeError, match="is not a valid kernel name"):
        add_file(tmp_path / "k", name=name or " ", config=None, modules=None, load=[])


@pytest.mark.usefixtures("cache")
def test_modules_load_after_those_that_they_need(tmp_path: Path) -> None:
    folder = tmp_path / "modules" / "kernel"
    folder.mkdir(parents=True)
    (folder / "top.ko.xz").write_bytes(lzma.compress(b"T\0depends=mid-dle,low\0"))
    (folder / "mid_dle.ko").write_bytes(b"M\0depends=low\0")
    (folder / "low.ko.gz").write_bytes(gzip.compress(b"L\0depends=\0"))
    (folder / "unused.ko").write_bytes(b"U\0depends=\0")
    (tmp_path / "k").write_bytes(vmlinux())
    kernel = add_file(
        tmp_path / "k", name=None, config=None, modules=tmp_path / "modules", load=["top"]
    )

    found = kernel_modules(find_kernel(kernel.name))
    assert list(found) == ["low", "mid_dle", "top"]
    assert found["top"] == b"T\0depends=mid-dle,low\0"


def test_what_a_killed_one_left_is_swept_and_what_is_used_stays(
    cache: Path, tmp_path: Path
) -> None:
    (tmp_path / "k").write_bytes(vmlinux())
    stale = cache / "kernels" / ".adding-stale"
    (stale / "k").mkdir(parents=True)
    with work_folder(cache / "kernels", ".adding-") as used:
        assert not stale.exists()
        stale.mkdir()
        add_file(tmp_path / "k", name=None, config=None, modules=None, load=[])
        assert set((cache / "kernels").iterdir()) == {used, cache / "kernels" / "k"}
    assert not used.exists()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_an_addition_that_is_ended_leaves_nothing(
    cache: Path, tmp_path: Path, number: signal.Signals
) -> None:
    waiting = tmp_path / "waiting"
    (tmp_path / "bin").mkdir()
    apt = tmp_path / "bin" / "apt-cache"
    apt.write_text(
        f"#!/bin/sh\necho $$ >{waiting}.new; mv {waiting}.new {waiting}; exec sleep 1000\n"
    )
    apt.chmod(0o755)
    with subprocess.Popen(
        [sys.executable, "-m", "rtscope", "lab", "kernel", "add", "debian:linux-image-amd64"],
        env={**os.environ, "PATH": f"{apt.parent}:{os.environ['PATH']}"},
        stderr=subprocess.DEVNULL,
    ) as process:
        until = time.monotonic() + 60
        while not waiting.exists() and time.monotonic() < until:
            time.sleep(0.05)
        assert len(list((cache / "kernels").glob(".adding-*"))) == 1
        process.send_signal(number)
        assert process.wait(60) == 128 + number
    assert list((cache / "kernels").iterdir()) == []
    assert not Path(f"/proc/{waiting.read_text().strip()}").exists()
