# SPDX-License-Identifier: GPL-2.0-only
"""Published tables from the command line, and runs beside them."""

import json
from pathlib import Path

from tests.cli.conftest import Rtscope


def test_references_are_listed_and_shown(rtscope: Rtscope) -> None:
    assert "loongson-2f" in rtscope("references").stdout
    assert len(rtscope("references", "--json").stdout.splitlines()) == 5
    assert "15.553 us" in rtscope("references", "show", "loongson-2f").stdout
    shown = json.loads(rtscope("references", "show", "celleb", "--json").stdout)
    assert shown["tables"][0]["entries"][0]["values"][0]["text"] == "842842"
    for words, said in (
        (("references", "show", "loongson"), "there is no reference 'loongson'"),
        (("compare", "last", "--reference", "loongson"), "there is no reference 'loongson'"),
        (("compare", "last"), "name A and B, or add --reference"),
    ):
        refused = rtscope(*words)
        assert refused.returncode == 2
        assert said in refused.stderr


def test_a_run_fills_the_papers_table_and_the_page(rtscope: Rtscope, tmp_path: Path) -> None:
    assert rtscope("measure", "-D", "300ms", "--no-report").returncode == 0
    done = rtscope("compare", "last", "--reference", "loongson-2f")
    assert done.returncode == 0, done.stderr
    row = next(line for line in done.stdout.splitlines() if line.startswith("idle "))
    assert "27 us" in row
    assert "no run" not in row
    found = json.loads(rtscope("compare", "last", "--reference", "loongson-2f", "--json").stdout)
    assert found[0]["filled"][0]["entry"] == "idle"
    page = tmp_path / "page.html"
    assert rtscope("report", "last", "-r", "loongson-2f", "-o", str(page)).returncode == 0
    assert "Porting RT-preempt to Loongson2F" in page.read_text()
