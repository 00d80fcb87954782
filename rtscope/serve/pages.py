# SPDX-License-Identifier: GPL-2.0-only
"""Templates, style and script of the pages."""

import hashlib
from importlib.resources import files
from typing import Final

from rtscope.report.page.render import FOLDER, page_environment, script_text, style_text

_OURS: Final = files("rtscope.serve")
_ICON: Final = (
    '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 16 16"><rect width="16" height="16" '
    'rx="3" fill="#0b57a4"/><path d="M2 12h3V5h2v7h3V9h2v3h2" fill="none" stroke="#fff" '
    'stroke-width="1.5"/></svg>'
)


class Pages:
    """Makes pages of templates."""

    def __init__(self, place: str) -> None:
        """Read the templates; `place` names the store."""
        static = _OURS / "static"
        self.files = {
            "style.css": ("text/css", style_text() + (static / "serve.css").read_text("utf-8")),
            "script.js": (
                "text/javascript",
                script_text() + (static / "serve.js").read_text("utf-8"),
            ),
            "icon.svg": ("image/svg+xml", _ICON),
        }
        text = "".join(content for _, content in self.files.values())
        self.version = hashlib.sha256(text.encode()).hexdigest()[:12]
        """part of the addresses of these files, which browsers keep for ever"""
        self._environment = page_environment([_OURS / "templates", FOLDER])
        self._environment.globals.update(static=f"/static/{self.version}", store=place)

    def render(self, template: str, **values: object) -> str:
        """The page that `template` makes of `values`."""
        return self._environment.get_template(template).render(values)
