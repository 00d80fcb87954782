# SPDX-License-Identifier: GPL-2.0-only
"""A reference page of docs/, written in Markdown, as a man page."""

from collections.abc import Iterator, Sequence
from pathlib import PurePosixPath
from typing import Final

from markdown_it import MarkdownIt
from markdown_it.tree import SyntaxTreeNode

from rtscope.manual.roff import Page, bold, escaped, italic

_UNNAMED: Final = ("", "meaning")
"""columns of a table that need no name"""
_PARSER: Final = MarkdownIt("commonmark").enable("table")


def write_reference(
    page: Page, text: str, chapter: str | None, pages: dict[str, tuple[str, int]]
) -> None:
    """Write a document, or one chapter of it. `pages` names the man page of other documents.

    Raises ValueError where the document has no such chapter.
    """
    nodes = SyntaxTreeNode(_PARSER.parse(text)).children
    chosen = list(_chapter(nodes, chapter))
    if not chosen:
        raise ValueError(f"the document has no chapter '{chapter}'")
    writer = _Writer(page, pages)
    if chosen[0].type != "heading":
        page.heading("DESCRIPTION")
    writer.write(chosen)


def _chapter(nodes: Sequence[SyntaxTreeNode], chapter: str | None) -> Iterator[SyntaxTreeNode]:
    """Yield what follows the title, or the heading of this chapter until the next."""
    inside = chapter is None
    for node in nodes:
        if node.type == "heading" and node.tag in ("h1", "h2"):
            if node.tag == "h1":
                continue
            if chapter is not None:
                inside = _plain(node) == chapter
                continue
        if inside:
            yield node


def _plain(node: SyntaxTreeNode) -> str:
    if node.type in ("text", "code_inline"):
        return node.content
    return "".join(_plain(child) for child in node.children)


class _Writer:
    """Writes the nodes of a document to a page."""

    def __init__(self, page: Page, pages: dict[str, tuple[str, int]]) -> None:
        self._page = page
        self._pages = pages

    def write(self, nodes: Sequence[SyntaxTreeNode]) -> None:
        """Write blocks. Raises ValueError where one is of a kind that no page has had so far."""
        for node in nodes:
            match node.type:
                case "heading":
                    self._heading(node)
                case "paragraph":
                    self._page.paragraph()
                    self._page.text(self._inline(node))
                case "fence" | "code_block":
                    self._page.example(node.content.rstrip("\n").splitlines())
                case "bullet_list" | "ordered_list":
                    self._list(node)
                case "table":
                    self._table(node)
                case "html_block":
                    pass  # the comments of `make docs`
                case _:
                    raise ValueError(f"a man page cannot have {node.type}")

    def _heading(self, node: SyntaxTreeNode) -> None:
        code = any(child.type == "code_inline" for child in node.children[0].children)
        text = _plain(node)
        level = 1 if node.tag == "h2" else 2
        self._page.heading(escaped(text if code or level > 1 else text.upper()), level)

    def _list(self, node: SyntaxTreeNode) -> None:
        for number, item in enumerate(node.children, start=1):
            if node.type == "bullet_list":
                self._page.bullet("\\(bu", 2)
            else:
                self._page.bullet(f"{number}.", 4)
            first, *rest = item.children
            self._page.text(self._inline(first))
            if rest:
                self._page.indent()
                self.write(rest)
                self._page.dedent()

    def _table(self, node: SyntaxTreeNode) -> None:
        """Write each row as its first cell and, below it, the others with their columns' names."""
        head, body = node.children
        names = [_plain(cell) for cell in head.children[0].children]
        for row in body.children:
            cells = [self._inline(cell) for cell in row.children]
            tag = cells[0] or "\\&"
            others = [
                text if name in _UNNAMED or len(cells) == 2 else f"{italic(name)}: {text}"
                for name, text in zip(names[1:], cells[1:], strict=True)
                if text
            ]
            self._page.item(tag, others[0] if others else "")
            for other in others[1:]:
                self._page.line_break()
                self._page.text(other)

    def _inline(self, node: SyntaxTreeNode) -> str:
        inside = "".join(self._inline(child) for child in node.children)
        match node.type:
            case "text":
                inside = escaped(node.content)
            case "code_inline":
                inside = bold(node.content)
            case "softbreak" | "hardbreak":
                inside = " "
            case "strong":
                inside = f"\\fB{inside}\\fR"
            case "em":
                inside = f"\\fI{inside}\\fR"
            case "link":
                inside = self._link(node, inside)
            case "html_inline" | "image":
                inside = ""
        return inside

    def _link(self, node: SyntaxTreeNode, text: str) -> str:
        """Return a link as its text, with the man page or the address where it leads."""
        target = str(node.attrs["href"])
        if target.startswith("http"):
            return f"{text} <{escaped(target)}>"
        document = PurePosixPath(target.partition("#")[0]).name
        if page := self._pages.get(document):
            name = f"{bold(page[0])}({page[1]})"
            return name if _plain(node) == document else f"{text} ({name})"
        return text
