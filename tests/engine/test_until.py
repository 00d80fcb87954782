# SPDX-License-Identifier: GPL-2.0-only
"""How much longer a finished run would have taken to prove a limit."""

import msgspec
import pytest

from rtscope.engine.until import Until, outlooks_of
from rtscope.model.errors import RtscopeError
from rtscope.model.histogram import Histogram
from rtscope.model.progress import Progress, ThreadProgress
from rtscope.model.run import Run
from rtscope.statistics.sequential import decide
from tests.measured import run_of, thread_of

SECOND_NS = 10**9


def run_with(over: int, count: int, seconds: int = 10) -> Run:
    """A run of which so many samples are 80 us late, and the others 5 us."""
    filled = [(5000, count - over), (80_000, over)]
    lower, counts = zip(*[one for one in filled if one[1]], strict=True)
    histogram = Histogram([*lower], [1] * len(lower), [*counts])
    thread = msgspec.structs.replace(
        thread_of([5000]), count=count, histogram=histogram, max_ns=80_000
    )
    return msgspec.structs.replace(run_of(thread), elapsed_ns=seconds * SECOND_NS)


def test_the_time_that_is_missing_proves_the_limit_at_the_same_rate() -> None:
    (told,) = outlooks_of(run_with(5, 1000), ["p99<50us"])
    assert (told.decision, told.limit) == ("open", "p99<50us")
    assert told.more_ns is not None
    times = (told.more_ns + 10 * SECOND_NS) / (10 * SECOND_NS)
    assert decide(round(5 * times), round(1000 * times) + 1, 0.01) == "proven"
    assert decide(round(5 * 0.95 * times), round(950 * times), 0.01) == "open"


@pytest.mark.parametrize(
    ("over", "count", "decision"),
    [(0, 1000, "proven"), (60, 1000, "hopeless"), (10, 1000, "open")],
)
def test_a_limit_that_is_decided_or_never_will_be_needs_no_time(
    over: int, count: int, decision: str
) -> None:
    (told,) = outlooks_of(run_with(over, count), ["p99<50us"])
    assert (told.decision, told.more_ns) == (decision, None)


def test_a_rate_is_proven_in_hours() -> None:
    (told,) = outlooks_of(run_with(0, 3_600_000, seconds=3600), ["rate(>50us)<1/h"])
    assert told.decision == "open"
    assert told.more_ns is not None
    assert told.more_ns / 3600e9 == pytest.approx(3.1, abs=0.1)


def test_a_finished_run_is_judged_as_its_progress_was() -> None:
    run = run_with(3, 2000)
    (thread,) = run.threads
    gained = [(5000, 1997), (80_000, 3)]
    until = Until(["p99.5<50us"])
    until.receive(Progress(10 * SECOND_NS, [ThreadProgress(thread.thread, 2000, gained=gained)]))
    assert until.outlooks() == outlooks_of(run, ["p99.5<50us"])


def test_samples_that_no_bucket_has_may_be_beyond_the_limit() -> None:
    run = run_with(0, 2000)
    whole = msgspec.structs.replace(run.threads[0], count=2100)
    (told,) = outlooks_of(msgspec.structs.replace(run, threads=[whole]), ["p99<50us"])
    assert (told.decision, told.more_ns) == ("open", None)


def test_a_run_without_its_time_is_refused() -> None:
    run = msgspec.structs.replace(run_with(0, 2000), elapsed_ns=None)
    with pytest.raises(RtscopeError, match="not recorded"):
        outlooks_of(run, ["p99<50us"])
