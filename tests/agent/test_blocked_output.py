# SPDX-License-Identifier: GPL-2.0-only
"""Output that nobody takes: a run goes on to its end, and its result waits for the reader."""

import fcntl
import json
import os
import pty
import select
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.agent.probing import AGENT, Lines, children, hogged, needs_quiet, needs_root, of_type
from tests.agent.tuning import MARK, given, waiting_threads

DURATION_S = 5
BLOCKED_S = 3.5
WATCHDOG_S = 1
"""shorter than the output is blocked: a session that waited for it would end"""
RUN = (f"--duration={DURATION_S}s", f"--watchdog={WATCHDOG_S}s", "--policy=other")
BOUND_S = 40.0
PIPE_BYTES = 1 << 20  # what the agent asks for
CTRL_S, CTRL_Q = b"\x13", b"\x11"


@contextmanager
def bounded(process: subprocess.Popen[bytes]) -> Iterator[subprocess.Popen[bytes]]:
    """A process that does not outlive the block, nor BOUND_S."""
    bound = threading.Timer(BOUND_S, process.kill)
    bound.start()
    try:
        with process:
            yield process
            process.wait()
    finally:
        bound.cancel()
        process.kill()


@contextmanager
def on_a_terminal(*command: str | Path) -> Iterator[tuple[subprocess.Popen[bytes], int]]:
    """A process whose standard output and error are a terminal, and the terminal's other end."""
    master, slave = pty.openpty()
    try:
        process = subprocess.Popen(command, stdin=slave, stdout=slave, stderr=slave)
        os.close(slave)
        with bounded(process):
            yield process, master
    finally:
        os.close(master)


def all_of(fd: int) -> bytes:
    """What comes until the other end is closed."""
    parts = []
    try:
        while part := os.read(fd, 65536):
            parts.append(part)
    except OSError:  # how a terminal tells that
        pass
    return b"".join(parts)


def read_to_the_table(master: int) -> None:
    """Read the warnings before the table, and its first update."""
    while b"T: 0" not in os.read(master, 65536):
        pass


def wait_until(holds: Callable[[], bool]) -> None:
    deadline_s = time.monotonic() + BOUND_S
    while not holds():
        assert time.monotonic() < deadline_s
        time.sleep(0.05)


def has_measuring_threads(pid: int) -> bool:
    names = [path.read_text() for path in Path(f"/proc/{pid}/task").glob("*/comm")]
    return any(name.startswith("cyclic/") for name in names)


def parsed(output: bytes) -> Lines:
    return [json.loads(line) for line in output.splitlines()]


def check_whole(lines: Lines, duration_s: float = DURATION_S) -> None:
    """A run that went on to its end, all of it told, with what was left out."""
    assert lines[-1]["type"] == "end"
    assert lines[-1]["status"] == "complete"
    assert lines[-1]["time_ns"] >= duration_s * 1e9 - 1e8
    assert lines[-1]["progress_dropped"] > 0
    assert "output-blocked" in {line["code"] for line in of_type(lines, "warning")}
    for index, thread in enumerate(of_type(lines, "thread")):
        assert thread["count"] + thread["missed"] > 0.9 * duration_s * 1000
        windows = [line["threads"][index]["window"] for line in of_type(lines, "progress")]
        assert sum(window["count"] for window in windows) == thread["count"]


# Longer than the default watchdog and its margins, by which such a run ended after 13.7 s.
LONG = pytest.param(20, 16, (), marks=pytest.mark.kernels)


@pytest.mark.parametrize(
    ("duration_s", "blocked_s", "options"),
    [(DURATION_S, BLOCKED_S, ("--progress=50ms", *RUN)), LONG],
)
def test_json_on_a_terminal_that_nobody_reads(
    duration_s: int, blocked_s: float, options: tuple[str, ...]
) -> None:
    words = ("cyclic", "--json", f"--duration={duration_s}s", *options)
    with on_a_terminal(AGENT, *words) as (process, master):
        time.sleep(blocked_s)
        check_whole(parsed(all_of(master)), duration_s)
    assert process.returncode == 0


@pytest.mark.parametrize(
    ("duration_s", "blocked_s", "options"),
    [(DURATION_S, 7, ("--progress=50ms", *RUN)), LONG],
)
def test_ctrl_s_on_the_table(duration_s: int, blocked_s: float, options: tuple[str, ...]) -> None:
    words = ("cyclic", f"--duration={duration_s}s", *options)
    with on_a_terminal(AGENT, *words) as (process, master):
        read_to_the_table(master)
        os.write(master, CTRL_S)
        time.sleep(blocked_s)
        assert process.poll() is None
        os.write(master, CTRL_Q)
        output = all_of(master)
    assert process.returncode == 0
    assert b"# complete after" in output
    assert output.count(b"T: ") >= len(os.sched_getaffinity(0))
    assert not options or b"table updates were left out" in output


