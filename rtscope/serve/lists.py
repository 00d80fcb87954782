# SPDX-License-Identifier: GPL-2.0-only
"""The lists: what got worse, machines, and runs."""

from starlette.requests import Request

from rtscope.serve.entry import together
from rtscope.serve.site import ROWS, Page, Site, page_number, paging
from rtscope.wording.history import measured_text


def worse(site: Site, request: Request) -> Page:
    """What got worse, or better, newest first."""
    number = page_number(request)
    better = request.query_params.get("show") == "better"
    machine = request.query_params.get("machine", "")
    changes, count = site.index.changes(
        better=better, machine=machine, limit=ROWS, offset=(number - 1) * ROWS
    )
    return Page(
        "worse.html.jinja",
        "What got better" if better else "What got worse",
        "worse",
        {
            "groups": together(changes),
            "better": better,
            "machine": machine,
            "paging": paging(request, number, count),
            "measured_text": measured_text,
        },
        {"changes": changes, "count": count},
    )


def machines(site: Site, request: Request) -> Page:
    """The series of all machines, the one with the newest run first."""
    number = page_number(request)
    series = site.index.all_series(limit=ROWS, offset=(number - 1) * ROWS)
    count = site.index.series_count()
    return Page(
        "machines.html.jinja",
        "Machines",
        "machines",
        {"series": series, "paging": paging(request, number, count)},
        {"series": series, "count": count},
    )


def runs(site: Site, request: Request) -> Page:
    """Runs, newest first."""
    number = page_number(request)
    machine = request.query_params.get("machine", "")
    found, count = site.index.runs(machine=machine, limit=ROWS, offset=(number - 1) * ROWS)
    return Page(
        "runs.html.jinja",
        f"Runs of {machine}" if machine else "Runs",
        "runs",
        {"runs": found, "machine": machine, "paging": paging(request, number, count)},
        {"runs": found, "count": count},
    )
