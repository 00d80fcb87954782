# SPDX-License-Identifier: GPL-2.0-only
"""Which threads took a program's events goes from the agent's lines into the run."""

import msgspec
import pytest

from rtscope.model.errors import RtscopeError
from rtscope.model.run import Taker
from rtscope.store.runfile import decode_run, encode_run
from tests.engine.test_measure import END, HELLO, START, heard, histogram, thread

TAKERS = [
    {"name": "main", "tid": 4711, "priority": 0, "cpu": None, "count": 1},
    {"name": "signal/3", "tid": 4714, "priority": 10, "cpu": 1, "count": 1},
]


def test_who_took_events_is_in_the_run_and_kept_with_it() -> None:
    run = heard(HELLO, START, thread(takers=TAKERS), histogram(), thread(1), histogram(1), END)
    takers = [Taker("main", 4711, 0, None, 1), Taker("signal/3", 4714, 10, 1, 1)]
    assert [one.takers for one in run.threads] == [takers, []]
    assert decode_run(encode_run(run)) == run


@pytest.mark.parametrize(
    "wrong", [{"count": -1}, {"priority": 100}, {"cpu": -1}, {"name": "x" * 99}]
)
def test_an_impossible_taker_is_refused(wrong: dict[str, object]) -> None:
    with pytest.raises(RtscopeError):
        heard(HELLO, START, thread(takers=[TAKERS[0] | wrong]), histogram(), END)


def test_a_run_without_takers_is_read_as_ever() -> None:
    run = heard(HELLO, START, thread(), histogram(), thread(1), histogram(1), END)
    kept = msgspec.json.decode(encode_run(run))
    for one in kept["threads"]:
        one.pop("takers", None)
    assert decode_run(msgspec.json.encode(kept)) == run
