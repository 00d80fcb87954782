# SPDX-License-Identifier: GPL-2.0-only
"""What patches change is counted as git counts it, in whatever form; bad ones are refused."""

import bz2
import gzip
import io
import lzma
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rtscope.lab import patchfile
from rtscope.lab.patchfile import FileChange, Patch, read_patch
from rtscope.lab.patchstat import Area, patchstat, together
from rtscope.lab.recipes import kernel_folder
from rtscope.model.errors import RtscopeError

SERIES = sorted((kernel_folder() / "patches").glob("*/*/*.patch"))
BEFORE: dict[str, bytes] = {
    "arch/mips/kernel/irq.c": b"".join(b"line %d\n" % number for number in range(40)),
    "arch/powerpc/Kconfig": b"select A\nselect B\n",
    "drivers/old.c": b"gone\nfor\ngood\n",
    "include/linux/moved.h": b"".join(b"#define M%d\n" % number for number in range(30)),
    "include/linux/same.h": b"nothing of it changes\n" * 9,
    "kernel/tricky.c": b"-- a\n++ b\n@@ -1 +1 @@\ndiff --git a/x b/x\nlast",
    "kernel/plain.c": b"a\nb\n",
    "kernel/grüße.c": b"a\r\nb\r\n",
    "scripts/run.sh": b"#!/bin/sh\n",
    "logo.bin": bytes(range(256)) * 4,
}


