# SPDX-License-Identifier: GPL-2.0-only
"""A self-contained page with charts, which opens with no network.

Untrusted text (host names, kernel command lines, imported files) reaches the page only through
jinja's autoescape and `svg.py`'s own. A Content-Security-Policy allows the one script of the page
by its hash and no connection at all, so that a hole in the above would still execute nothing.
"""

import base64
import hashlib
from importlib.resources import files

import jinja2

from rtscope.report.page.svg import figure
from rtscope.report.tables.column import rows_of
from rtscope.wording.budget import judgement_sentence
from rtscope.wording.plain import plain
from rtscope.wording.values import count_text, quantile_text, time_text


def render_page(template: str, **values: object) -> str:
    """The page that `template` makes of `values`."""
    folder = files("rtscope.report.page") / "templates"
    script = (folder / "chart.js").read_text(encoding="utf-8")
    environment = jinja2.Environment(
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        loader=jinja2.FunctionLoader(lambda name: (folder / name).read_text(encoding="utf-8")),
    )
    environment.filters.update(
        time=time_text,
        count=count_text,
        quantile=quantile_text,
        plain=plain,
        figure=figure,
        judgement=judgement_sentence,
    )
    environment.globals["rows_of"] = rows_of
    styles = [(folder / name).read_text(encoding="utf-8") for name in ("page.css", "chart.css")]
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    return environment.get_template(template).render(
        values, style="".join(styles), script=script, script_hash=f"'sha256-{digest}'"
    )
