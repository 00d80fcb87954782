# SPDX-License-Identifier: GPL-2.0-only
"""Agents that send without end, or too much: rtscope ends them, within bounds of time and memory.

Each is a script in the place of the agent, which rtscope runs as `measure` does.
"""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import NamedTuple

import pytest

MIB = 1024 * 1024
BOUND_S = 90.0
MOST_MEMORY = 700 * MIB
"""of rtscope's process: some 100 MB of its own, and what the limits in bounds.py amount to"""

# Answers `--dry-run` and `machine`; for the rest, `attack` follows its first progress line.
_AGENT = """#!{python}
import json, os, signal, sys, time
def say(text):
    sys.stdout.write(text + "\\n")
    sys.stdout.flush()
def hello():
    say('{{"type":"hello","protocol":1,"agent":"0","probes":["{probe}"]}}')
def start():
    say('{{"type":"start","probe":"{probe}","utc_ns":0,"interval_ns":1000000,"policy":"other",'
        '"priority":0,"duration_ns":{claimed},"threads":[{{"thread":0,"policy":"other","priority":0}}]}}')
def progress(ms=1):
    say('{{"type":"progress","time_ns":%d,"threads":[{{"thread":0,"count":%d,"min_ns":5,'
        '"mean_ns":5,"max_ns":5,"gained":[[5,1]],"window":{{"count":1,"mean_ns":5,"max_ns":5}}}}]}}'
        % (ms * 1000000, ms))
def end():
    say('{{"type":"end","status":"complete","time_ns":0}}')
signal.signal(signal.SIGINT, signal.SIG_IGN)
while {trickles_at!r} in sys.argv:
    os.write(1, b" ")
    time.sleep(0.2)
hello()
if "machine" in sys.argv:
    end()
elif "--dry-run" in sys.argv:
    start()
    end()
else:
    start()
    progress()
    open({begun!r}, "w").close()
{attack}
"""

_MATRICES = """
    row = "[" + ",".join("0" * 1024) + "]"
    cells = "[" + ",".join([row] * 1024) + "]"
    labels = json.dumps([str(i) for i in range(1024)])
    for i in range(30):
        say('{"type":"matrix","name":"m%d","unit":"ns","rows":%s,"columns":%s,"value":%s,"low":%s,'
            '"high":%s}' % (i, labels, labels, cells, cells, cells))
    end()
"""
_SLOW_PROGRESS = """
    for ms in range(2, 1 << 60):
        progress(ms)
        time.sleep(0.25)
"""
_WARNINGS = """
    for i in range(1 << 60):
        sys.stdout.write('{"type":"warning","code":"w","text":"number %d"}\\n' % i)
"""
_TRICKLE = """
    while True:
        os.write(1, b" ")
        time.sleep(0.2)
"""
_STDERR = """
    while True:
        os.write(2, b"x" * 65536)
"""
_SLOW_STDERR = """
    while True:
        os.write(2, b"x")
        time.sleep(0.2)
"""
_LONG_LINE = """
    while True:
        os.write(1, b"x" * 65536)
"""

_TOO_LONG = "had not ended after"

# Runs rtscope with shorter margins, prints its greatest memory in KiB at the end.
_RTSCOPE = """
import resource, sys
resource.setrlimit(resource.RLIMIT_AS, (3 << 30, 3 << 30))  # so that a failure harms nobody else
from rtscope.target import process
from rtscope.engine import measure
process.ENDING_S = float(sys.argv.pop(1))
process.INTERRUPTED_S = 2.0
process.DESCRIBE_S = process.PROMPT_S = 3.0
measure._SILENCE_S = 60.0
from rtscope.cli.main import main
try:
    main()
finally:
    print("memory", resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, file=sys.stderr)
"""


class Outcome(NamedTuple):
    """How rtscope ended."""

    status: int
    output: str
    lasted_s: float

    @property
    def memory(self) -> int:
        """The greatest size of rtscope's process."""
        return int(self.output.rpartition("memory ")[2].split()[0]) * 1024


