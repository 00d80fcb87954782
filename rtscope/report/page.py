"""A self-contained page with figures, which opens with no network.

Untrusted text (host names, kernel command lines, imported files) reaches the page only through
jinja's autoescape; the figures' data are JSON in a block that is not a script, with nothing in it
that could end the block. A Content-Security-Policy allows the two scripts of the page by their
hashes and no connection at all, so that a hole in the above would still execute nothing.
"""

import base64
import hashlib
import json
from collections.abc import Mapping
from importlib.resources import files
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import jinja2

from rtscope.model.errors import RtscopeError
from rtscope.report import words
from rtscope.report.columns import rows_of


def render_page(template: str, data: Mapping[str, Any], **values: Any) -> str:  # noqa: ANN401
    """The page that `template` makes of `values`; its figures are drawn from `data`.

    Raises RtscopeError where plotly's script is missing.
    """
    folder = files("rtscope.report") / "templates"
    plotly = _plotly_js()
    script = (folder / "report.js").read_text(encoding="utf-8")
    environment = jinja2.Environment(
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        loader=jinja2.FunctionLoader(lambda name: (folder / name).read_text(encoding="utf-8")),
    )
    environment.filters.update(
        time=words.time_text,
        count=words.count_text,
        quantile=words.quantile_text,
        plain=words.plain,
    )
    environment.globals["rows_of"] = rows_of
    environment.globals["machine_name"] = words.machine_name
    return environment.get_template(template).render(
        values,
        data=json_in_html(data),
        style=(folder / "report.css").read_text(encoding="utf-8"),
        plotly=plotly,
        script=script,
        hashes=" ".join(f"'sha256-{_sha256(text)}'" for text in (plotly, script)),
    )


def json_in_html(value: object) -> str:
    """JSON that cannot end the script block it stands in nor start anything else there."""
    text = json.dumps(value, separators=(",", ":"), allow_nan=False, ensure_ascii=True)
    for character in "<>&":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return text


def _plotly_js() -> str:
    spec = find_spec("plotly")
    for place in (spec.submodule_search_locations or []) if spec else []:
        path = Path(place) / "package_data" / "plotly.min.js"
        if path.is_file():
            return path.read_text(encoding="utf-8")
    raise RtscopeError("the figures need the Python package plotly: run pip install 'plotly>=6'")


def _sha256(text: str) -> str:
    return base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
