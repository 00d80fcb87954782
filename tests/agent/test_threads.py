# SPDX-License-Identifier: GPL-2.0-only
"""The machine's threads as the agent sees them, beside what ps says and what was started."""

import signal
import subprocess
import sys
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from itertools import islice, pairwise
from pathlib import Path

import pytest

from rtscope.model.threads import RANK_DEADLINE, Threads
from rtscope.target.protocol import AgentWarning, End, check_hello, decode_line
from tests.agent.probing import AGENT, LAST_CPU, NOBODY, needs_root
from tests.places import needs_kernel_threads, unshare

HOSTILE = "a) R 1 (\n\x1b[2J"
# Threads of fifo 37 on one CPU with a hostile name, of rr 12, and one at nice 7, which all wait.
CHILD = """
import os, threading, time

def begin(name, policy, priority, cpu):
    open(f"/proc/self/task/{threading.get_native_id()}/comm", "wb").write(name)
    os.sched_setscheduler(0, policy, os.sched_param(priority))
    os.sched_setaffinity(0, cpu)
    if policy == os.SCHED_OTHER:
        os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), 7)
    ready.release()
    time.sleep(60)

ready = threading.Semaphore(0)
everywhere = os.sched_getaffinity(0)
for what in [
    (NAME, os.SCHED_FIFO, 37, {CPU}),
    (b"rounds", os.SCHED_RR, 12, everywhere),
    (b"kind", os.SCHED_OTHER, 0, everywhere),
]:
    threading.Thread(target=begin, args=what, daemon=True).start()
for _ in range(3):
    ready.acquire()
print("ready", flush=True)
time.sleep(60)
"""


def agent(path: Path, before: tuple[str, ...]) -> Iterator[object]:
    done = subprocess.run(
        [*before, path, "threads", "--json"],
        capture_output=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    lines = [decode_line(line) for line in done.stdout.splitlines()]
    check_hello(lines[0])
    assert isinstance(lines[-1], End)
    assert lines[-1].status == "complete"
    yield from lines[1:-1]


def look(path: Path = AGENT, *, before: tuple[str, ...] = ()) -> tuple[Threads, dict[str, str]]:
    """One look, and the warnings that came with it by code."""
    found, warnings = [], {}
    for line in agent(path, before):
        if isinstance(line, AgentWarning):
            warnings[line.code] = line.text
        else:
            assert isinstance(line, Threads)
            found.append(line)
    assert len(found) == 1
    return found[0], warnings


@contextmanager
def waiting_threads() -> Iterator[int]:
    """The process with the threads of CHILD."""
    script = CHILD.replace("NAME", repr(HOSTILE.encode())).replace("CPU", str(LAST_CPU))
    with subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE) as child:
        assert child.stdout is not None
        try:
            assert child.stdout.readline() == b"ready\n"
            time.sleep(0.2)  # until they sleep
            yield child.pid
        finally:
            child.kill()


@needs_root
def test_started_threads_are_found_with_what_they_were_given() -> None:
    with waiting_threads() as pid:
        seen, _ = look()
    own = {thread.name: thread for thread in seen.threads if thread.pid == pid}
    assert len(own) == 4
    fifo, rounds, kind = own[HOSTILE], own["rounds"], own["kind"]
    assert (fifo.policy, fifo.priority, fifo.nice, fifo.rank) == ("fifo", 37, None, -38)
    assert (fifo.cpus, fifo.cpu) == (str(LAST_CPU), LAST_CPU)
    assert (rounds.policy, rounds.priority, rounds.rank) == ("rr", 12, -13)
    assert (kind.policy, kind.priority, kind.nice, kind.rank) == ("other", None, 7, 27)
    for thread in (fifo, rounds, kind):
        assert not thread.kernel
        assert thread.state == "S"
        assert thread.wait_channel
        assert thread.cpu_ns > 0
        assert thread.voluntary
        assert thread.since is None
    places = [seen.threads.index(thread) for thread in (fifo, rounds, kind)]
    assert places == sorted(places)


