# SPDX-License-Identifier: GPL-2.0-only
"""The man pages show what `--help` shows, and two formatters accept them."""

import os
import re
import subprocess
from html.parser import HTMLParser
from pathlib import Path
from typing import Final

import pytest
from typer.testing import CliRunner

from rtscope.cli.main import app
from rtscope.cli.probe_command import PROBES
from rtscope.manual.command import commands
from rtscope.manual.pages import pages
from rtscope.target.description import our_description

DOCS: Final = Path(__file__).parents[2] / "docs"
EVERY: Final = "OPTIONS OF EVERY PROBE"

Rows = dict[str, str]
"""text by option, argument or command, both without blanks"""


class Sections(HTMLParser):
    """The rows of each section of a page, as mandoc shows them."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.rows: dict[str, Rows] = {}
        self.text: dict[str, str] = {}
        self._heading = self._tag = ""
        self._inside = ""
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag in ("h1", "dt", "dd"):
            self._inside = tag
            self._heading = "" if tag == "h1" else self._heading
            self._tag = "" if tag == "dt" else self._tag

    def handle_endtag(self, tag: str) -> None:
        if tag == "h1":
            self._heading = " ".join(self._heading.split())
        if tag in ("dd", "h1", "dl"):
            self._inside = ""

    def handle_data(self, data: str) -> None:
        words = "".join(data.split()) if self._inside != "h1" else data
        match self._inside:
            case "h1":
                self._heading += words
            case "dt":
                self._tag += words
            case "dd":
                rows = self.rows.setdefault(self._heading, {})
                rows[self._tag] = rows.get(self._tag, "") + words
        if self._inside != "h1":
            self.text[self._heading] = self.text.get(self._heading, "") + words


def help_rows(text: str) -> dict[str, Rows]:
    """The rows of each section of a help text."""
    sections: dict[str, Rows] = {}
    heading = form = ""
    for line in text.replace("`", "").splitlines():
        if line and not line.startswith(" "):
            heading, form = line.removesuffix(":"), ""
        elif heading and (found := re.match(r" {2,6}(\S(?:.*?\S)?)(?: {2,}(.*))?$", line)):
            form = "".join(found[1].split())
            sections.setdefault(heading, {})[form] = "".join((found[2] or "").split())
        elif form:
            sections[heading][form] += "".join(line.split())
    return sections


def named(heading: str) -> str:
    """The heading that a section of the help has in the page."""
    return heading if heading.startswith("Options of") else heading.upper()


def formatted(source: str) -> Sections:
    done = subprocess.run(
        ["mandoc", "-Thtml", "-Ofragment"], input=source, capture_output=True, text=True, check=True
    )
    return Sections(done.stdout)


@pytest.fixture(scope="module")
def written() -> dict[str, str]:
    return {f"{page.name}.{page.section}": page.source() for page in pages(DOCS, "2026-01-31")}


def shown(words: tuple[str, ...]) -> dict[str, Rows]:
    done = CliRunner().invoke(app, [*words, "--help"])
    assert done.exit_code == 0, done.output
    rows = help_rows(done.output)
    return {named(heading): below for heading, below in rows.items() if "Usage" not in heading}


def test_every_command_has_a_page_with_all_that_its_help_shows(written: dict[str, str]) -> None:
    checked = 0
    for words, _ in commands():
        if words == ("agent",):
            continue
        expected = shown(words)
        if words == ("measure",):
            for probe in PROBES:
                own = shown((*words, probe))
                expected |= {name: rows for name, rows in own.items() if probe in name.split()}
                expected |= {
                    name: own[name] for name in own if name.startswith(f"Options of {probe},")
                }
        page = formatted(written["-".join(("rtscope", *words)) + ".1"])
        assert page.rows == expected, words
        checked += len(expected["OPTIONS"])
    assert checked > 200


@pytest.mark.parametrize("name", [one.name for one in our_description().probes])
def test_the_agents_page_has_the_options_of_each_probe(
    name: str, written: dict[str, str], agent_path: Path
) -> None:
    page = formatted(written["rtscope-agent.1"]).rows
    own, every = by_name(page.get(f"Options of {name}", {})), by_name(page[EVERY])
    rows = agent_rows(agent_path, name)
    assert {option: rows[option] for option in own} == own
    probe = our_description().probe(name)
    assert probe
    absent = {f"--{option}" for option, preset in probe.presets.items() if preset is None}
    assert rows.keys() - own.keys() == every.keys() - absent


def test_the_agents_page_has_each_command(written: dict[str, str], agent_path: Path) -> None:
    page = formatted(written["rtscope-agent.1"]).rows
    done = subprocess.run([agent_path, "--help"], capture_output=True, text=True, check=True)
    listed = help_rows("Commands:" + done.stdout.partition("\n")[2])["Commands"]
    assert page["PROBES"] | page["COMMANDS"] == listed
    for command in our_description().commands:
        if command.options:
            own = by_name(page[f"Options of {command.name}"])
            assert own == agent_rows(agent_path, command.name)


def by_name(rows: Rows) -> Rows:
    """Rows by the long name of each option."""
    return {re.findall("--[a-z-]+", form)[0]: text for form, text in rows.items()}


def agent_rows(agent: Path, name: str) -> Rows:
    """The texts in the agent's own help by the long names of the options."""
    done = subprocess.run([agent, name, "--help"], capture_output=True, text=True, check=True)
    rows: Rows = {}
    option = ""
    for line in done.stdout.splitlines():
        if found := re.match(r"  (?:-., |    )(--[a-z-]+)(?: [A-Z]\S*)?(?: +(\S.*))?$", line):
            option = found[1]
            rows[option] = "".join((found[2] or "").split())
        elif option and line.startswith(" " * 20):
            rows[option] += "".join(line.split())
        else:
            option = ""
    return rows


def test_reference_pages_have_the_tables_of_the_documents(written: dict[str, str]) -> None:
    plan = formatted(written["rtscope-plan.5"])
    assert re.match("type:number.*default:1", plan.rows["THE PLAN"]["seed"])
    assert "[[measure]]: one matrix" in plan.rows
    assert set(formatted(written["rtscope-profile.5"]).rows["DESCRIPTION"]) >= {"tasks", "boot"}
    formats = formatted(written["rtscope-formats.5"])
    assert formats.rows["IMPORT"]["oslat-json"] == "file:oslat--jsonprobe:oslat"
    assert "rtscope-plan(5)" in formats.text["SEE ALSO"]


def test_man_and_mandoc_accept_every_page(written: dict[str, str], tmp_path: Path) -> None:
    assert len(written) > 40
    for name, source in written.items():
        page = tmp_path / name
        page.write_text(source)
        assert complaints(page) == "", name
    broken = tmp_path / "broken.1"
    broken.write_text(".TH X 1 2026-01-31\n.SH NAME\nx \\- y\n.nosuch\n")
    assert "nosuch" in complaints(broken)


def complaints(page: Path) -> str:
    """What the two formatters report."""
    environment = os.environ | {"LC_ALL": "C.UTF-8", "MANWIDTH": "80", "MANROFFSEQ": ""}
    commands = (
        ["man", "--warnings", "-E", "UTF-8", "-l", "-Tutf8", "-Z", str(page)],
        ["mandoc", "-Tlint", "-Wwarning", str(page)],
    )
    done = [
        subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
        for command in commands
    ]
    return done[0].stderr + done[1].stdout + done[1].stderr
