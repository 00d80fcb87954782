# SPDX-License-Identifier: GPL-2.0-only
"""An experiment that is broken off is gone on with: no cell is repeated and none is lost."""

from collections import Counter
from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Barrier, Event

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rtscope.engine.cells import Cell, cells_of
from rtscope.engine.planfile import parse_plan
from rtscope.engine.runner import Experiment, Outcome, open_experiment, run_cells
from rtscope.model.errors import RtscopeError
from rtscope.model.machine import Machine
from rtscope.model.run import Run, Status
from rtscope.store.database import list_runs, new_run_id, save
from tests.measured import run_of, thread_of

Measure = Callable[[Cell], Run]
BOARD = run_of().machine


class CrashError(Exception):
    """The end of the process, at any place."""


def plan(count: int = 6, text: str = "") -> list[Cell]:
    loads = [f"cpu:{number}" for number in range(1, count + 1)]
    text = f'title = "x"\n{text}\n[[measure]]\nprobes = ["cyclic"]\nloads = {loads}\nsamples = 1'
    return cells_of(parse_plan(text, Path("plan.toml")))


def measured(cell: Cell, status: Status = "complete") -> Run:
    return run_of(thread_of([1000]), id=new_run_id(), load=cell.request.load, status=status)


def opened(
    cells: list[Cell], store: Path, machine: Machine = BOARD, *, fresh: bool = False
) -> Experiment:
    return open_experiment(cells, lambda target: machine, fresh=fresh, store=store)


def go_on(
    cells: list[Cell],
    store: Path,
    measure: Measure,
    after_saving: Callable[[], None] = lambda: None,
    machine: Machine = BOARD,
) -> list[Outcome]:
    """One start of `rtscope run`, to its end or to a crash."""

    def keep(run: Run) -> None:
        save(run, store)
        after_saving()

    experiment = opened(cells, store, machine)
    return list(run_cells(experiment, measure, keep, lambda: False))


def crash_after_one(cells: list[Cell], store: Path) -> None:
    """One start that measures the first cell and crashes at the second."""

    def measure(cell: Cell) -> Run:
        if cell is cells[1]:
            raise CrashError
        return measured(cell)

    with pytest.raises(CrashError):
        go_on(cells, store, measure)


class Fuse:
    """Crashes at the nth time that a place is passed, once."""

    def __init__(self, place: str, times: int) -> None:
        self.place = place
        self.times = times

    def passing(self, place: str) -> None:
        self.times -= place == self.place
        if place == self.place and self.times < 0:
            raise CrashError


PLACES = ["before measuring", "after measuring", "after saving"]


@given(
    st.integers(1, 6), st.lists(st.tuples(st.sampled_from(PLACES), st.integers(0, 5)), max_size=9)
)
def test_no_cell_is_repeated_and_none_is_lost_wherever_it_crashes(
    count: int, crashes: list[tuple[str, int]]
) -> None:
    cells = plan(count)
    finished: Counter[str] = Counter()
    lost = 0
    with TemporaryDirectory() as folder:
        store = Path(folder) / "runs.sqlite"
        for place, times in [*crashes, ("never", 0)]:
            fuse = Fuse(place, times)

            def measure(cell: Cell, fuse: Fuse = fuse) -> Run:
                fuse.passing("before measuring")
                finished[cell.name] += 1
                fuse.passing("after measuring")
                return measured(cell)

            try:
                go_on(cells, store, measure, partial(fuse.passing, "after saving"))
            except CrashError:
                lost += place == "after measuring"
            if len(list_runs(store=store)) == count:
                break
        held = list_runs(store=store)
        assert sorted(run.cell for run in held) == sorted(cell.name for cell in cells)
        assert len({run.experiment for run in held}) == 1
        assert finished.total() == count + lost


@pytest.mark.parametrize(
    ("status", "again"),
    [("complete", False), ("watchdog", False), ("interrupted", True), ("failed", True)],
)
def test_a_cell_that_was_interrupted_is_measured_again_and_kept_besides(
    tmp_path: Path, status: Status, again: bool
) -> None:
    store, cells = tmp_path / "s", plan(2)
    first = cells[0].name
    statuses: list[Status] = [status, "interrupted"]
    go_on(cells, store, lambda cell: measured(cell, statuses[cell.name != first]))
    second = go_on(cells, store, measured)
    assert [outcome.cell.name for outcome in second] == [cell.name for cell in cells][not again :]
    assert len(list_runs(store=store)) == 2 + len(second)


def test_only_the_same_plan_is_gone_on_with_and_only_unless_it_is_to_be_fresh(
    tmp_path: Path,
) -> None:
    store, cells = tmp_path / "s", plan(3)
    crash_after_one(cells, store)
    assert len(opened(cells, store).left) == 2
    assert len(opened(plan(3, "description = 'other'"), store).left) == 2
    assert len(opened(plan(3, "seed = 2"), store).left) == 3
    assert len(opened(plan(4), store).left) == 4
    fresh = opened(cells, store, fresh=True)
    assert len(fresh.left) == 3
    assert fresh.id != opened(cells, store).id