@needs_root
def test_a_deadline_thread_comes_with_its_runtime_and_before_all_fifo() -> None:
    measuring = [
        str(AGENT),
        "cyclic",
        "--json",
        "--policy=deadline",
        "-i",
        "10000",
        "-D",
        "30s",
    ]
    with subprocess.Popen(measuring, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        try:
            while b'"start"' not in process.stdout.readline():
                pass
            time.sleep(0.2)
            seen, _ = look()
        finally:
            process.kill()
    found = [thread for thread in seen.threads if thread.policy == "deadline"]
    own = [thread for thread in found if thread.pid == process.pid]
    assert own
    for thread in own:
        assert thread.rank == RANK_DEADLINE
        assert (thread.runtime_ns, thread.deadline_ns) == (1_000_000, 10_000_000)
        assert thread.period_ns == 10_000_000
    fifo = [i for i, thread in enumerate(seen.threads) if thread.priority and not thread.kernel]
    last = max(seen.threads.index(thread) for thread in own)
    assert all(last < place for place in fifo)


ISOLATED = Path("/sys/devices/system/cpu/isolated")


@needs_root
@needs_kernel_threads
@pytest.mark.skipif(LAST_CPU == 0 or not ISOLATED.exists(), reason="needs two CPUs and their list")
def test_threads_that_sit_on_an_isolated_cpu_are_reported(tmp_path: Path) -> None:
    reported = tmp_path / "isolated"
    reported.write_text(f"{LAST_CPU}\n")
    before = (
        *unshare("--mount"),
        "sh",
        "-c",
        f'mount --bind {reported} {ISOLATED} && exec "$@"',
        "sh",
    )
    with waiting_threads() as pid:
        seen, _ = look(before=before)
        table = subprocess.run(
            [*before, AGENT, "threads"], capture_output=True, text=True, check=True
        ).stdout
    assert seen.isolated == str(LAST_CPU)
    assert next(
        thread for thread in seen.threads if thread.pid == pid and thread.priority == 37
    ).isolated
    for thread in seen.threads:
        assert thread.isolated == (str(LAST_CPU) in {str(thread.cpu), thread.cpus})
    assert f"isolated CPUs: {LAST_CPU}" in table
    assert f"cpuhp/{LAST_CPU}" in table
    assert not any(thread.isolated for thread in look()[0].threads)


def test_each_reading_reports_what_was_done_since_the_one_before() -> None:
    watching = [str(AGENT), "threads", "--json", "--interval", "300ms"]
    spinning = [sys.executable, "-c", "while True: pass"]
    with (
        subprocess.Popen(spinning) as spinner,
        subprocess.Popen(watching, stdout=subprocess.PIPE) as watcher,
    ):
        assert watcher.stdout is not None
        try:
            check_hello(decode_line(watcher.stdout.readline()))
            seen = list(_looks_until_seen_running(watcher.stdout, spinner.pid))
            watcher.send_signal(signal.SIGINT)
            rest = [decode_line(line) for line in watcher.stdout]
        finally:
            spinner.kill()
            watcher.kill()
    assert isinstance(rest[-1], End)
    assert rest[-1].status == "interrupted"
    assert seen[0].since_ns is None
    for before, after in pairwise(seen):
        assert after.since_ns == after.time_ns - before.time_ns
        earlier = {thread.tid: thread for thread in before.threads}
        for thread in after.threads:
            assert thread.since is not None
            known = earlier.get(thread.tid)
            assert thread.since.cpu_ns == thread.cpu_ns - (known.cpu_ns if known else 0)
            if thread.forced is not None and thread.since.forced is not None:
                more = thread.forced - ((known.forced or 0) if known else 0)
                assert thread.since.forced == more


def _looks_until_seen_running(lines: Iterable[bytes], pid: int) -> Iterator[Threads]:
    """Those after the first in which the process had CPU time since the one before."""
    for line in islice(map(decode_line, lines), 100):
        if isinstance(line, AgentWarning):  # such as of threads outside of a container
            continue
        assert isinstance(line, Threads)
        yield line
        own = [thread.since for thread in line.threads if thread.pid == pid]
        if any(since and since.cpu_ns for since in own):
            return
    pytest.fail("a thread that runs all the time has had no CPU time in a hundred looks")


def test_threads_that_end_meanwhile_are_left_out() -> None:
    script = "import threading\nwhile True:\n threading.Thread(target=lambda: None).start()"
    with subprocess.Popen([sys.executable, "-c", script]) as child:
        try:
            looks = [look()[0] for _ in range(20)]
        finally:
            child.kill()
    assert all(any(thread.pid == child.pid for thread in one.threads) for one in looks)
    assert all(thread.cpus and thread.state for one in looks for thread in one.threads)


@needs_root
@needs_kernel_threads
def test_a_warning_says_that_the_waits_of_others_are_hidden_from_a_user(public_agent: Path) -> None:
    seen, warnings = look(public_agent, before=NOBODY)
    assert set(warnings) == {"wait-channels-denied"}
    assert "root" in warnings["wait-channels-denied"]
    assert any(thread.name == "kthreadd" for thread in seen.threads)
    assert look(public_agent)[1] == {}


@needs_root
@needs_kernel_threads
@pytest.mark.parametrize(
    ("option", "code"), [("hidepid=1", "threads-denied"), ("hidepid=2", "threads-hidden")]
)
def test_threads_that_are_hidden_from_a_user_are_counted_in_a_warning(
    public_agent: Path, option: str, code: str
) -> None:
    script = f'mount -t proc -o {option} proc /proc && exec "$@"'
    before = (*unshare("--mount"), "sh", "-c", script, "sh", *NOBODY)
    seen, warnings = look(public_agent, before=before)
    assert code in warnings
    assert "hidepid" in warnings[code]
    assert {thread.name for thread in seen.threads} == {"rtscope-agent"}


@needs_root
def test_a_container_says_that_it_is_one() -> None:
    before = unshare("--pid", "--fork", "--mount-proc")
    seen, warnings = look(before=before)
    assert [thread.name for thread in seen.threads] == ["rtscope-agent"]
    assert "this is a container" in warnings["threads-hidden"]


def test_without_proc_there_is_nothing_to_tell() -> None:
    script = 'mount -t tmpfs none /proc && exec "$@"'
    done = subprocess.run(
        [*unshare("--mount"), "sh", "-c", script, "sh", AGENT, "threads"],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 1
    assert "there is no /proc" in done.stderr
