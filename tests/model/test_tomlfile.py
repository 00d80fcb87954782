# SPDX-License-Identifier: GPL-2.0-only
"""Where something stands in a file that a person wrote."""

import tomllib

from hypothesis import given
from hypothesis import strategies as st

from rtscope.model.tomlfile import Place, line_of

VALUES = st.sampled_from(
    ['"x"', "1", '[\n  "a",\n\n  # b\n  "c",\n]', '"""\n[x]\ny = 1\n"""', "{a=1}"]
)
GAPS = st.sampled_from(["", "\n", "# k0 = 1\n", "\n# [[t]]\n\n"])


@st.composite
def documents(draw: st.DrawFn) -> tuple[str, dict[Place, int]]:
    """TOML of top-level keys and [[t]] tables, and the line where each key and table begins."""
    text, lines = "", {}

    def add(where: Place, statement: str) -> None:
        nonlocal text
        text += draw(GAPS)
        lines[where] = text.count("\n") + 1
        text += statement + "\n"

    for key in range(draw(st.integers(0, 4))):
        add((f"k{key}",), f"k{key} = {draw(VALUES)}")
    for table in range(draw(st.integers(0, 4))):
        add(("t", table), "[[t]]")
        for key in range(draw(st.integers(0, 4))):
            add(("t", table, f"k{key}"), f"k{key} = {draw(VALUES)}")
    return text, lines


@given(documents())
def test_every_key_is_found_on_its_line(document: tuple[str, dict[Place, int]]) -> None:
    text, lines = document
    assert tomllib.loads(text) is not None
    for where, line in lines.items():
        assert line_of(text, where) == line
        assert line_of(text, (*where, "nothing")) == line
    assert line_of(text, ("nothing", 3)) == 1
