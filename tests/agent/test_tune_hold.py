# SPDX-License-Identifier: GPL-2.0-only
"""What a held profile does with threads that come later, and what is left when the holding ends."""

import fcntl
import json
import os
import shutil
import signal
import struct
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.agent.probing import AGENT, NOBODY, needs_root
from tests.agent.tuning import MARK, waiting_threads
from tests.places import needs_process_events, unshare

pytestmark = [needs_root, needs_process_events]

LIMIT_S = 30
NAME = f"{MARK}-held"
FIFO_7 = f"thread name={NAME}* policy=fifo priority=7"
LATENCY = Path("/dev/cpu_dma_latency")

Line = dict[str, Any]
Start = Callable[[], "subprocess.Popen[bytes]"]

# Takes its name, and when it is made fifo a policy of its own.
CHILD = """
import os, sys, time

open("/proc/self/comm", "w").write(sys.argv[1])
until = time.monotonic() + 30
while os.sched_getscheduler(0) != os.SCHED_FIFO and time.monotonic() < until:
    time.sleep(0.01)
os.sched_setscheduler(0, os.SCHED_RR, os.sched_param(3))
time.sleep(60)
"""


class Holding:
    """The agent while it holds rules, and its lines."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self.process = process

    def next_change(self, *states: str) -> Line:
        assert self.process.stdout
        for text in self.process.stdout:
            line: Line = json.loads(text)
            if line["type"] == "change" and line["state"] in states:
                return line
        raise AssertionError(f"it ended before a change was {' or '.join(states)}")

    def rest(self) -> list[Line]:
        assert self.process.stdout
        return [json.loads(text) for text in self.process.stdout]

    def end(self, number: int = signal.SIGTERM) -> list[Line]:
        """Its lines from now on; it has ended well."""
        self.process.send_signal(number)
        lines = self.rest()
        assert self.process.wait(LIMIT_S) == 0
        assert lines[-1]["type"] == "end"
        return lines


@pytest.fixture
def journal(tmp_path: Path) -> Path:
    return tmp_path / "journal"


@pytest.fixture
def program(tmp_path: Path) -> Start:
    """Starts a program of a name that the rules match, and which waits a minute."""
    path = Path(shutil.copy(shutil.which("sleep") or "", tmp_path / NAME))
    return lambda: subprocess.Popen([path, "60"])


@contextmanager
def held(journal: Path, *words: str) -> Iterator[Holding]:
    command = [str(AGENT), "tune", "hold", "--json", "--profile", "held"]
    command += ["--journal", str(journal), *words]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        limit = threading.Timer(2 * LIMIT_S, process.kill)
        limit.start()
        try:
            yield Holding(process)
        finally:
            limit.cancel()
            process.kill()


@contextmanager
def ended(process: "subprocess.Popen[bytes]") -> Iterator[int]:
    """The process until the end of the block."""
    with process:
        try:
            yield process.pid
        finally:
            process.kill()


def wait_for(what: Callable[[], bool]) -> None:
    until = time.monotonic() + LIMIT_S
    while not what():
        assert time.monotonic() < until
        time.sleep(0.01)


def is_fifo(pid: int) -> bool:
    return (
        os.sched_getscheduler(pid) == os.SCHED_FIFO and os.sched_getparam(pid).sched_priority == 7
    )


def is_other(pid: int) -> bool:
    return os.sched_getscheduler(pid) == os.SCHED_OTHER


def undo(journal: Path) -> list[Line]:
    done = subprocess.run(
        [AGENT, "tune", "undo", "--json", "--journal", journal],
        capture_output=True,
        text=True,
        check=True,
        timeout=LIMIT_S,
    )
    return [json.loads(text) for text in done.stdout.splitlines()]


def states(lines: list[Line]) -> list[str]:
    return [line["state"] for line in lines if line["type"] == "change"]


@pytest.mark.parametrize(("words", "reported"), [((), "left"), (("--keep",), "set-back")])
def test_settings_that_others_restored_meanwhile_are_reported_at_the_end(
    journal: Path, program: Start, words: tuple[str, ...], reported: str
) -> None:
    with program() as stays, program() as changed:
        try:
            with held(journal, "--poll", "0", *words, FIFO_7) as holding:
                for _ in range(2):
                    holding.next_change("applied")
                os.sched_setscheduler(changed.pid, os.SCHED_BATCH, os.sched_param(0))
                changes = [line for line in holding.end() if line["type"] == "change"]
                lines = [line for line in changes if line["state"] != "applied"]
        finally:
            stays.kill()
            changed.kill()
    assert [(line["where"], line["why"][-12:]) for line in lines if line["state"] == reported] == [
        (f"tid {changed.pid}", "is batch now")
    ]
    assert len(lines) == (1 if words else 2)


def test_a_setting_that_others_change_is_set_again_until_they_insist(
    journal: Path, program: Start
) -> None:
    with ended(program()) as pid, held(journal, "--poll", "10ms", FIFO_7) as holding:
        holding.next_change("applied")
        told: list[Line] = []
        while not told or told[-1]["state"] != "set-back":
            os.sched_setscheduler(pid, os.SCHED_BATCH, os.sched_param(0))
            change = holding.next_change("applied", "set-back")
            if change["why"]:  # else the check of what was tuned lately was first
                told.append(change)
        assert [line["state"] for line in told] == ["applied"] * 6 + ["set-back"]
        assert {(line["old"], line["new"]) for line in told} == {("batch", "fifo:7")}
        assert not is_fifo(pid)
        holding.end()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_program_that_starts_later_is_tuned_until_the_holding_ends(
    journal: Path, program: Start, number: int
) -> None:
    with ended(program()) as first, held(journal, FIFO_7) as holding:
        assert f"tid {first}" in holding.next_change("applied")["where"]
        with ended(program()) as later:
            change = holding.next_change("applied")
            assert (change["kind"], change["where"]) == ("thread-policy", f"tid {later}")
            assert (change["old"], change["new"]) == ("other", "fifo:7")
            assert is_fifo(later)
            lines = holding.end(number)
            assert states(lines) == ["restored", "restored"]
            assert lines[-1]["status"] == "complete"
            assert is_other(first)
            assert is_other(later)
    assert not any(journal.iterdir())


@pytest.mark.parametrize("when", ["before", "while"])
def test_a_thread_that_takes_the_name_and_a_policy_of_its_own_is_tuned_again(
    journal: Path, program: Start, when: str
) -> None:
    """Soon after it was born, or while the rules were applied; its own is what is restored."""
    command = [sys.executable, "-c", CHILD, f"{NAME}-late"]
    with ExitStack() as stack:
        if when == "while":
            stack.enter_context(ended(program()))
            holding = stack.enter_context(held(journal, FIFO_7))
            holding.next_change("applied")
        with ended(subprocess.Popen(command, stdout=subprocess.PIPE)) as pid:
            if when == "before":
                wait_for(lambda: NAME in Path(f"/proc/{pid}/comm").read_text())
                holding = stack.enter_context(held(journal, FIFO_7))
                assert holding.next_change("not-held")["where"] == f"tid {pid}"
            else:  # the thread may be as quick as the check of what was written
                assert holding.next_change("applied", "not-held")["where"] == f"tid {pid}"
            assert holding.next_change("applied")["where"] == f"tid {pid}"
            wait_for(lambda: is_fifo(pid))
            assert states(holding.end())[-1] == "restored"
            assert os.sched_getscheduler(pid) == os.SCHED_RR
            assert os.sched_getparam(pid).sched_priority == 3


def test_another_users_thread_that_takes_the_name_gets_nothing(
    journal: Path, program: Start
) -> None:
    foreign = (waiting_threads(NAME, before=NOBODY) for _ in range(2))
    with ExitStack() as stack:
        (before,) = stack.enter_context(next(foreign))
        holding = stack.enter_context(held(journal, FIFO_7))
        own = stack.enter_context(ended(program()))
        assert holding.next_change("applied")["where"] == f"tid {own}"
        (later,) = stack.enter_context(next(foreign))
        time.sleep(2.5)  # until it was read a second time
        assert is_other(before)
        assert is_other(later)
        assert states(holding.end()) == ["restored"]


def test_a_held_thread_that_becomes_another_users_is_restored(journal: Path) -> None:
    """Minutes later too; and one that runs another program, which no rule names."""
    script = "import os, sys; sys.stdin.readline(); {}; sys.stdin.readline()"
    for change in ("os.setuid(65534)", "os.execl('/bin/sleep', 'sleep', '60')"):
        name = f"open('/proc/self/comm', 'w').write('{NAME}')"
        command = [sys.executable, "-c", f"{name}; print(flush=True); " + script.format(change)]
        with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as child:
            try:
                assert child.stdin
                assert child.stdout
                child.stdout.readline()
                with held(journal, FIFO_7) as holding:
                    holding.next_change("applied")
                    time.sleep(2.5)
                    assert is_fifo(child.pid)
                    child.stdin.write(b"\n")
                    child.stdin.flush()
                    assert holding.next_change("restored")["where"] == f"tid {child.pid}"
                    assert is_other(child.pid)
                    assert states(holding.end()) == []
            finally:
                child.kill()


def test_what_a_killed_holding_has_changed_can_be_undone(journal: Path, program: Start) -> None:
    with ended(program()) as first, held(journal, FIFO_7) as holding:
        holding.next_change("applied")
        with ended(program()) as later:
            holding.next_change("applied")
            holding.process.kill()
            holding.process.wait(LIMIT_S)
            assert is_fifo(first)
            assert is_fifo(later)
            assert states(undo(journal)) == ["restored", "restored"]
            assert is_other(first)
            assert is_other(later)


def test_what_is_to_be_kept_is_kept(journal: Path, program: Start) -> None:
    with ended(program()) as pid:
        with held(journal, "--keep", FIFO_7) as holding:
            holding.next_change("applied")
            assert states(holding.end()) == []
        assert is_fifo(pid)
        assert states(undo(journal)) == ["restored"]
        assert is_other(pid)


def test_it_ends_and_undoes_when_nobody_reads_any_more(journal: Path, program: Start) -> None:
    with ended(program()) as pid, held(journal, FIFO_7) as holding:
        holding.next_change("applied")
        assert holding.process.stdout
        holding.process.stdout.close()
        holding.process.wait(LIMIT_S)
        assert is_other(pid)
    assert not any(journal.iterdir())


def test_it_goes_on_while_nobody_reads_and_restores_before_it_waits_for_the_reader(
    journal: Path, program: Start
) -> None:
    """With a pipe of one page, which a few lines fill."""
    command = [str(AGENT), "tune", "hold", "--json", "--journal", str(journal), FIFO_7]
    with ExitStack() as stack:
        stack.enter_context(ended(program()))
        holding = stack.enter_context(subprocess.Popen(command, stdout=subprocess.PIPE))
        stack.callback(holding.kill)
        assert holding.stdout
        fcntl.fcntl(holding.stdout, fcntl.F_SETPIPE_SZ, 4096)
        pids = [stack.enter_context(ended(program())) for _ in range(40)]
        wait_for(lambda: all(is_fifo(pid) for pid in pids))
        holding.send_signal(signal.SIGTERM)
        wait_for(lambda: all(is_other(pid) for pid in pids))
        assert holding.poll() is None
        lines = [json.loads(text) for text in holding.stdout.read().splitlines()]
        assert holding.wait(LIMIT_S) == 0
    for state in ("applied", "restored"):
        where = {line["where"] for line in lines if line.get("state") == state}
        assert where >= {f"tid {pid}" for pid in pids}
    assert lines[-1]["status"] == "complete"
    assert not any(journal.iterdir())


@pytest.mark.long
def test_threads_that_have_ended_leave_the_journal(journal: Path, program: Start) -> None:
    """It is tidied up from a thousand entries on."""
    with ended(program()), held(journal, FIFO_7) as holding:
        holding.next_change("applied")
        for _ in range(30):
            with ExitStack() as stack:
                for _ in range(40):
                    stack.enter_context(ended(program()))
                for _ in range(40):
                    holding.next_change("applied")
        entries = (journal / "journal").read_text().splitlines()
        assert len(entries) < 600
        assert "restored" in states(holding.end())


def test_nobody_else_tunes_while_a_profile_is_held(journal: Path, program: Start) -> None:
    with ended(program()), held(journal, FIFO_7) as holding:
        holding.next_change("applied")
        with held(journal, FIFO_7) as second:
            assert states(second.rest()) == []
            assert second.process.wait(LIMIT_S) == 1


def test_it_does_not_run_while_nothing_happens(journal: Path) -> None:
    """Of programs there is always one that starts, so here it is of interrupts only."""
    with held(journal, "interrupt name=no-such-interrupt cpus=0") as holding:
        times = Path(f"/proc/{holding.process.pid}/schedstat")

        def rests() -> bool:
            before = times.read_text()
            time.sleep(3)
            return times.read_text() == before

        wait_for(rests)
        assert states(holding.end()) == []


@pytest.mark.skipif(not LATENCY.exists(), reason="this kernel has no /dev/cpu_dma_latency")
def test_a_limit_of_the_way_out_of_idle_is_held_as_long(journal: Path) -> None:
    def limit_us() -> int:
        with LATENCY.open("rb") as file:
            return int(struct.unpack("i", file.read(4))[0])

    with held(journal, "latency limit=5000") as holding:
        change = holding.next_change("applied")
        assert (change["kind"], change["new"]) == ("latency", "5 us")
        assert limit_us() <= 5, "another may ask for less"
        assert states(holding.end()) == ["restored"]


def test_where_the_kernel_does_not_report_new_threads_nothing_is_changed(
    journal: Path, program: Start
) -> None:
    """As in a network of its own, where the process connector is not."""
    command = [str(AGENT), "tune", "hold", "--journal", str(journal), FIFO_7]
    with ended(program()) as pid:
        done = subprocess.run(
            [*unshare("--net"), *command],
            capture_output=True,
            text=True,
            check=False,
            timeout=LIMIT_S,
        )
        assert done.returncode == 1
        assert "the kernel does not report new threads" in done.stderr
        assert is_other(pid)
