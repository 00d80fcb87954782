# SPDX-License-Identifier: GPL-2.0-only
"""rtscope lab patchstat tells of series and patches; what cannot be is a sentence."""

import json
import lzma
import os
import subprocess
from pathlib import Path

from tests.cli.conftest import COMMAND, Rtscope

PATCH = (
    "diff --git a/arch/mips/Kconfig b/arch/mips/Kconfig\n"
    "--- a/arch/mips/Kconfig\n+++ b/arch/mips/Kconfig\n@@ -1 +1,2 @@\n a\n+select RT\n"
    "--- a/mm/slub.c\n+++ b/mm/slub.c\n@@ -1,2 +1 @@\n a\n-b\n"
)


def test_a_table_reports_what_a_patch_and_a_series_change(rtscope: Rtscope, tmp_path: Path) -> None:
    (tmp_path / "rt.patch.xz").write_bytes(lzma.compress(PATCH.encode()))
    done = rtscope("lab", "patchstat", "rt.patch.xz", "lab-x86_64")
    assert (done.returncode, done.stderr) == (0, "")
    rows = [" ".join(line.split()[:4]) for line in done.stdout.splitlines()]
    expected = {"arch/mips 1 1 0", "mm 1 0 1", "total 4 24 1", "rt.patch.xz 2 1 1"}
    assert expected | {"lab-x86_64 2 23 0"} <= {*rows}


def test_json_and_a_page_of_standard_input(
    environment: dict[str, str], rtscope: Rtscope, tmp_path: Path
) -> None:
    command = ["lab", "patchstat", "-", "--json", "--html", "page.html"]
    done = subprocess.run(
        [*COMMAND, *command], input=PATCH, text=True, capture_output=True,
        env=environment, cwd=tmp_path, timeout=120, check=False,
    )  # fmt: skip

    assert (done.returncode, done.stderr) == (0, "page: page.html\n")
    reported = json.loads(done.stdout)
    assert (reported["patches"], reported["bytes"]) == (1, len(PATCH))
    assert [area["name"] for area in reported["areas"]] == ["arch", "mm"]
    assert "arch/mips" in (tmp_path / "page.html").read_text()

    again = rtscope(*command)
    assert (again.returncode, again.stdout) == (2, "")
    assert again.stderr.startswith("rtscope: page.html exists: give another name, or --force")


def test_what_cannot_be_counted_is_a_sentence(rtscope: Rtscope, tmp_path: Path) -> None:
    (tmp_path / "cut.patch").write_text(PATCH[:-3])
    (tmp_path / "empty").mkdir()
    for name, sentence in [
        ("none-such", "there is no file or directory none-such"),
        ("cut.patch", "cut.patch is not a unified diff"),
        ("empty", "empty contains no patches"),
        (os.devnull, "/dev/null changes no file"),
        ("/dev/zero", "/dev/zero unpacks to more than"),
    ]:
        done = rtscope("lab", "patchstat", name, "--html", "page.html")
        assert (done.returncode, done.stdout) == (2, "")
        assert done.stderr.startswith(f"rtscope: {sentence}")
        assert not (tmp_path / "page.html").exists()
