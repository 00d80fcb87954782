# SPDX-License-Identifier: GPL-2.0-only
"""Probes: their options, from the agent's description, and runs unlike those of cyclic."""

import ast
import os
import re
import shlex
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import msgspec
import pytest

import rtscope as rtscope_package
from rtscope.model.description import Description
from rtscope.store.runfile import decode_run
from rtscope.target.description import our_description
from rtscope.target.local import agent_path
from tests.cli.conftest import COMMAND, Rtscope

PROBES = [probe.name for probe in our_description().probes if not probe.takes_command]


def test_the_description_is_what_the_agent_prints() -> None:
    printed = subprocess.run(
        [agent_path(), "describe"], capture_output=True, check=True, timeout=60
    ).stdout
    assert our_description() == msgspec.json.decode(printed, type=Description)


@pytest.mark.parametrize("probe", PROBES)
def test_help_lists_each_option_of_the_probe_and_only_these(rtscope: Rtscope, probe: str) -> None:
    text = rtscope("measure", probe, "--help").stdout
    _, _, section = text.partition(f"Options of {probe}")
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


def test_help_of_a_probe_shows_its_ranges_its_defaults_and_the_loads(rtscope: Rtscope) -> None:
    text = " ".join(rtscope("measure", "sched", "--help").stdout.split())
    assert "from 10us to 1h (default unit: us) [default: 5ms]" in text
    assert "N groups of five senders and five receivers, from 1 to 1000" in text
    loop = rtscope("measure", "loop", "--help").stdout
    assert "Options of loop, which needs the kernel module rtloop with --in kernel:" in loop


@pytest.mark.parametrize(
    ("words", "refusal"),
    [
        ("-p 100", "--priority '100' is not a number from 1 to 99"),
        ("-i 5us", "--interval '5us' is not a time from 10us to 1h, such as 1ms"),
        ("--watchdog 1ms", "--watchdog '1ms' is not a time of at least 100ms, such as 10s"),
        ("--policy rr", "--policy 'rr' is not fifo, deadline or other"),
        ("-d", "-d needs a value"),
    ],
)
def test_rtscope_refuses_an_option_in_the_words_of_the_agent(
    rtscope: Rtscope, words: str, refusal: str
) -> None:
    done = rtscope("measure", *words.split())
    assert (done.returncode, refusal in done.stderr) == (2, True), done.stderr
    agent = subprocess.run(
        [agent_path(), "cyclic", *words.split()], capture_output=True, text=True, check=False
    )
    assert refusal in agent.stderr


@pytest.mark.parametrize(
    ("words", "said"),
    [("--phase --no-report", "--phase needs a value"), ("--via read", "async, event")],
)
def test_an_option_without_a_value_or_of_another_probe_is_refused_by_name(
    rtscope: Rtscope, words: str, said: str
) -> None:
    assert said in rtscope("measure", *words.split()).stderr


OTHER_MEANING = {"cpus", "dry-run", "json", "load", "modules", "quiet", "threads"}
OTHER_MEANING |= {"above", "duration"}  # of prove: outliers of a run, and each measurement
OTHER_MEANING |= {"deadline", "thread"}  # of import: in a trace
"""names that commands of rtscope also have for something else"""
OF_CYCLICTEST = {"mlockall", "smp"}
"""accepted without effect"""


def declared(tree: ast.AST) -> Iterator[str]:
    """Name each option that a module declares by typer.Option."""
    for node in ast.walk(tree):
        text = ast.unparse(node.annotation or node) if isinstance(node, ast.arg) else ""
        if isinstance(node, ast.arg) and "typer.Option" in text:
            yield node.arg.replace("_", "-")
        if isinstance(node, ast.Call) and ast.unparse(node.func) == "typer.Option":
            for word in (one.value for one in node.args if isinstance(one, ast.Constant)):
                if str(word).startswith("--"):
                    yield str(word).removeprefix("--")


def test_rtscope_declares_no_option_of_the_agent_again() -> None:
    ours = our_description()
    options = {option.name for option in ours.session}
    options |= {option.name for probe in ours.probes for option in probe.options}
    sources = Path(rtscope_package.__file__).parent.rglob("*.py")
    names = {name for source in sources for name in declared(ast.parse(source.read_text()))}
    assert names & options <= OTHER_MEANING | OF_CYCLICTEST


