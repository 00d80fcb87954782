# SPDX-License-Identifier: GPL-2.0-only
"""An ensemble holds each of its runs by the seed, and all their samples together."""

from collections.abc import Iterator
from contextlib import contextmanager
from threading import Event

import msgspec
import pytest

from rtscope.engine.agent_group import AgentGroup
from rtscope.engine.ensemble import measure_ensemble, union
from rtscope.model.errors import RtscopeError
from rtscope.model.histogram import Histogram
from rtscope.model.machine import Machine
from rtscope.model.request import AgentRequest, Request
from rtscope.model.run import LoadWork, Run, RunWarning, Sample
from rtscope.report.page.report import html_report
from rtscope.report.tables.ensemble import member_columns
from rtscope.statistics.ensemble import mean_of_members
from rtscope.store.runfile import check_run
from rtscope.target.agent import Capabilities
from rtscope.target.bounds import Span
from rtscope.target.protocol import AnyLine
from rtscope.wording.ensemble import member_lines
from tests import measured
from tests.measured import thread_of


def run_of(latencies_ns: list[int], status: str = "complete") -> Run:
    thread = msgspec.structs.replace(
        thread_of(latencies_ns), missed=1, worst=[Sample(5, max(latencies_ns))]
    )
    loads = [LoadWork("ipc", 1, 7, 2.0, {"messages": 5})]
    warnings = [RunWarning("same", "in each")]
    return measured.run_of(thread, status=status, elapsed_ns=10, loads=loads, warnings=warnings)


def test_the_union_holds_all_samples_and_each_run_by_its_seed() -> None:
    one, other = run_of([3000, 4000]), run_of([3500, 9000, 4000])
    together = union([(7, one), (8, other)], 2)
    check_run(together)
    (thread,) = together.threads

    assert together.status == "complete"
    assert (thread.count, thread.missed, thread.min_ns, thread.max_ns) == (5, 2, 3000, 9000)
    assert thread.histogram == Histogram.of([3000, 4000, 3500, 9000, 4000])
    assert thread.mean_ns == pytest.approx(4700)
    assert [sample.latency_ns for sample in thread.worst] == [9000]
    assert together.elapsed_ns == 20
    assert together.loads == [LoadWork("ipc", 1, None, 4.0, {"messages": 10})]
    assert len(together.warnings) == 1
    assert [(member.seed, member.threads) for member in together.members] == [
        (7, one.threads),
        (8, other.threads),
    ]
    assert together.id not in {one.id, other.id}
    assert union([(1, run_of([1])), (2, run_of([2], "watchdog"))], 2).status == "watchdog"
    assert union([(1, run_of([1]))], 2).status == "interrupted"


def test_reports_show_each_seed_and_the_mean_of_all_with_its_limits() -> None:
    together = union([(7, run_of([3000])), (8, run_of([5000]))], 2)
    columns = {column.title: column.cells for column in member_columns(together)}

    assert columns["seed"] == ["7", "8"]
    assert columns["max"] == ["3.00 us", "5.00 us"]
    assert "4.00 us on average" in member_lines(together)[1]
    assert "3.00 us to 5.00 us over 2 seeds" in member_lines(together)[1]
    # t(2, 97.5 %) = 4.3027, and the standard error is 1 / sqrt(3).
    interval = mean_of_members([1.0, 2.0, 3.0]).interval
    assert (interval.low_ns, interval.high_ns) == pytest.approx((-0.48414, 4.48414), abs=1e-4)
    assert mean_of_members([5.0]).interval.low_ns is None
    page = html_report([together])
    assert "Each seed" in page
    assert "over 2 seeds" in page
    assert "Each seed" not in html_report([run_of([3000])])


def test_agents_are_interrupted_together_with_those_that_come_late() -> None:
    class Stopped:
        reported = ""

        def interrupt(self) -> None:
            self.reported += "interrupt "

        def kill(self) -> None:
            self.reported += "kill "

    agents, early, late = AgentGroup(), Stopped(), Stopped()
    agents.watch(early)
    agents.interrupt()
    agents.watch(late)
    agents.kill()
    assert (early.reported, late.reported) == ("interrupt kill ", "interrupt kill ")


@pytest.mark.parametrize("failure", [RtscopeError("no disk"), ZeroDivisionError()])
def test_a_member_that_fails_ends_the_others(failure: Exception) -> None:
    agents, waiting = AgentGroup(), Event()

    class Member:
        def __init__(self, seed: int | None) -> None:
            self.seed = seed
            self.ended = Event()

        def interrupt(self) -> None:
            self.ended.set()

        def kill(self) -> None:
            self.ended.set()

        def lines(self, silence_limit_s: float, span: Span = Span()) -> Iterator[AnyLine]:
            if self.seed == 1:
                assert waiting.wait(30)
                raise failure
            waiting.set()
            assert self.ended.wait(30), "nobody interrupted it"
            raise RtscopeError("interrupted")
            yield

        def lab(self) -> None:
            return None

    class Place:
        name = "vm:x"
        capabilities = Capabilities()

        @contextmanager
        def started_agent(self, request: AgentRequest) -> Iterator[Member]:
            assert isinstance(request, Request)
            yield Member(request.seed)

        def machine_files(self, on_start: object) -> dict[str, str | bytes]:
            return {}

    with pytest.raises(type(failure)):
        measure_ensemble(Request(), [1, 2, 3, 4], Machine(), agents, lambda run: None, Place(), 4)
    assert agents.interrupted
