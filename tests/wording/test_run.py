# SPDX-License-Identifier: GPL-2.0-only
"""Words about several runs."""

import msgspec

from rtscope.model.run import RunWarning
from rtscope.wording.run import warnings_of_all
from tests.measured import run_of, thread_of


def test_a_warning_is_listed_once_with_how_many_runs_have_it() -> None:
    first, other, third = (run_of(thread_of([1000])) for _ in range(3))
    first, other, third = (
        msgspec.structs.replace(run, warnings=[RunWarning("code", text) for text in texts])
        for run, texts in (
            (first, ["all", "two", "two"]),
            (other, ["all"]),
            (third, ["two", "all"]),
        )
    )
    assert warnings_of_all([first, other, third]) == ["all", "two (2 of 3 runs)"]