@needs_root
def test_a_measurement_under_ctrl_s_is_tuned_and_undone(tmp_path: Path) -> None:
    tune = ("--tune", f"thread name={MARK}-o* nice=4", "--tune-journal", str(tmp_path / "journal"))
    with (
        waiting_threads(f"{MARK}-o main", f"{MARK}-o two") as (undone, changed),
        on_a_terminal(AGENT, "cyclic", *tune, *RUN) as (process, master),
    ):
        os.write(master, CTRL_S)  # the first change is reported a second later
        wait_until(lambda: has_measuring_threads(process.pid))
        assert given(undone).nice == given(changed).nice == 4
        os.setpriority(os.PRIO_PROCESS, changed, 7)
        wait_until(lambda: given(undone).nice == 0)
        assert process.poll() is None
        os.write(master, CTRL_Q)
        lines = all_of(master).decode().splitlines()
    assert process.returncode == 0
    events = [line.split()[0] for line in lines if "thread-nice" in line or line.startswith("# c")]
    assert events == ["applied", "applied", "left", "#"]


def nearly_full(fd: int) -> None:
    """Leave a pipe no more room than a run's first lines take."""
    fcntl.fcntl(fd, fcntl.F_SETPIPE_SZ, PIPE_BYTES)
    os.write(fd, b"\n" * (PIPE_BYTES - 4 * select.PIPE_BUF))


def test_a_reader_of_a_pipe_that_is_stopped(tmp_path: Path) -> None:
    words = ("cyclic", "--json", "--progress=10ms", "--interval=100us", "--load=cpu:1", *RUN)
    stopped_cat = ["sh", "-c", "kill -STOP $$; exec cat"]
    with (
        (tmp_path / "lines").open("wb") as file,
        bounded(subprocess.Popen(stopped_cat, stdin=subprocess.PIPE, stdout=file)) as reader,
    ):
        assert reader.stdin
        nearly_full(reader.stdin.fileno())
        with bounded(subprocess.Popen([AGENT, *words], stdout=reader.stdin)) as process:
            reader.stdin.close()
            time.sleep(2)
            assert children(process.pid)
            time.sleep(DURATION_S + 3)
            assert process.poll() is None
            assert not children(process.pid), "its load goes on"
            reader.send_signal(signal.SIGCONT)
    lines = parsed((tmp_path / "lines").read_bytes().strip(b"\n"))
    assert (process.returncode, lines[-1]["status"]) == (0, "complete")
    assert lines[-1]["progress_dropped"] > 0


def test_a_standard_error_that_nobody_reads() -> None:
    ends = os.pipe()
    os.set_blocking(ends[1], False)
    while True:
        try:
            os.write(ends[1], bytes(4096))
        except BlockingIOError:
            break
    os.set_blocking(ends[1], True)
    load = "--load=cmd:timeout 2 yes > /dev/null"  # it ends: a warning
    with bounded(
        subprocess.Popen([AGENT, "cyclic", load, *RUN], stdout=subprocess.PIPE, stderr=ends[1])
    ) as process:
        os.close(ends[1])
        time.sleep(BLOCKED_S + 1)
        said = all_of(ends[0])
        assert process.stdout
        output = process.stdout.read()
    os.close(ends[0])
    assert process.returncode == 0
    assert b"load cmd: it ended by itself" in said
    assert b"# complete after" in output


def test_a_samples_file_that_takes_nothing(tmp_path: Path) -> None:
    fifo = tmp_path / "samples"
    os.mkfifo(fifo)
    end = os.open(fifo, os.O_RDONLY | os.O_NONBLOCK)
    words = ("cyclic", "--json", f"--samples-file={fifo}", "--interval=100us", "--cpus=first")
    with bounded(subprocess.Popen([AGENT, *words, *RUN], stdout=subprocess.PIPE)) as process:
        time.sleep(BLOCKED_S)
        os.set_blocking(end, True)
        samples = all_of(end).splitlines()
        assert process.stdout
        lines = parsed(process.stdout.read())
    os.close(end)
    assert (process.returncode, lines[-1]["status"]) == (0, "complete")
    assert len(samples) - 1 == of_type(lines, "thread")[0]["count"]


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_second_signal_gives_up_a_result_that_nobody_reads(number: signal.Signals) -> None:
    words = ("cyclic", "--json", "--policy=other", "--progress=50ms")
    with on_a_terminal(AGENT, *words) as (process, _):
        time.sleep(1.5)
        process.send_signal(number)
        time.sleep(2)
        assert process.poll() is None
        process.send_signal(number)
        assert process.wait(timeout=5) == 1


@pytest.mark.parametrize("words", ["cyclic --progress 0", "threads -i 100ms", "machine"])
def test_an_agent_whose_reader_has_left_ends(words: str) -> None:
    with bounded(subprocess.Popen([AGENT, *words.split(), "--json"], stdout=subprocess.PIPE)) as it:
        assert it.stdout is not None
        assert json.loads(it.stdout.readline())["type"] == "hello"
        it.stdout.close()
        assert it.wait(timeout=10) is not None


@needs_quiet
@needs_root
@pytest.mark.parametrize(("form", "said"), [("-q", "# watchdog after"), ("--json", '"watchdog"')])
def test_a_run_that_leaves_no_time_for_housekeeping_is_ended_by_the_watchdog(
    form: str, said: str
) -> None:
    # Of the only CPU that housekeeping may use, throttling leaves it 50 ms of each second.
    with hogged(0, 19_000, 19_001, 50):
        done = subprocess.run(
            ["taskset", "-c", "0", AGENT, "cyclic", form, "-D15s", "--watchdog=300ms"],
            capture_output=True,
            timeout=60,
            check=False,
        )
    assert said.encode() in done.stdout
    assert done.returncode == 3
