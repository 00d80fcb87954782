# SPDX-License-Identifier: GPL-2.0-only
"""A machine over time."""

from typing import Final

from starlette.requests import Request

from rtscope.model.quantity import quantity_of
from rtscope.report.page.chart import floats
from rtscope.serve.entry import together
from rtscope.serve.heatmap import history_chart, kernel_changes, seconds
from rtscope.serve.index import SeriesEntry
from rtscope.serve.indexer import NEWEST
from rtscope.serve.site import NotFoundError, Page, Site
from rtscope.wording.history import measured_text

_RUNS: Final = 20
"""newest ones that are listed"""


def machine(site: Site, request: Request) -> Page:
    """The newest runs of a series of a machine. Raises NotFoundError."""
    name = request.query_params.get("name", "")
    series = site.index.all_series(name) if name else []
    if not series:
        raise NotFoundError(
            f"no complete run of the machine '{name[:60]}' is in the store: see the list of "
            "machines"
        )
    chosen = _chosen(series, request.query_params.get("series", ""))
    heats = site.index.heats(chosen.number, NEWEST)
    entries = [entry for entry, _ in heats]
    changes = site.index.changes_of(chosen.number)
    times = floats([seconds(entry.created) for entry in entries])
    kernels = kernel_changes(entries, times)
    return Page(
        "machine.html.jinja",
        name,
        "machines",
        {
            "name": name,
            "series": series,
            "chosen": chosen,
            "chart": history_chart(heats, changes, quantity_of(chosen.key.probe)),
            "samples": sum(entry.count for entry in entries),
            "entries": entries[::-1][:_RUNS],
            "groups": together(changes),
            "kernels": [entry for _, entry in kernels[::-1]],
            "newest": NEWEST,
            "measured_text": measured_text,
        },
        {"machine": name, "series": series, "shown": chosen, "runs": entries, "changes": changes},
    )


def _chosen(series: list[SeriesEntry], number: str) -> SeriesEntry:
    """The series that is asked for, else the one with the most runs."""
    if not number:
        return max(series, key=lambda one: one.runs)
    found = [one for one in series if str(one.number) == number]
    if not found:
        raise NotFoundError(f"this machine has no series {number[:20]}: choose one of its list")
    return found[0]
