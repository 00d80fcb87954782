# SPDX-License-Identifier: GPL-2.0-only
"""The HTML report that a command writes of the runs that it measured."""

import sys
from pathlib import Path

from rtscope.cli.streams import complain, told
from rtscope.model.errors import RtscopeError
from rtscope.model.reference import Reference
from rtscope.model.run import Run
from rtscope.report.page.report import html_report
from rtscope.statistics.verdict import Judgement
from rtscope.store.database import report_path
from rtscope.store.files import write_file


def write_report(
    runs: list[Run],
    judgements: list[list[Judgement]],
    name: str,
    chosen: Path | None,
    *,
    json: bool,
    quiet: bool = False,
    reference: Reference | None = None,
) -> bool:
    """Draw runs as the file `chosen`, else reports/`name`.html beside the store; False if not."""
    path = chosen or report_path(name)
    page = html_report(runs, judgements, reference)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        write_file(page.encode(), path, "the report", overwrite=chosen is not None)
    except (OSError, RtscopeError) as error:
        complain(f"{error}; rtscope report makes it anew")
        return False
    if quiet:
        return True
    return told(lambda: print(f"report: {path}", file=sys.stderr if json else sys.stdout))
