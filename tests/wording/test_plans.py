# SPDX-License-Identifier: GPL-2.0-only
"""The page about plans has the ranges that plans are checked with."""

from pathlib import Path

from rtscope.wording.plans import with_ranges

PAGE = (Path(__file__).parents[2] / "docs" / "reference" / "plans.md").read_text()


def test_the_page_has_the_ranges_of_the_description() -> None:
    assert with_ranges(PAGE) == PAGE, "run: make docs"
    assert with_ranges("| `worst` | number | 10 |\n") == "| `worst` | number from 0 to 64 | 10 |\n"
    assert with_ranges("| `missed` | number | x |\n") == "| `missed` | number | x |\n"
