# SPDX-License-Identifier: GPL-2.0-only
"""The live view fits any terminal and shows the worst first."""

import io

import msgspec
import pytest
from rich.cells import cell_len
from rich.console import Console

from rtscope.model.progress import LoadProgress, Progress, ThreadProgress, WindowProgress
from rtscope.model.run import RunWarning
from rtscope.report.terminal.live import LiveState, live_view


def progress_of(threads: int) -> Progress:
    return Progress(
        3_000_000_000,
        [
            ThreadProgress(
                n, 15_000, n % 3, 2000, 4000.0, 9000, 20_000 + n * 100, WindowProgress(9, 1.0, 5000)
            )
            for n in range(threads)
        ],
        [LoadProgress("files", {"bytes_written": 9_000_000})],
    )


def state_of(threads: int) -> LiveState:
    return LiveState(
        "cyclic under files:50 on local",
        {n: n for n in range(threads)},
        duration_ns=30_000_000_000,
        progress=progress_of(threads),
        warnings=[RunWarning("no-memlock", "memory is not locked")],
    )


def shown(state: LiveState, width: int = 100, height: int = 24) -> list[str]:
    file = io.StringIO()
    Console(file=file, width=width, height=height, color_system=None).print(live_view(state))
    return file.getvalue().splitlines()


def test_all_that_is_known_so_far_is_shown() -> None:
    text = "\n".join(shown(state_of(2)))
    for words in [
        "3 s of 30 s, 27 s left",
        "15,000",
        "2.00 us",
        "4.00 us",
        "9.00 us",
        "20.10 us",
        "load files: 3.00 M bytes written/s",
        "! memory is not locked",
    ]:
        assert words in text


@pytest.mark.parametrize("height", [8, 12, 24, 60])
@pytest.mark.parametrize("width", [20, 40, 100])
def test_it_never_outgrows_the_terminal(width: int, height: int) -> None:
    lines = shown(state_of(64), width, height)
    assert max(cell_len(line) for line in lines) <= width
    if width >= 40:
        assert len(lines) <= height + 2


def test_the_worst_cpus_stay_when_there_is_no_room_for_all() -> None:
    lines = [line.rstrip() for line in shown(state_of(64), height=20)]
    first = next(n for n, line in enumerate(lines) if line.startswith("CPU")) + 1
    assert lines[first].startswith("63 ")
    hidden = next(line for line in lines if line.startswith("…"))
    rows = lines.index(hidden) - first
    assert hidden == f"… {64 - rows} more CPUs"


def test_the_loads_rate_is_the_present_one() -> None:
    state = state_of(1)
    state.previous = msgspec.structs.replace(
        progress_of(1),
        time_ns=2_000_000_000,
        loads=[LoadProgress("files", {"bytes_written": 8_000_000})],
    )
    assert "load files: 1.00 M bytes written/s" in "\n".join(shown(state))


def test_ways_a_run_ends() -> None:
    by_count = LiveState("t", {0: None}, samples=30_000, progress=progress_of(1))
    assert "15,000 of 30,000 samples, about 3 s left" in "\n".join(shown(by_count))
    assert "thread 0" in "\n".join(shown(by_count))
    assert "Ctrl-C" in "\n".join(shown(LiveState("t", progress=progress_of(1))))
    assert "waiting for the first sample" in "\n".join(shown(LiveState("t")))


def test_threads_without_a_sample_and_hostile_names_are_shown_as_they_are() -> None:
    progress = Progress(0, [ThreadProgress(0, 0)], [LoadProgress("\x1b[2J[red]", {"x": 1})])
    text = "\n".join(shown(LiveState("\x1b]0;t\x07", duration_ns=10, progress=progress)))
    assert "–" in text
    assert "[red]" in text
    assert "\x1b" not in text


def test_a_progress_line_of_the_protocol_is_read() -> None:
    line = (
        b'{"type":"progress","time_ns":5,"threads":[{"thread":0,"count":0,"missed":0,'
        b'"min_ns":null,"mean_ns":null,"p999_ns":null,"max_ns":null,"window":{"count":0,'
        b'"mean_ns":null,"max_ns":null},"later":1}],"loads":[{"name":"cpu","work":{"loops":7}}]}'
    )
    progress = msgspec.json.decode(line, type=Progress)
    assert progress.threads == [ThreadProgress(0, 0)]
    assert progress.loads[0].work == {"loops": 7}
