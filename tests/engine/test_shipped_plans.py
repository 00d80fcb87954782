# SPDX-License-Identifier: GPL-2.0-only
"""The plans that come with rtscope can be run by this agent, as they are."""

from pathlib import Path

import pytest

from rtscope.engine.cells import cells_of
from rtscope.engine.check import cell_ns, check_cells
from rtscope.engine.planfile import read_plan
from rtscope.model.request import DryRun, Request
from rtscope.target import local, protocol

OF_A_MODULE = {"daq", "event"}
PLANS = Path(__file__).parents[2] / "rtscope" / "plans"


SHIPPED = {"celleb": 8, "gate": 40, "loongson-table-2": 49, "loop-100hz": 12}
SHIPPED |= {"multicore-steps": 40, "quick": 24, "slac-event": 44}
# tests/lab/test_built_kernels.py measures these.
OF_BUILT_KERNELS = {"loop-100hz-kernel", "slac-daq", "rt-against-std"}


@pytest.fixture(autouse=True)
def agent(agent_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RTSCOPE_AGENT", str(agent_path))


def test_all_of_them_are_here_and_in_the_docs() -> None:
    assert {path.stem for path in PLANS.iterdir()} == set(SHIPPED) | OF_BUILT_KERNELS
    docs = (PLANS.parents[1] / "docs" / "reference" / "plans.md").read_text()
    assert all(f"`{name}`" in docs for name in [*SHIPPED, *OF_BUILT_KERNELS])


@pytest.mark.parametrize("name", SHIPPED)
def test_the_agent_takes_every_cell(name: str) -> None:
    file = read_plan(PLANS / f"{name}.toml")
    cells = cells_of(file)
    assert len(check_cells(file, cells)) == len(cells) == SHIPPED[name]
    assert file.plan.description
    if name == "loongson-table-2":
        assert len({cell.request.interval_ns for cell in cells}) == 7
        assert len({cell.request.load for cell in cells}) == 7
        assert {(cell.request.samples, cell.request.priority) for cell in cells} == {(100_000, 80)}


def test_quick_has_every_probe_of_no_module_or_program_and_ends_in_under_two_minutes() -> None:
    file = read_plan(PLANS / "quick.toml")
    cells = cells_of(file)
    starts = check_cells(file, cells)
    assert sum(cell_ns(start) or 10**12 for start in starts.values()) < 100e9
    with local.started_agent(DryRun(Request())) as agent:
        known = protocol.check_hello(next(agent.lines(20))).probes
    assert {cell.request.probe for cell in cells} == set(known) - OF_A_MODULE - {"exec", "response"}
