# SPDX-License-Identifier: GPL-2.0-only
"""A run that cannot be explained is kept as it was measured, and the reason is told."""

import signal

import pytest

from rtscope.cli.explain import with_explanations
from rtscope.cli.interrupt import Interrupt
from rtscope.engine.explain import Heard
from rtscope.model.request import Request
from rtscope.target.local import LOCAL
from tests.measured import run_of, thread_of

RUN = run_of(thread_of([1000, 2000]))


def test_the_reason_is_told_and_the_run_is_as_it_was(capsys: pytest.CaptureFixture[str]) -> None:
    run, told = with_explanations(RUN, Heard(), Request(), LOCAL, 1, Interrupt(), quiet=True)

    assert (run, told) == (RUN, False)
    said = " ".join(capsys.readouterr().err.split())
    assert "the worst samples are not explained: --explain cannot look into local" in said


def test_who_interrupted_the_run_waits_for_no_other() -> None:
    interrupt = Interrupt()
    interrupt(signal.SIGINT, None)

    assert with_explanations(RUN, Heard(), Request(), LOCAL, 1, interrupt, quiet=True) == (
        RUN,
        False,
    )
