# SPDX-License-Identifier: GPL-2.0-only
"""The matrices of topology and memory go from the agent's lines into the run."""

import msgspec
import pytest

from rtscope.model.errors import RtscopeError
from rtscope.model.run import Matrix
from rtscope.store.runfile import decode_run, encode_run
from tests.engine.test_measure import END, HELLO, START, heard, histogram, thread

ROWS = [[None, 80.5], [80.5, None]]
LABELS = ["CPU 0", "CPU 1"]
LINE = {
    "type": "matrix", "name": "message", "unit": "ns", "rows": LABELS, "columns": LABELS,
    "value": ROWS, "low": ROWS, "high": ROWS,
}  # fmt: skip
THREADS = (thread(), histogram(), thread(1), histogram(1))


def test_a_matrix_is_in_the_run_and_kept_with_it() -> None:
    run = heard(HELLO, START, *THREADS, LINE, END)
    assert run.matrices == [Matrix("message", "ns", LABELS, LABELS, ROWS, ROWS, ROWS)]
    assert decode_run(encode_run(run)) == run


@pytest.mark.parametrize(
    "wrong",
    [{"value": [[1.0]]}, {"rows": ["CPU 0"]}, {"low": [[-1.0] * 2] * 2}, {"name": "x" * 99}],
)
def test_an_impossible_matrix_is_refused(wrong: dict[str, object]) -> None:
    with pytest.raises(RtscopeError, match=r"matrix|not of protocol"):
        heard(HELLO, START, *THREADS, LINE | wrong, END)


def test_an_agent_that_never_ends_its_matrices_is_refused() -> None:
    with pytest.raises(RtscopeError, match="more than 64 matrices"):
        heard(HELLO, START, *THREADS, *[LINE] * 65, END)


def test_a_run_without_matrices_is_read_as_ever() -> None:
    run = heard(HELLO, START, *THREADS, END)
    kept = msgspec.json.decode(encode_run(run))
    kept.pop("matrices", None)
    assert decode_run(msgspec.json.encode(kept)) == run
