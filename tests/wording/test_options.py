# SPDX-License-Identifier: GPL-2.0-only
"""The agent's options in words."""

from pathlib import Path

import pytest

from rtscope.model.description import Option
from rtscope.target.description import our_description
from rtscope.wording.options import range_words, with_tables

PAGES = Path(__file__).parents[2] / "docs" / "reference" / "probe"
NAMES = [probe.name for probe in our_description().probes]


@pytest.mark.parametrize("name", [*NAMES, "options"])
def test_a_page_has_the_options_of_the_description(name: str) -> None:
    page = (PAGES / f"{name}.md").read_text()
    of = "every probe" if name == "options" else name
    assert page.count(f"<!-- options of {of}: written by make docs -->") == 1
    assert with_tables(page, our_description()) == page, "run: make docs"


@pytest.mark.parametrize(
    ("option", "words"),
    [
        (Option("x", "number", ""), ""),
        (Option("x", "number", "", min=1), "more than 0"),
        (Option("x", "number", "", min=2, max=9, step=2), "from 2 to 9, a multiple of 2"),
        (Option("x", "time", "", unit="us", min=0, max=10**6), "from 0 to 1ms"),
        (Option("x", "time", "", unit="us", min=10**7, zero=True), "0 or at least 10ms"),
        (Option("x", "time", "", unit="us", min=1000, max=36 * 10**11), "from 1us to 1h"),
    ],
)
def test_a_range_in_words(option: Option, words: str) -> None:
    assert range_words(option) == words