def git(tree: Path, *arguments: str) -> bytes:
    settings = ["user.name=a", "user.email=a@b", "init.defaultBranch=a", "commit.gpgsign=false"]
    options = [part for one in settings for part in ("-c", one)]
    return subprocess.run(
        ["git", *options, *arguments], cwd=tree, check=True, capture_output=True, timeout=60
    ).stdout


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A repository with one commit that does all that a patch can do."""
    tree = tmp_path_factory.mktemp("tree")
    git(tree, "init", "-q")
    for name, content in BEFORE.items():
        (tree / name).parent.mkdir(parents=True, exist_ok=True)
        (tree / name).write_bytes(content)
    git(tree, "add", "-A")
    git(tree, "commit", "-qm", "before")
    (tree / "arch/mips/kernel/irq.c").write_bytes(
        BEFORE["arch/mips/kernel/irq.c"].replace(b"line 3\n", b"").replace(b"line 31", b"new\n31")
    )
    (tree / "arch/powerpc/Kconfig").write_bytes(b"select A\nselect B\nselect RT")
    (tree / "drivers/old.c").unlink()
    (tree / "include/linux/moved.h").rename(tree / "include/linux/here.h")
    (tree / "include/linux/here.h").write_bytes(BEFORE["include/linux/moved.h"] + b"#endif\n")
    (tree / "include/linux/same.h").rename(tree / "include/asm.h")
    (tree / "kernel/tricky.c").write_bytes(b"++ b\n-- c\n++ @@\n-- a\nlast\n")
    (tree / "kernel/plain.c").write_bytes(b"a\nc\n")
    (tree / "kernel/grüße.c").write_bytes(b"a\r\n\r\nb\r\n")
    (tree / "kernel/empty.c").write_bytes(b"")
    (tree / "kernel/new.c").write_bytes(b"\n\nint x;\n")
    (tree / "scripts/run.sh").chmod(0o755)
    (tree / "logo.bin").write_bytes(bytes(range(255, -1, -1)) * 4)
    git(tree, "add", "-A")
    git(tree, "commit", "-qm", "after")
    return tree


def read(data: bytes, strip: int = 1) -> Patch:
    return read_patch(io.BufferedReader(io.BytesIO(data)), "it", strip)


def counted(changes: list[FileChange]) -> list[tuple[str, str, str]]:
    """As git apply --numstat has it."""
    return [
        ("-", "-", change.path)
        if change.binary
        else (str(change.added), str(change.removed), change.path)
        for change in changes
    ]


def numstat(patch: bytes, folder: Path, strip: int = 1) -> list[tuple[str, str, str]]:
    file = folder / "one.patch"
    file.write_bytes(patch)
    reported = git(folder, "apply", "--numstat", "-z", f"-p{strip}", str(file)).decode()
    rows = [row.split("\t") for row in reported.split("\0") if row]
    return [(added, removed, path) for added, removed, path in rows]


@pytest.mark.parametrize(
    ("command", "strip"),
    [
        ("format-patch --stdout --binary -M -1", 1),
        ("format-patch --stdout --no-renames -1", 1),
        ("format-patch --stdout --no-binary -U0 -1", 1),
        ("diff --binary -M HEAD~1", 1),
        ("diff -R --binary -M HEAD~1", 1),
        ("diff --binary -M --no-prefix HEAD~1", 0),
        ("diff --binary --no-renames --src-prefix=x/y/ --dst-prefix=z/y/ HEAD~1", 2),
        ("-c core.quotePath=false diff --find-copies-harder -C1 HEAD~1", 1),
    ],
)
def test_every_change_is_counted_as_git_counts_it(
    tree: Path, tmp_path: Path, command: str, strip: int
) -> None:
    patch = git(tree, *command.split())

    ours = read(patch, strip)

    assert counted(ours.changes) == numstat(patch, tmp_path, strip)
    assert ours.bytes == len(patch)


@pytest.mark.parametrize("pack", [gzip.compress, bz2.compress, lzma.compress])
def test_a_packed_patch_is_what_is_in_it(tree: Path, pack: Callable[[bytes], bytes]) -> None:
    patch = git(tree, "diff", "--binary", "HEAD~1")

    assert read(pack(patch)) == read(patch)
    with pytest.raises(RtscopeError, match=r"^it cannot be read: "):
        read(pack(patch)[:-20])


def row(area: Area) -> tuple[str, int, int, int]:
    return area.name, area.files, area.added, area.removed


def test_areas_are_subsystems_and_the_parts_of_arch_and_include(tree: Path, tmp_path: Path) -> None:
    (tmp_path / "all.patch").write_bytes(git(tree, "diff", "--binary", "-M", "HEAD~1"))

    stat = patchstat(str(tmp_path / "all.patch"))

    assert {area.name for area in stat.areas} == {
        "arch", "drivers", "include", "kernel", "scripts", "top level"
    }  # fmt: skip
    by_name = {area.name: area for area in stat.areas}
    assert row(by_name["arch"]) == ("arch", 2, 3, 2)
    assert sorted(row(part) for part in by_name["arch"].parts) == [
        ("arch/mips", 1, 2, 2),
        ("arch/powerpc", 1, 1, 0),
    ]
    assert {part.name for part in by_name["include"].parts} == {"include/linux", "include/asm.h"}
    assert by_name["kernel"].parts == []
    assert (by_name["kernel"].new, by_name["drivers"].deleted) == (2, 1)
    assert (by_name["include"].renamed, by_name["top level"].binary) == (2, 1)
    sizes = [area.bytes for area in stat.areas]
    assert sizes == sorted(sizes, reverse=True)
    assert sum(sizes) == stat.total.bytes <= stat.bytes
    assert sum(area.files for area in stat.areas) == stat.total.files == len(stat.files)


def write_series(folder: Path) -> None:
    folder.mkdir()
    (folder / "b.patch").write_text("--- /dev/null\n+++ b/mm/x.c\n@@ -0,0 +1,2 @@\n+1\n+2\n")
    (folder / "a.patch").write_text("--- a/mm/x.c\n+++ b/mm/x.c\n@@ -2 +2 @@\n-2\n+3\n")
    (folder / "left-out.patch").write_text("no patch at all\n")
    (folder / "series").write_text("# in this order\nb.patch\na.patch  # done\n")


def test_a_file_that_a_series_changes_twice_counts_once(tmp_path: Path) -> None:
    write_series(tmp_path / "ours")

    stat = patchstat(str(tmp_path / "ours"))

    assert (stat.patches, stat.total.files, stat.total.new) == (2, 1, 1)
    assert (stat.total.added, stat.total.removed) == (3, 1)
    twice = together([stat, stat])
    assert (twice.patches, twice.total.files, twice.total.added) == (4, 1, 6)


def test_our_own_series_have_names() -> None:
    stat = patchstat("lab-x86_64")

    assert stat.patches == 1
    assert patchstat("linux-6.12/lab-x86_64").files == stat.files
    with pytest.raises(RtscopeError, match="rtscope ships no series of that name: it has lab"):
        patchstat("lab-vax")


def test_a_patch_of_a_series_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    write_series(tmp_path / "ours")
    (tmp_path / "ours" / "a.patch").unlink()
    with pytest.raises(RtscopeError, match=r"ours/a\.patch cannot be read: No such file"):
        patchstat(str(tmp_path / "ours"))
    (tmp_path / "ours" / "series").write_text("left-out.patch\n")
    with pytest.raises(RtscopeError, match=r"left-out\.patch changes no file"):
        patchstat(str(tmp_path / "ours"))


NAMES = b"--- a/x\n+++ b/x\n"


@pytest.mark.parametrize(
    "patch",
    [
        b"",
        b"*** a/x\n--- b/x\n***************\n",
        b"@@ -1 +1 @@\n-a\n+b\n",
        NAMES + b"@@ -1 +1 @@\n-a\n",
        NAMES + b"@@ -1,2 +1 @@\n+a\n+b\n",
        b"diff --cc kernel/x.c\n",
        b"diff --git a/%b b/%b\n" % (b"x" * 5000, b"x" * 5000),
        b"\x1f\x8bnot gzip",
        b"\xfd7zXZ\0not xz",
        b"BZhnot bzip2",
    ],
)
def test_what_is_not_a_patch_is_refused_by_name(patch: bytes) -> None:
    with pytest.raises(RtscopeError, match=r"^it "):
        read(patch)


@pytest.mark.parametrize("pack", [bytes, gzip.compress, bz2.compress, lzma.compress])
def test_a_patch_that_unpacks_to_too_much_is_refused(
    monkeypatch: pytest.MonkeyPatch, pack: Callable[[bytes], bytes]
) -> None:
    monkeypatch.setattr(patchfile, "_MOST_BYTES", 1 << 20)
    with pytest.raises(RtscopeError, match="unpacks to more than 1 MiB"):
        read(pack(NAMES + b"@@ -0,0 +1,9999999 @@\n" + b"+" * (2 << 20)))


WHOLE = b"".join(path.read_bytes() for path in SERIES[:2]) + (
    b'diff --git "a/gr\\303\\274\\337" "b/gr\\303\\274\\337"\nold mode 100644\nnew mode 100755\n'
    b"diff --git a/l b/l\nnew file mode 100644\nindex 0..1\nGIT binary patch\nliteral 3\nKcmZQ\n\n"
    b"diff --git a/a b/c\nsimilarity index 100%\nrename from a\nrename to c\n"
    b"--- a/x\t1970-01-01\n+++ b/x\t2007-10-12\n@@ -0,0 +1 @@\n+x\n\\ No newline at end of file\n"
)
PIECES = st.one_of(
    st.binary(max_size=40),
    st.sampled_from([b"", *WHOLE.splitlines(keepends=True)]),
    st.sampled_from([b'"', b"\\", b"@@ -1,3 +1,999999999 @@\n", b"\0", b"\r", b"/" * 99]),
)


@given(
    st.lists(st.tuples(st.integers(0, len(WHOLE)), st.integers(0, 60), PIECES), max_size=6),
    st.integers(0, 3),
)
def test_any_bytes_are_counted_or_refused(edits: list[tuple[int, int, bytes]], strip: int) -> None:
    data = WHOLE
    for place, length, piece in edits:
        data = data[:place] + piece + data[place + length :]
    try:
        patch = read(data, strip)
    except RtscopeError:
        return
    assert patch.bytes == len(data)
    assert sum(one.added + one.removed for one in patch.changes) <= len(data.splitlines())
