# SPDX-License-Identifier: GPL-2.0-only
"""A man page in the language of man(7)."""

import re
import textwrap
from collections.abc import Iterable
from typing import Final

from rtscope import __version__

_SIGNS: Final = {
    "\\": "\\e", "-": "\\-", "'": "\\(aq", '"': "\\(dq", "`": "\\(ga", "^": "\\(ha", "~": "\\(ti",
}  # fmt: skip
_CODE: Final = re.compile(r"`([^`\n]+)`")


def escaped(text: str) -> str:
    """Return text so that it appears as it is and can be pasted."""
    return "".join(_SIGNS.get(sign, sign) for sign in text)


def bold(text: str) -> str:
    """Return text in bold, for what a reader types: its words are never hyphenated."""
    words = " ".join("\\%" + escaped(word) for word in text.split(" "))
    return f"\\fB{words}\\fR"


def italic(text: str) -> str:
    """Return text in italics."""
    return f"\\fI{escaped(text)}\\fR"


def marked(text: str) -> str:
    """Return text whose `code` is bold."""
    parts = _CODE.split(text)
    return "".join(bold(part) if at % 2 else escaped(part) for at, part in enumerate(parts))


def form(text: str) -> str:
    """Return the form of an option, such as "-a, --cpus LIST": names bold, values in italics."""
    return " ".join(bold(word) if word.startswith("-") else italic(word) for word in text.split())


class Page:
    """A page that is written from its top to its end. Text of the methods is roff."""

    def __init__(self, name: str, section: int, date: str, summary: str) -> None:
        """Begin with the name and a summary in a few words, which are not roff."""
        self.name, self.section = name, section
        self._lines = [
            f'.TH {escaped(name.upper())} {section} {date} "rtscope {__version__}" "rtscope"',
            ".ad l",
        ]
        self._fresh = False
        """whether nothing follows the last heading, where a paragraph needs no macro"""
        self.heading("NAME")
        self.text(f"{escaped(name)} \\- {escaped(summary)}")

    def heading(self, text: str, level: int = 1) -> None:
        """Begin a section, or a part of one."""
        self._lines.append(f'.{"SH" if level == 1 else "SS"} "{text}"')
        self._fresh = True

    def paragraph(self) -> None:
        """Begin a paragraph."""
        if not self._fresh:
            self._lines.append(".PP")
        self._fresh = True

    def text(self, text: str) -> None:
        """Write filled text."""
        filled = textwrap.wrap(text, 79, break_long_words=False, break_on_hyphens=False)
        self._lines += [f"\\&{line}" if line.startswith((".", "'")) else line for line in filled]
        self._fresh = False

    def item(self, tag: str, text: str) -> None:
        """Write a tag and, indented below it, text."""
        self._lines += [".TP", tag]
        self.text(text or "\\&")

    def line_break(self) -> None:
        """End a line within a paragraph."""
        self._lines.append(".br")

    def bullet(self, mark: str, width: int) -> None:
        """Begin an item of a list."""
        self._lines.append(f".IP {mark} {width}")
        self._fresh = True

    def indent(self) -> None:
        """Indent what follows."""
        self._lines.append(".RS 4")
        self._fresh = True

    def dedent(self) -> None:
        """End an indentation."""
        self._lines.append(".RE")
        self._fresh = False

    def example(self, lines: Iterable[str]) -> None:
        """Write lines as they are, which are not roff."""
        self.paragraph()
        self.indent()
        self._lines.append(".EX")
        for line in lines:
            text = escaped(line)
            self._lines.append(f"\\&{text}" if text.startswith((".", "\\(aq")) else text)
        self._lines.append(".EE")
        self.dedent()

    def see_also(self, pages: Iterable[tuple[str, int]]) -> None:
        """End with the names of other pages."""
        self.heading("SEE ALSO")
        others = [f"{bold(name)}({section})" for name, section in pages if name != self.name]
        self.text(", ".join(others))

    def source(self) -> str:
        """Return the page."""
        return "\n".join(self._lines) + "\n"