def attacked(
    folder: Path,
    attack: str,
    *,
    duration: str | None = "2s",
    margin_s: int = 3,
    interrupted: bool = False,
    probe: str = "cyclic",
    trickles_at: str = "no word",
) -> Outcome:
    """Run `rtscope measure` on an agent with this attack, and perhaps press Ctrl-C in it."""
    agent, begun = folder / "agent", folder / "begun"
    claimed = 0 if duration is None else 2_000_000_000
    agent.write_text(
        _AGENT.format(
            python=sys.executable,
            attack=attack,
            claimed=claimed,
            begun=str(begun),
            probe=probe,
            trickles_at=trickles_at,
        )
    )
    agent.chmod(0o755)
    words = ["measure", probe, "--no-report", "-o", str(folder / "run.json")]
    words += [f"--duration={duration}"] if duration else ["--samples=1000000"]
    begun_s = time.monotonic()
    with subprocess.Popen(
        [sys.executable, "-c", _RTSCOPE, str(margin_s), *words],
        env=os.environ | {"RTSCOPE_AGENT": str(agent), "XDG_DATA_HOME": str(folder)},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    ) as process:
        try:
            if interrupted:
                while not begun.exists() and time.monotonic() < begun_s + BOUND_S:
                    time.sleep(0.05)
                begun_s = time.monotonic()
                process.send_signal(signal.SIGINT)
            output, _ = process.communicate(timeout=BOUND_S)
        finally:
            process.kill()
    return Outcome(process.returncode, output, time.monotonic() - begun_s)


ATTACKS = {
    "matrices": (_MATRICES, "results of more than"),
    "long-line": (_LONG_LINE, "a line of more than"),
    "slow-progress": (_SLOW_PROGRESS, _TOO_LONG),
    "warnings": (_WARNINGS, " lines in "),
    "trickle": (_TRICKLE, _TOO_LONG),
    "stderr": (_STDERR, " MiB in "),
    "slow-stderr": (_SLOW_STDERR, _TOO_LONG),
}


@pytest.mark.parametrize("name", ATTACKS)
def test_what_was_measured_is_kept_and_the_agent_is_ended(tmp_path: Path, name: str) -> None:
    attack, said = ATTACKS[name]
    outcome = attacked(tmp_path, attack, margin_s=3 if said == _TOO_LONG else 60)
    run = json.loads((tmp_path / "run.json").read_text())
    (why,) = (w["text"] for w in run["warnings"] if w["code"] == "agent-died")
    assert said in why
    assert (outcome.status, run["status"]) == (1, "failed")
    assert outcome.lasted_s < BOUND_S
    assert outcome.memory < MOST_MEMORY


@pytest.mark.parametrize("attack", [_SLOW_PROGRESS, _TRICKLE, _MATRICES, _SLOW_STDERR])
def test_the_first_ctrl_c_ends_a_run_without_a_duration(tmp_path: Path, attack: str) -> None:
    outcome = attacked(tmp_path, attack, duration=None, interrupted=True)
    assert outcome.status in {1, 130}
    assert outcome.lasted_s < 30


@pytest.mark.parametrize("word", ["describe", "machine", "--dry-run"])
def test_an_answer_that_never_ends_is_not_waited_for(tmp_path: Path, word: str) -> None:
    outcome = attacked(tmp_path, "    end()", trickles_at=word)
    assert outcome.status == 2
    assert _TOO_LONG in outcome.output
    assert outcome.lasted_s < BOUND_S


def test_a_repeat_that_takes_longer_than_the_duration_comes_to_its_end(tmp_path: Path) -> None:
    attack = """
    time.sleep(5)
    say('{"type":"thread","thread":0,"policy":"other","priority":0,"count":0,"missed":0,"early":0}')
    say('{"type":"end","status":"complete","time_ns":7000000000}')
"""
    attacked(tmp_path, attack, margin_s=1, probe="memory")
    assert json.loads((tmp_path / "run.json").read_text())["status"] == "complete"


def test_a_run_that_the_watchdog_ended_exits_3(tmp_path: Path) -> None:
    attack = """
    say('{"type":"thread","thread":0,"policy":"other","priority":0,"count":0,"missed":0,"early":0}')
    say('{"type":"end","status":"watchdog","time_ns":1000000000}')
"""
    outcome = attacked(tmp_path, attack)
    assert '"status":"watchdog"' in (tmp_path / "run.json").read_text()
    assert outcome.status == 3
