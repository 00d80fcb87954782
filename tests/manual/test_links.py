# SPDX-License-Identifier: GPL-2.0-only
"""Every link between the documents leads to a file, and to a heading in it."""

import re
from itertools import pairwise
from pathlib import Path
from typing import Final

from markdown_it import MarkdownIt
from markdown_it.token import Token

ROOT: Final = Path(__file__).parents[2]
PARSER: Final = MarkdownIt("commonmark").enable("table")


def tokens(text: str) -> list[Token]:
    """All tokens, those within lines too."""
    blocks = PARSER.parse(text)
    return [*blocks, *(one for block in blocks for one in block.children or [])]


def anchors(text: str) -> set[str]:
    """The anchors that code hosts give to the headings."""
    blocks = PARSER.parse(text)
    headings = [line.content for block, line in pairwise(blocks) if block.type == "heading_open"]
    return {re.sub(r"[^\w\- ]", "", line.lower()).replace(" ", "-") for line in headings}


def broken(path: Path, text: str) -> list[str]:
    """The links of a document that lead nowhere."""
    found = []
    for token in tokens(text):
        link = str(token.attrs.get("href") or token.attrs.get("src") or "")
        name, _, anchor = link.partition("#")
        target = path.parent / name if name else path
        if not link or re.match("[a-z]+:", link):
            continue
        if not target.exists() or (anchor and anchor not in anchors(target.read_text())):
            found.append(link)
    return found


def test_links_between_documents_lead_somewhere() -> None:
    documents = [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")]
    assert len(documents) > 40
    wrong = {str(path.relative_to(ROOT)): broken(path, path.read_text()) for path in documents}
    assert {name: links for name, links in wrong.items() if links} == {}


def test_a_broken_link_is_found() -> None:
    text = "[a](nosuch.md) [b](SECURITY.md#nosuch) [c](#this-one) ![d](docs/x.png)\n\n# `This` one"
    assert broken(ROOT / "README.md", text)[:2] == ["nosuch.md", "SECURITY.md#nosuch"]
    assert broken(ROOT / "README.md", text)[-1] == "docs/x.png"