@pytest.fixture
def bash(environment: dict[str, str], tmp_path: Path) -> Callable[[list[str]], list[str]]:
    """Return what bash completes the last of these words to, as it divides a line into words."""
    command = tmp_path / "bin" / "rtscope"
    command.parent.mkdir()
    command.write_text(f'#!/bin/sh\nexec {shlex.join(COMMAND)} "$@"\n')
    command.chmod(0o755)
    found = environment | {"PATH": f"{command.parent}:{os.environ['PATH']}"}

    def complete(words: list[str]) -> list[str]:
        script = (
            'eval "$(_RTSCOPE_COMPLETE=source_bash rtscope)"\n'
            f"COMP_WORDS=(rtscope {shlex.join(words)}) COMP_CWORD={len(words)}\n"
            "complete -p rtscope >&2\n_rtscope_completion rtscope\n"
            'printf "%s\\n" "${COMPREPLY[@]}"\n'
        )
        done = subprocess.run(
            ["bash", "--norc", "-c", script],
            capture_output=True,
            text=True,
            env=found,
            check=True,
            timeout=60,
        )
        assert "-F _rtscope_completion" in done.stderr
        return done.stdout.split()

    return complete


COMPLETIONS = [
    ("measure ev", ["event"]),
    ("measure event --via s", ["sigio", "sigwait"]),
    ("measure event --via = s", ["sigio", "sigwait"]),
    ("measure loop --in ", ["program", "kernel"]),
    ("measure --phase ", ["sweep", "fixed"]),
    ("measure event --irq", ["--irq-priority"]),
    ("measure --policy f", ["fifo"]),
    ("measure --load mi", ["mixed"]),
    ("scale --form s", ["scalar"]),
    ("tune measure minimal --probe sc", ["scaling", "sched"]),
]


@pytest.mark.parametrize(("line", "words"), COMPLETIONS)
def test_bash_completes(
    bash: Callable[[list[str]], list[str]], line: str, words: list[str]
) -> None:
    assert bash(line.split(" ")) == words


@pytest.mark.parametrize(
    ("line", "option"),
    [("measure event --via s", ""), ("measure event --via=s", "--via="), ("lab boot --x=", None)],
)
def test_zsh_and_fish_complete_the_word_that_they_pass_on(
    rtscope: Rtscope, line: str, option: str | None
) -> None:
    """They replace the whole word; compset makes zsh keep what is before the equals sign."""

    def complete(shell: str) -> str:
        return rtscope(
            _RTSCOPE_COMPLETE=f"complete_{shell}",
            _TYPER_COMPLETE_ARGS=f"rtscope {line}",
            _TYPER_COMPLETE_FISH_ACTION="get-args",
        ).stdout

    words = [] if option is None else [f"{option}sigio", f"{option}sigwait"]
    assert complete("fish").split() == words
    zsh = complete("zsh")
    assert re.findall(r'"(.*?)"', zsh) == [word.removeprefix(option or "") for word in words]
    assert zsh.startswith("compset -P '*=';") == (option != "")


QUIET = ("--json", "--no-report", "--quiet")


def test_a_probe_with_an_end_of_its_own_is_measured_to_it(rtscope: Rtscope) -> None:
    done = rtscope("measure", "gtod", "-O", "clock=CLOCK_MONOTONIC", *QUIET)
    assert done.returncode == 0, done.stderr
    run = decode_run(done.stdout.encode())
    assert [(thread.name, thread.count) for thread in run.threads] == [
        ("CLOCK_MONOTONIC", 1_000_000)
    ]
    assert (run.asked.samples, run.asked.duration_ns) == (1_000_000, None)


def test_an_undisturbed_cpu_is_no_failed_measurement(rtscope: Rtscope) -> None:
    limits = ("--budget", "gaps<1", "--budget", "longest_gap_ns<20us")
    done = rtscope("measure", "noise", "-D", "300ms", "-O", "threshold=1h", *limits, *QUIET)
    assert done.returncode == 0, done.stderr
    run = decode_run(done.stdout.encode())
    assert "no-samples" not in {warning.code for warning in run.warnings}
    assert all(thread.metrics["observed_ns"] > 0 for thread in run.threads)
