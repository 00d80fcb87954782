# SPDX-License-Identifier: GPL-2.0-only
"""The documentation as a site: make site. Sphinx reads this file."""

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]

project = "rtscope"
copyright = "the rtscope developers, GPL-2.0-only"
release = re.findall(r'"(.+)"', (ROOT / "rtscope" / "__init__.py").read_text())[-1]
version = release

extensions = ["myst_parser"]
exclude_patterns = ["pictures"]
source_suffix = {".md": "markdown"}
myst_heading_anchors = 4
# Blocks of code are what a reader types, and what a terminal answers.
highlight_language = "none"
nitpicky = True

html_theme = "furo"
html_title = f"rtscope {release}"
html_static_path: list[str] = []
html_copy_source = False
html_show_sourcelink = False
html_last_updated_fmt = None
html_theme_options = {"source_repository": ""}