@pytest.mark.parametrize(
    ("field", "said"),
    [
        ("hostname", "host was board, is other"),
        ("command_line", "kernel command line was unknown, is other"),
    ],
)
def test_each_machine_has_an_experiment_of_its_own(tmp_path: Path, field: str, said: str) -> None:
    store, cells = tmp_path / "s", plan(2)
    other = msgspec.structs.replace(BOARD, **{field: "other"})
    crash_after_one(cells, store)
    (held,) = list_runs(store=store)
    new = opened(cells, store, other)
    assert (new.elsewhere, new.differences, new.done) == (held.experiment, [said], {})
    assert new.id != held.experiment

    def there(cell: Cell) -> Run:
        return msgspec.structs.replace(measured(cell), machine=other)

    for outcome in run_cells(new, there, lambda run: None, lambda: False):
        assert outcome.run
        save(outcome.run, store)
    again = opened(cells, store)
    assert (again.id, list(again.done)) == (held.experiment, [cells[0].name])
    assert opened(cells, store, other).finished == new.id


def test_the_latest_of_two_unfinished_experiments_is_gone_on_with(tmp_path: Path) -> None:
    store, cells = tmp_path / "s", plan(3)
    for done in (cells[:2], cells[2:]):
        experiment = opened(cells, store, fresh=True)
        for cell in done:
            tag = {"experiment": experiment.id, "cell": cell.name}
            save(msgspec.structs.replace(measured(cell), **tag), store)
    latest = opened(cells, store)
    assert latest.id == experiment.id
    assert latest.left == cells[:2]


class UneventfulLab:
    """One that measures nothing unexpected, and shows nothing."""

    at_once = 2

    def takes(self, cell: Cell) -> bool:
        return cell.target.startswith("vm:")

    def begin(self, cells: Iterable[Cell]) -> None:
        pass

    def measure(self, cell: Cell) -> Run:
        return measured(cell)

    def tick(self) -> None:
        pass

    def interrupt(self) -> None:
        raise AssertionError("nothing unexpected happens here")


def test_the_labs_cells_are_measured_side_by_side_after_the_real_machines() -> None:
    # The second waits for the first: one after the other they would never end.
    both = Barrier(2, timeout=30)
    order: list[str] = []

    class Lab(UneventfulLab):
        def begin(self, cells: Iterable[Cell]) -> None:
            order.extend(f"begin {cell.target}" for cell in cells)

        def measure(self, cell: Cell) -> Run:
            both.wait()
            if cell.name == cells[1].name:
                raise RtscopeError("the guest panicked")
            return measured(cell)

        def tick(self) -> None:
            order.append("tick")

    def measure(cell: Cell) -> Run:
        order.append(cell.target)
        return measured(cell)

    cells = [
        msgspec.structs.replace(cell, target=target)
        for cell, target in zip(plan(3), ["vm:a", "vm:a", "local"], strict=True)
    ]
    kept: list[Run] = []
    experiment = Experiment("x", cells, {})
    outcomes = [*run_cells(experiment, measure, kept.append, lambda: False, Lab())]
    assert order[:4] == ["local", "begin vm:a", "begin vm:a", "tick"]
    failures = [outcome.failure for outcome in outcomes if outcome.failure]
    assert failures == ["the guest panicked"]
    assert [run.target for run in kept] == ["local", "vm:a"]


def test_a_cell_whose_vm_was_still_booting_at_the_end_is_not_begun() -> None:
    stopped = Event()

    class Lab(UneventfulLab):
        def measure(self, cell: Cell) -> Run:
            stopped.set()
            raise RtscopeError("interrupted while the guest was booting")

    experiment = Experiment("x", [msgspec.structs.replace(plan(1)[0], target="vm:a")], {})
    assert not [*run_cells(experiment, measured, lambda run: None, stopped.is_set, Lab())]


def test_what_nobody_expected_of_one_of_the_labs_cells_ends_the_others() -> None:
    ended = Event()

    class Lab(UneventfulLab):
        def measure(self, cell: Cell) -> Run:
            if cell.name == cells[0].name:
                raise CrashError
            assert ended.wait(30), "nobody interrupted it"
            return measured(cell)

        def interrupt(self) -> None:
            ended.set()

    cells = [msgspec.structs.replace(cell, target="vm:a") for cell in plan(8)]
    with pytest.raises(CrashError):
        list(
            run_cells(Experiment("x", cells, {}), measured, lambda run: None, lambda: False, Lab())
        )
    assert ended.is_set()
