# SPDX-License-Identifier: GPL-2.0-only
"""The table of man pages."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from rtscope.manual.agent import SUMMARY, write_agent
from rtscope.manual.command import commands, summary_of, write_command
from rtscope.manual.markdown import write_reference
from rtscope.manual.roff import Page
from rtscope.target.description import our_description

_AGENT: Final = "rtscope-agent"


@dataclass(frozen=True)
class Reference:
    """A page from a document of docs/reference."""

    name: str
    section: int
    document: str
    summary: str
    chapter: str | None = None
    """the only chapter of the document that the page has"""


REFERENCES: Final = (
    Reference("rtscope-formats", 5, "formats.md", "run files, and formats of other programs"),
    Reference("rtscope-plan", 5, "plans.md", "matrices of measurements"),
    Reference("rtscope-profile", 5, "tune.md", "settings of rtscope tune", chapter="Profiles"),
    Reference("rtscope-protocol", 5, "protocol.md", "lines that rtscope-agent writes"),
)


def pages(docs: Path, date: str) -> Iterator[Page]:
    """Yield every page. `docs` is the folder of the documents, `date` that of the release."""
    known = {one.document: (one.name, one.section) for one in REFERENCES}
    contexts = {_name(words): context for words, context in commands() if _name(words) != _AGENT}
    names = [*((name, 1) for name in contexts), (_AGENT, 1), *known.values()]
    for name, context in contexts.items():
        page = Page(name, 1, date, summary_of(context))
        write_command(page, context)
        page.see_also(_related(name, names))
        yield page
    page = Page(_AGENT, 1, date, SUMMARY)
    write_agent(page, our_description())
    page.see_also([("rtscope", 1), ("rtscope-protocol", 5), ("rtscope-tune", 1)])
    yield page
    for one in REFERENCES:
        page = Page(one.name, one.section, date, one.summary)
        write_reference(page, (docs / "reference" / one.document).read_text(), one.chapter, known)
        page.see_also([("rtscope", 1), *known.values()])
        yield page


def _name(words: tuple[str, ...]) -> str:
    return "-".join(("rtscope", *words))


def _related(name: str, names: list[tuple[str, int]]) -> list[tuple[str, int]]:
    """Return the page above a command's, those right below it, and the formats."""
    above = name.rpartition("-")[0]
    formats = [one for one in names if one[1] != 1]
    below = [one for one in names if one[0].rpartition("-")[0] == name and one[1] == 1]
    return [*([(above, 1)] if above else []), *below, *formats]
