# SPDX-License-Identifier: GPL-2.0-only
"""How people name runs: an id or its beginning, last, last~2, a file, or an experiment."""

import contextlib
import re
from pathlib import Path

from rtscope.model.errors import RtscopeError
from rtscope.model.run import FINAL, Run
from rtscope.store import database
from rtscope.store.importer import import_file


def run_named(name: str) -> Run:
    """The run of that name, from the store, or from a file in any format that can be imported.

    Raises RtscopeError where there is none, or where a file holds several.
    """
    path = Path(name)
    if not (path.suffix or "/" in name or path.is_file()):
        return database.load(name)
    runs = import_file(path)
    if len(runs) != 1:
        kinds = ", ".join(run.probe for run in runs)
        raise RtscopeError(
            f"{name} holds {len(runs)} runs ({kinds}): rtscope import it, then name them by id"
        )
    return runs[0]


def newest_explained() -> Run:
    """The newest run, of no experiment, that has explained samples. Raises RtscopeError where there
    is none.
    """
    for row in database.list_runs():
        if row.experiment:
            continue  # such as those of a proof
        with contextlib.suppress(RtscopeError):
            run = database.load(row.id)
            if run.explanations:
                return run
    raise RtscopeError("no run has explained samples: measure with --explain 20 first")


def runs_named(name: str) -> list[Run]:
    """The runs of the experiment whose id begins with `name`, in its plan's order, or the one run.

    Each cell has one: the last that was measured to its end, a partial one where there is no other.
    Raises RtscopeError where there is none, or where several experiments begin so.
    """
    if re.fullmatch(r"[0-9a-f]{1,16}", name) and not Path(name).is_file():
        held = database.list_runs(experiment=name)
        experiments = sorted({run.experiment for run in held})
        if len(experiments) > 1:
            raise RtscopeError(
                f"{len(experiments)} experiments begin with '{name}': {', '.join(experiments)}"
            )
        if held:
            oldest_first = held[::-1]
            chosen = {run.cell: run.id for run in oldest_first}
            chosen |= {run.cell: run.id for run in oldest_first if run.status in FINAL}
            runs = [database.load(run.id) for run in oldest_first if run.id in chosen.values()]
            return sorted(runs, key=lambda run: run.place or 0)
    return [run_named(name)]
