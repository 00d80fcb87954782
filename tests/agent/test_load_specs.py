# SPDX-License-Identifier: GPL-2.0-only
"""What a user may write behind --load, and the sentence that anything else gets."""

import os
import shlex
import subprocess
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

NAMES = ["cpu", "memory", "cache", "files", "disk", "network", "process", "ipc", "video", "timers"]
CPUS = len(os.sched_getaffinity(0))

pieces = st.one_of(
    st.sampled_from([*NAMES, "mixed", "idle", "cmd", "stress-ng", "cmd:", "stress-ng:--cpu 1"]),
    st.sampled_from([":", "+", "'", '"', "\\", " ", "0", "1", "999", "1000", "1001", "4294967297"]),
    st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), max_size=12),
    st.sampled_from(["x" * 5000, "cpu+" * 20, "%s%n"]),
)
specs = st.lists(pieces, max_size=6).map("".join)


def ask(driver: Path, mode: str, inputs: list[str]) -> list[str]:
    done = subprocess.run(
        [driver, mode],
        input="".join(text + "\0" for text in inputs).encode(),
        capture_output=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stderr.decode()
    return done.stdout.decode().splitlines()


@pytest.mark.parametrize(
    ("spec", "parsed"),
    [
        ("idle", []),
        ("cpu", [f"cpu:{CPUS}"]),
        ("files:50+network:1", ["files:50", "network:1"]),
        ("files:1000", ["files:1000"]),
        ("mixed:3", [f"{name}:3" for name in NAMES]),
        ("mixed", [f"{name}:{(CPUS + 3) // 4}" for name in NAMES]),
        ("idle+cpu:1", ["cpu:1"]),
        ("cpu:2+cmd:echo a+b:c", ["cpu:2", "cmd:0"]),
        ("stress-ng:--vm 1 --vm-bytes '64 m'+cpu", ["stress-ng:0"]),
    ],
)
def test_a_spec_asks_for_these_loads(
    checked_load_driver: Path, spec: str, parsed: list[str]
) -> None:
    assert ask(checked_load_driver, "parse", [spec]) == [
        " ".join(["parsed", str(len(parsed)), *parsed])
    ]


@pytest.mark.parametrize(
    ("spec", "sentence"),
    [
        ("fles", "'fles' is not a load: choose from cpu, memory, cache, files, disk, network, "
                 "process, ipc, video, timers, mixed, idle, stress-ng, cmd, and join several by +"),
        ("cpu+", "'' is not a load: choose from"),
        ("cpu:0", "'cpu:0': its strength must be a whole number from 1 to 1000, such as cpu:2"),
        ("cpu:4294967297", "from 1 to 1000"),
        ("mixed:-1", "from 1 to 1000, such as mixed:2"),
        ("idle:2", "'idle' is nothing and has no strength"),
        ("cmd", "needs something to run: write cmd:COMMAND"),
        ("stress-ng:", "needs something to run: write stress-ng:ARGS"),
        ("stress-ng:--cpu '2", "a quote is not closed"),
        ("cmd:" + "x" * 5000, "is longer than 4095 characters: put it in a script"),
        ("mixed+mixed", "at most 16 loads are supported"),
        ("c\x1bpu\nmore", "'c?pu?more' is not a load"),
    ],
)  # fmt: skip
def test_a_bad_spec_gets_a_sentence_and_adds_nothing(
    checked_load_driver: Path, spec: str, sentence: str
) -> None:
    [line] = ask(checked_load_driver, "parse", [spec])
    assert line.startswith("refused 0 ")
    assert sentence in line


@settings(max_examples=40)
@given(inputs=st.lists(specs, max_size=60))
def test_any_spec_is_parsed_or_refused_in_one_printable_line(
    checked_load_driver: Path, inputs: list[str]
) -> None:
    lines = ask(checked_load_driver, "parse", inputs)
    assert len(lines) == len(inputs)
    for line in lines:
        assert line.startswith(("parsed ", "refused 0 "))
        assert line.isascii()
        assert line.isprintable()


@given(
    words=st.lists(
        st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"])), max_size=12
    )
)
def test_arguments_are_split_as_a_shell_splits_them(
    checked_load_driver: Path, words: list[str]
) -> None:
    [line] = ask(checked_load_driver, "words", [shlex.join(words)])
    count, *split = line.split(" ")
    if len(words) > 8:
        assert count == "-1"
    else:
        assert [bytes.fromhex(word.rstrip(".")).decode() for word in split] == words
        assert int(count) == len(words)


@given(text=st.text(alphabet="ab '\"\\\t", max_size=30))
def test_quotes_and_backslashes_mean_what_shlex_says(checked_load_driver: Path, text: str) -> None:
    try:
        words = shlex.split(text)
    except ValueError:
        words = None
    [line] = ask(checked_load_driver, "words", [text])
    count, *split = line.split(" ")
    if words is None or len(words) > 8:
        assert count == "-1"
    else:
        assert [bytes.fromhex(word.rstrip(".")).decode() for word in split] == words
