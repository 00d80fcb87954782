# SPDX-License-Identifier: GPL-2.0-only
"""rtscope check on this machine, and how it ends."""

import json
import os
import re
import subprocess
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

from rtscope.audit.audit import RULES, rules_page
from rtscope.model.audit import SEVERITIES
from tests.cli.conftest import COMMAND, Rtscope


@pytest.fixture
def read_once(rtscope: Rtscope, agent_path: Path, tmp_path: Path) -> Rtscope:
    """rtscope with an agent that answers with what it read of this machine the first time.

    Threads of other tests come and go between two readings.
    """
    once = tmp_path / "agent-once"
    answer = tmp_path / "answer"
    once.write_text(
        f'#!/bin/sh\n[ "$1" = machine ] || exec {agent_path} "$@"\n'
        f'[ -e {answer} ] || {agent_path} "$@" > {answer} || exit\ncat {answer}\n'
    )
    once.chmod(0o755)

    def run(*arguments: str, **more: str) -> subprocess.CompletedProcess[str]:
        return rtscope(*arguments, RTSCOPE_AGENT=str(once), **more)

    return run


def test_this_machine_is_told_worst_first(read_once: Rtscope) -> None:
    done = read_once("check")
    assert (done.returncode, done.stderr) == (0, "")
    found = json.loads(read_once("check", "--json").stdout)
    names = [one["rule"] for one in (*found["findings"], *found["unseen"])] + found["sound"]
    assert sorted(names) == sorted(rule.id for rule in RULES)
    ranks = [SEVERITIES.index(one["severity"]) for one in found["findings"]]
    assert ranks == sorted(ranks)
    rows = [line.split()[:2] for line in done.stdout.splitlines()]
    assert [row for row in rows if row[:1] and row[0] in SEVERITIES] == [
        [one["severity"], one["rule"]] for one in found["findings"]
    ]
    detailed = read_once("check", "-v").stdout
    for one in found["findings"]:
        assert one["link"] in detailed.replace("\n", "").replace(" ", "")
    for one in found["unseen"]:
        assert one["rule"] in detailed
    assert detailed.splitlines()[-1].startswith(f"{len(RULES)} rules: ")


def test_the_severity_that_fails_is_the_users(read_once: Rtscope, tmp_path: Path) -> None:
    found = json.loads(read_once("check", "--json").stdout)["findings"]
    worst = min((SEVERITIES.index(one["severity"]) for one in found), default=len(SEVERITIES))
    for rank, severity in enumerate(SEVERITIES):
        assert read_once("check", "--fail-on", severity).returncode == (1 if worst <= rank else 0)
    done = read_once("check", "--fail-on", "high", "--junit", "j.xml", "--sarif", "s.json")
    (run,) = json.loads((tmp_path / "s.json").read_text())["runs"]
    assert [one["ruleId"] for one in run["results"]] == [one["rule"] for one in found]
    failures = ET.parse(tmp_path / "j.xml").findall(".//failure")
    assert len(failures) == sum(one["severity"] in ("fatal", "high") for one in found)
    assert done.returncode == bool(failures)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("--fail-on", "worst"), "--fail-on is one of fatal, high, medium, info, not 'worst'"),
        (("--target", "moon"), "'moon' cannot be reached"),
        (("--sarif", "no/where.json"), "there is no directory no"),
        (("--junit", "kept.xml"), "kept.xml exists"),
    ],
)
def test_what_cannot_be_is_a_sentence(
    rtscope: Rtscope, tmp_path: Path, arguments: tuple[str, ...], words: str
) -> None:
    (tmp_path / "kept.xml").write_text("kept")
    done = rtscope("check", *arguments)
    assert (done.returncode, done.stdout) == (2, "")
    assert words in done.stderr
    assert (tmp_path / "kept.xml").read_text() == "kept"


def test_the_limits_are_those_of_whoever_looks(environment: dict[str, str]) -> None:
    """Root without capabilities has every user's limits."""
    fewer = ["setpriv", "--bounding-set=-all", "--inh-caps=-all"] if os.geteuid() == 0 else []
    limited = [*fewer, "prlimit", "--rtprio=0", "--memlock=65536", "--rttime=200000"]
    done = subprocess.run(
        [*limited, *COMMAND, "check", "--json"],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
        env=environment,
    )
    assert done.returncode == 0, done.stderr
    told = {one["rule"]: one["found"] for one in json.loads(done.stdout)["findings"]}
    assert "may not use a real-time priority" in told["limits-priority"]
    assert "65536 bytes" in told["limits-memory"]
    assert "200000 us in real time" in told["limits-timeout"]


def test_help_shows_examples_and_the_page_has_every_rule(rtscope: Rtscope) -> None:
    text = rtscope("check", "--help").stdout
    assert "rtscope check --fail-on high --junit check.xml" in text
    page = (Path(__file__).parents[2] / "docs" / "check.md").read_text()
    _, mark, listed = page.partition("## The rules\n\n")
    assert mark
    assert listed == rules_page(), "the page should end with what rtscope check --rules prints"
    assert rtscope("check", "--rules").stdout == rules_page()
    assert len(re.findall(r"^\*\*\S+\*\* \(", listed, re.MULTILINE)) == len(RULES)
