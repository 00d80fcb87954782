"""How people name a run: an id or its beginning, last, last~2, or a file."""

from pathlib import Path

from rtscope.model.errors import RtscopeError
from rtscope.model.run import Run
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
