# SPDX-License-Identifier: GPL-2.0-only
"""A unit's command line is read by systemd as it was meant (systemd.service(5), Command lines)."""

import re

from hypothesis import given
from hypothesis import strategies as st

from rtscope.tuning.unit import systemd_unit

WORD = re.compile(r'"((?:[^"\\]|\\.)*)"')


def as_systemd_reads(line: str) -> list[str]:
    """Its quotes and backslashes, then % specifiers and $ variables, of which it knows only %% and
    $$ here."""
    words = [re.sub(r"\\(.)", r"\1", word) for word in WORD.findall(line)]
    assert not any(re.search(r"%(?!%)", word.replace("%%", "")) for word in words)
    assert not any("$" in word.replace("$$", "") for word in words)
    return [word.replace("%%", "%").replace("$$", "$") for word in words]


def command(*arguments: str) -> str:
    text = systemd_unit("ours", "/opt/a b/rtscope-agent", arguments)
    (line,) = re.findall(r"^ExecStart=(.*)$", text, re.MULTILINE)
    return str(line)


def test_words_with_blanks_and_signs_stay_words() -> None:
    assert command("tune", 'thread name=a%b$c"d\\e cpus=1') == (
        '"/opt/a b/rtscope-agent" "tune" "thread name=a%%b$$c\\"d\\\\e cpus=1"'
    )


@given(st.lists(st.text(st.characters(categories=["L", "N", "P", "S", "Zs"])), max_size=4))
def test_whatever_a_profile_says_reaches_the_agent(words: list[str]) -> None:
    assert as_systemd_reads(command(*words)) == ["/opt/a b/rtscope-agent", *words]
