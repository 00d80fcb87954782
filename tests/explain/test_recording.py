# SPDX-License-Identifier: GPL-2.0-only
"""What the plugin wrote is read whole or refused in a sentence, whatever it is."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rtscope.explain.recording import read_recordings
from rtscope.model.errors import RtscopeError
from tests.explain.seen import MAGIC, PLACES, TASKS, Block, recorded

GOOD = MAGIC + recorded(3, [Block("idle_loop", 7), Block("user", 4)]) + recorded(
    9, [Block("user", 5)]
)  # fmt: skip


def test_calls_are_found_by_their_number() -> None:
    found = read_recordings(GOOD)

    assert sorted(found) == [3, 9]
    assert found[3].instructions == 1_000_011
    assert list(found[3].entries["address"]) == [PLACES["idle_loop"], PLACES["user"]]
    assert list(found[3].entries["before"]) == [1_000_000, 1_000_007]
    assert found[9].tasks == TASKS


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"something else",
        GOOD[:-1],
        GOOD[: len(MAGIC) + 8],
        MAGIC + recorded(3, []),
        MAGIC + recorded(3, [Block("user", 1)]) * 2,
        MAGIC + recorded(3, [Block("user", -5), Block("user", 5)]),
    ],
)
def test_what_is_damaged_is_refused_in_a_sentence(data: bytes) -> None:
    with pytest.raises(RtscopeError, match="what the emulator's plugin wrote cannot be read"):
        read_recordings(data)


@given(st.data())
def test_no_bytes_do_any_harm(data: st.DataObject) -> None:
    damaged = bytearray(GOOD[:200])
    for _ in range(data.draw(st.integers(1, 8))):
        place = data.draw(st.integers(0, len(damaged) - 1))
        damaged[place] = data.draw(st.integers(0, 255))
    for tail in (GOOD[200:], b"", data.draw(st.binary(max_size=99))):
        try:
            found = read_recordings(bytes(damaged) + tail)
        except RtscopeError:
            continue
        assert all(len(one.entries) for one in found.values())
