# SPDX-License-Identifier: GPL-2.0-only
"""A code quality report of GitLab CI: a finding for each case that is not a success.

GitLab shows it in a merge request, where it compares the fingerprints with those of the target
branch. A fingerprint is made of the case's name, so the same limit is the same finding in the next
pipeline. GitLab wants a line of a file: it is the first of the pipeline's configuration.
"""

import hashlib
import os
from collections.abc import Sequence

import msgspec

from rtscope.report.exchange.case import Case
from rtscope.report.exchange.states import WORDS


def gitlab_report(cases: Sequence[Case]) -> bytes:
    """The JSON; an empty list if all cases are successes."""
    path = os.environ.get("CI_CONFIG_PATH") or ".gitlab-ci.yml"
    findings = [
        {
            "description": f"{case.name}: {case.reason}",
            "check_name": f"rtscope {case.group}",
            "fingerprint": hashlib.sha256(f"{case.group}\n{case.name}".encode()).hexdigest(),
            "severity": severity,
            "location": {"path": path, "lines": {"begin": 1}},
        }
        for case in cases
        if (severity := WORDS[case.state]["gitlab"]) != "no finding"
    ]
    return msgspec.json.format(msgspec.json.encode(findings), indent=2) + b"\n"
