# SPDX-License-Identifier: GPL-2.0-only
"""The page of a placement series: recommendation, findings, curves and values."""

import shlex

from rtscope.model.placement_series import series_of
from rtscope.model.run import Run
from rtscope.report.page.placement_charts import placement_charts
from rtscope.report.page.render import render_page
from rtscope.report.tables.placement_series import table_of
from rtscope.statistics.confidence import LEVEL
from rtscope.statistics.findings import advice_of, findings_of
from rtscope.wording.findings import sentence
from rtscope.wording.fingerprint import fingerprint
from rtscope.wording.placement_series import how_text, laws_of, where_text
from rtscope.wording.plain import plain
from rtscope.wording.run import caveats


def placement_page(run: Run) -> str:
    """The series as a page."""
    series = series_of(run)
    first = [sentence(found).text for found in advice_of(run)]
    more = [sentence(found).text for found in findings_of(run)]
    charts = placement_charts(series)
    facts, details = fingerprint(run)
    return render_page(
        "placement_series.html.jinja",
        title="Who disturbs whom" if series.has_loads else "How it scales",
        where=where_text(run),
        how=how_text(run),
        caveats=caveats(run),
        first=first,
        more=more,
        table=table_of(run),
        laws=list(laws_of(run)),
        charts=charts,
        jitter=not series.has_loads,
        command=plain(shlex.join(run.asked.command)),
        facts=facts,
        details=details,
        level=f"{LEVEL * 100:.0f} %",
    )
