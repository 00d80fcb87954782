# SPDX-License-Identifier: GPL-2.0-only
"""A self-contained page with charts, which opens with no network.

Untrusted text (host names, kernel command lines, imported files) reaches the page only through
jinja's autoescape and `svg.py`'s own. A Content-Security-Policy allows the one script of the page
by its hash and no connection at all, so that a hole in the above would still execute nothing.
"""

import base64
import hashlib
from collections.abc import Sequence
from importlib.resources import files
from importlib.resources.abc import Traversable
from typing import Final

import jinja2

from rtscope.report.page.svg import figure
from rtscope.report.tables.column import rows_of
from rtscope.wording.budget import judgement_sentence
from rtscope.wording.plain import plain
from rtscope.wording.values import count_text, quantile_text, time_text

FOLDER: Final = files("rtscope.report.page") / "templates"


def page_environment(folders: Sequence[Traversable]) -> jinja2.Environment:
    """Templates of these folders, the first that has one, with the filters of all pages."""

    def load(name: str) -> str | None:
        found = (folder / name for folder in folders)
        return next((one.read_text(encoding="utf-8") for one in found if one.is_file()), None)

    environment = jinja2.Environment(
        autoescape=True, undefined=jinja2.StrictUndefined, loader=jinja2.FunctionLoader(load)
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
    return environment


def style_text() -> str:
    """The style sheets of all pages with charts."""
    return "".join((FOLDER / name).read_text("utf-8") for name in ("page.css", "chart.css"))


def script_text() -> str:
    """The script of all pages with charts."""
    return (FOLDER / "chart.js").read_text("utf-8")


def render_page(template: str, **values: object) -> str:
    """The page that `template` makes of `values`."""
    script = script_text()
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    return (
        page_environment([FOLDER])
        .get_template(template)
        .render(values, style=style_text(), script=script, script_hash=f"'sha256-{digest}'")
    )
