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


def test_this_system_is_reported_worst_first_and_fails_from_the_users_severity_on(
    rtscope: Rtscope, agent_path: Path, tmp_path: Path
) -> None:
    """The agent answers each time with its first reading: other tests' threads come and go."""
    once, answer = tmp_path / "agent-once", tmp_path / "answer"
    once.write_text(
        f'#!/bin/sh\n[ "$1" = machine ] || exec {agent_path} "$@"\n'
        f'[ -e {answer} ] || {agent_path} "$@" > {answer} || exit\ncat {answer}\n'
    )
    once.chmod(0o755)
    done = rtscope("check", RTSCOPE_AGENT=str(once))
    assert (done.returncode, done.stderr) == (0, "")
    all_found = json.loads(rtscope("check", "--json", RTSCOPE_AGENT=str(once)).stdout)
    found, unseen = all_found["findings"], all_found["unseen"]
    names = [one["rule"] for one in (*found, *unseen)] + all_found["sound"]
    assert sorted(names) == sorted(rule.id for rule in RULES)
    ranks = [SEVERITIES.index(one["severity"]) for one in found]
    assert ranks == sorted(ranks)
    rows = [line.split()[:2] for line in done.stdout.splitlines()]
    assert [row for row in rows if row[:1] and row[0] in SEVERITIES] == [
        [one["severity"], one["rule"]] for one in found
    ]
    detailed = rtscope("check", "-v", RTSCOPE_AGENT=str(once)).stdout
    unbroken = detailed.replace("\n", "").replace(" ", "")
    assert all(one["link"] in unbroken for one in found)
    assert all(one["rule"] in detailed for one in unseen)
    for rank, severity in enumerate(SEVERITIES):
        words = ("--fail-on", severity, "--junit", "j.xml", "--sarif", "s.json", "--force")
        status = rtscope("check", *words, RTSCOPE_AGENT=str(once)).returncode
        failures = ET.parse(tmp_path / "j.xml").findall(".//failure")
        assert (status, len(failures)) == (bool(failures), sum(one <= rank for one in ranks))
    (run,) = json.loads((tmp_path / "s.json").read_text())["runs"]
    assert [one["ruleId"] for one in run["results"]] == [one["rule"] for one in found]
    interval = int(Path("/proc/sys/vm/stat_interval").read_text())
    assert ("memory-statistics" in {one["rule"] for one in found}) == (interval < 10)


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


def test_the_limits_are_those_of_the_user_who_checks(environment: dict[str, str]) -> None:
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
    reported = {one["rule"]: one["found"] for one in json.loads(done.stdout)["findings"]}
    assert "may not use a real-time priority" in reported["limits-priority"]
    assert "65536 bytes" in reported["limits-memory"]
    assert "200000 us in real time" in reported["limits-timeout"]


def test_help_shows_examples_and_the_page_has_every_rule(rtscope: Rtscope) -> None:
    text = rtscope("check", "--help").stdout
    assert "rtscope check --fail-on high --junit check.xml" in text
    page = (Path(__file__).parents[2] / "docs" / "reference" / "check.md").read_text()
    _, mark, listed = page.partition("## The rules\n\n")
    assert mark
    assert listed == rules_page(), "the page should end with what rtscope check --rules prints"
    assert rtscope("check", "--rules").stdout == rules_page()
    assert len(re.findall(r"^\*\*\S+\*\* \(", listed, re.MULTILINE)) == len(RULES)
