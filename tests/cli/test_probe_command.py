# SPDX-License-Identifier: GPL-2.0-only
"""A probe's own options are options of `rtscope measure`, from the agent's description."""

import subprocess

import msgspec
import pytest

from rtscope.model.description import Description
from rtscope.store.runfile import decode_run
from rtscope.target.description import our_description
from rtscope.target.local import agent_path
from tests.cli.conftest import Rtscope

PROBES = [probe.name for probe in our_description().probes if not probe.takes_command]


def test_the_description_is_what_the_agent_prints() -> None:
    printed = subprocess.run(
        [agent_path(), "describe"], capture_output=True, check=True, timeout=60
    ).stdout
    assert our_description() == msgspec.json.decode(printed, type=Description)


@pytest.mark.parametrize("probe", PROBES)
def test_help_lists_each_option_of_the_probe_and_only_these(rtscope: Rtscope, probe: str) -> None:
    text = rtscope("measure", probe, "--help").stdout
    _, _, section = text.partition(f"Options of {probe}:")
    found = our_description().probe(probe)
    assert found is not None
    assert all(f"--{option.name} " in section for option in found.options)


@pytest.mark.parametrize(
    "words",
    [
        ["--distance", "10us", "--method=timerfd"],
        ["-d", "10us", "--method", "timerfd"],
        ["-d10us", "-O", "method=timerfd"],
    ],
)
def test_each_form_of_an_option_is_taken(rtscope: Rtscope, words: list[str]) -> None:
    done = rtscope("measure", *words, "-l", "3", "--no-report", "--json", "-q")
    run = decode_run(done.stdout.encode())
    assert (run.asked.options["distance_ns"], run.asked.options["method"]) == (10_000, "timerfd")


@pytest.mark.parametrize("words", [["--phase"], ["--phase", "--no-report"], ["-d"]])
def test_an_option_without_its_value_is_refused_by_name(rtscope: Rtscope, words: list[str]) -> None:
    done = rtscope("measure", *words)
    assert done.returncode == 2
    assert f"{words[0]} needs a value" in done.stderr


def test_an_option_of_another_probe_is_refused_with_the_probes_that_have_it(
    rtscope: Rtscope,
) -> None:
    done = rtscope("measure", "--via", "read")
    assert done.returncode == 2
    assert "async, event" in done.stderr
