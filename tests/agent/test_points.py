# SPDX-License-Identifier: GPL-2.0-only
"""Measurement points of real programs, read from outside by the agent."""

import json
import os
import re
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from rtscope.model.points import Points
from rtscope.target.protocol import AgentWarning, End, check_hello, decode_line
from tests.agent.probing import AGENT, NOBODY, needs_root

INCLUDE = Path(__file__).parents[2] / "agent" / "include"
STRICT = ("-O2", "-Wall", "-Wextra", "-Wshadow", "-Wconversion", "-Werror", "-pedantic")

Compile = Callable[..., Path]

# Each takes a sample of 1 ms in a point within a point until it is ended.
LOOP = """
#include <rtscope/points.h>

int main(void)
{
	struct rtscope_point *outer = rtscope_point_add(NULL, "OUTER", 500000, "a loop");
	struct rtscope_point *inner = rtscope_point_add(outer, "INNER", 0, "its sleep");
	struct timespec pause = { 0, 1000000 };

	for (;;) {
		uint64_t outer_ns = rtscope_begin(outer), inner_ns = rtscope_begin(inner);

		nanosleep(&pause, NULL);
		rtscope_end(inner, inner_ns);
		rtscope_end(outer, outer_ns);
	}
}
"""
ONCE = """
#include <rtscope/points.h>
%s
int main(int argc, char **argv)
{
	struct rtscope_points_page *page;
	struct rtscope_point *point = rtscope_point_add(NULL, "POINT", 0, "text");

	(void)argc;
	(void)argv;
	(void)point;
	page = rtscope_points_v1.page;
	(void)page;
	%s;
	puts("ready");
	fflush(stdout);
	pause();
	return 0;
}
"""


@pytest.fixture
def compiled(tmp_path: Path) -> Compile:
    def compile_source(
        source: str, *options: str, compiler: str = "cc", name: str = "program"
    ) -> Path:
        file, program = tmp_path / f"{name}.c", tmp_path / name
        file.write_text(source)
        language = ["-x", "c++"] if compiler.endswith("++") else []
        subprocess.run(
            [compiler, *language, *STRICT, *options, f"-I{INCLUDE}", file, "-o", program],
            check=True,
        )
        return program

    return compile_source


@contextmanager
def running(*command: str | Path, ready: bool = True) -> Iterator[subprocess.Popen[bytes]]:
    """A program, once it has said that it is ready."""
    with subprocess.Popen(command, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        if ready:
            assert process.stdout.readline() == b"ready\n"
        try:
            yield process
        finally:
            process.kill()


def agent(
    *arguments: str | int, prefix: tuple[str, ...] = (), path: Path = AGENT
) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(
        [*prefix, path, "points", *map(str, arguments)],
        capture_output=True,
        timeout=30,
        check=False,
    )


def look(pid: int, *options: str) -> tuple[Points, list[str]]:
    """The last look and the codes of all warnings."""
    done = agent(pid, "--json", *options)
    assert done.returncode == 0, done.stderr
    lines = [decode_line(line) for line in done.stdout.splitlines()]
    check_hello(lines[0])
    assert isinstance(lines[-1], End)
    looks = [line for line in lines if isinstance(line, Points)]
    return looks[-1], [line.code for line in lines if isinstance(line, AgentWarning)]


def look_at_counts(pid: int, least: int) -> Points:
    """A look once every point has `least` samples."""
    deadline = time.monotonic() + 20
    while time.monotonic() < deadline:
        if agent(pid).returncode == 0:
            seen, _ = look(pid)
            if seen.points and all(point.count >= least for point in seen.points):
                return seen
    pytest.fail(f"process {pid} has no {least} samples in each point after 20 s")


COMPILERS = [
    ("cc", "-std=c11", "-D_DEFAULT_SOURCE"),
    ("cc", "-std=gnu11"),
    ("cc", "-std=gnu17", "-D_GNU_SOURCE", "-fvisibility=hidden", "-fPIC"),
    ("c++", "-std=c++17"),
    ("c++", "-std=c++20", "-fno-exceptions"),
]


@pytest.mark.parametrize("compiler", COMPILERS, ids=" ".join)
def test_a_program_in_any_of_these_languages_has_its_points_seen(
    compiler: tuple[str, ...], compiled: Compile
) -> None:
    program = compiled(LOOP, *compiler[1:], compiler=compiler[0])
    with running(program, ready=False) as process:
        outer, inner = look_at_counts(process.pid, 20).points
    assert (outer.name, outer.text, outer.budget_ns, outer.parent) == (
        "OUTER",
        "a loop",
        500000,
        None,
    )
    assert (inner.name, inner.parent, inner.budget_ns) == ("INNER", 0, None)
    assert outer.count == outer.over_budget
    assert inner.min_ns is not None
    assert inner.min_ns >= 1_000_000
    assert outer.mean_ns is not None
    assert inner.mean_ns is not None
    assert outer.min_ns is not None
    assert outer.max_ns is not None
    assert outer.min_ns <= outer.mean_ns <= outer.max_ns
    assert inner.mean_ns <= outer.mean_ns * 1.1


def test_a_cplusplus_scope_counts_whichever_way_it_is_left(compiled: Compile) -> None:
    body = """
struct rtscope_point *thrown = rtscope_point_add(nullptr, "THROWN", 0, nullptr);
try { rtscope_scope scope(thrown); throw 1; } catch (int) { rtscope_scope again(thrown); }
"""
    with running(compiled(ONCE % ("", body), "-std=c++17", compiler="c++")) as process:
        seen, _ = look(process.pid)
    assert {point.name: point.count for point in seen.points} == {"POINT": 0, "THROWN": 2}


def test_points_are_switched_and_reset_from_outside(compiled: Compile) -> None:
    with running(compiled(LOOP), ready=False) as process:
        look_at_counts(process.pid, 5)
        look(process.pid, "--disable", "INNER", "--reset")
        time.sleep(0.1)
        outer, inner = look(process.pid)[0].points
        assert (outer.enabled, inner.enabled) == (True, False)
        assert outer.count > 5
        assert inner.count <= 1, "but for the sample that it was in"
        look(process.pid, "--enable", "INNER", "--pause")
        paused = look(process.pid)[0]
        time.sleep(0.1)
        later = look(process.pid)[0]
        assert later.paused
        assert all(
            after.enabled and after.count - before.count <= 1
            for before, after in zip(paused.points, later.points, strict=True)
        )
        assert not look(process.pid, "--resume")[0].paused
        least = max(point.count for point in later.points) + 5
        look_at_counts(process.pid, least)


def test_nothing_is_changed_where_one_of_the_changes_cannot_be(compiled: Compile) -> None:
    with running(compiled(LOOP), ready=False) as process:
        look_at_counts(process.pid, 1)
        done = agent(process.pid, "--disable", "OUTER", "--enable", "NONE")
        assert (done.returncode, done.stdout) == (2, b"")
        assert b"no point 'NONE'; nothing was changed" in done.stderr
        assert all(point.enabled for point in look(process.pid)[0].points)


def test_the_last_metrics_of_a_program_that_ends_are_reported(compiled: Compile) -> None:
    with running(compiled(LOOP), ready=False) as process:
        look_at_counts(process.pid, 1)
        with subprocess.Popen(
            [AGENT, "points", str(process.pid), "--json", "-i", "10s"], stdout=subprocess.PIPE
        ) as watcher:
            assert watcher.stdout is not None
            check_hello(decode_line(watcher.stdout.readline()))
            first = decode_line(watcher.stdout.readline())
            time.sleep(0.2)
            process.kill()
            rest = [decode_line(line) for line in watcher.stdout]
    assert isinstance(first, Points)
    assert isinstance(rest[0], Points)
    assert rest[0].points[0].count > first.points[0].count
    assert isinstance(rest[1], AgentWarning)
    assert rest[1].code == "process-ended"
    assert isinstance(rest[2], End)
    assert rest[2].time_ns < 9e9


def test_a_killed_program_leaves_nothing_behind(compiled: Compile) -> None:
    places = [Path("/dev/shm"), Path(os.environ.get("XDG_RUNTIME_DIR", "/run"))]
    before = {entry for place in places if place.exists() for entry in place.iterdir()}
    with running(compiled(LOOP), ready=False) as process:
        look_at_counts(process.pid, 1)
        process.kill()
        process.wait()
        assert b"there is no process" in agent(process.pid).stderr
    after = {entry for place in places if place.exists() for entry in place.iterdir()}
    assert not {entry for entry in after - before if "rtscope" in entry.name}


def test_a_program_that_becomes_another_is_noticed(compiled: Compile) -> None:
    body = 'puts("ready"); fflush(stdout); sleep(1); execlp("sleep", "sleep", "2", (char *)NULL)'
    with running(compiled(ONCE % ("", body))) as process:
        _, codes = look(process.pid, "-i", "200ms")
    assert codes == ["points-closed", "process-ended"]


def test_a_plugin_with_a_copy_of_its_own_is_shown_too(compiled: Compile, tmp_path: Path) -> None:
    plugin = """
#include <rtscope/points.h>
__attribute__((visibility("default"))) void plug(void);
void plug(void)
{
	struct rtscope_point *outer = rtscope_point_add(NULL, "PLUGIN", 0, NULL);

	rtscope_sample(rtscope_point_add(outer, "PLUGIN PART", 0, NULL), 1);
}
"""
    library = compiled(plugin, "-shared", "-fPIC", "-fvisibility=hidden", name="plugin.so")
    body = f"""
void *library = dlopen("{library}", RTLD_NOW | RTLD_LOCAL);
union {{ void *object; void (*function)(void); }} plug = {{ dlsym(library, "plug") }};
plug.function()
"""
    source = ONCE % ("#include <dlfcn.h>", body)
    with running(compiled(source)) as process:
        seen, codes = look(process.pid)
        look(process.pid, "--disable", "PLUGIN")
        switched = look(process.pid)[0]
    points = {point.name: point for point in seen.points}
    assert set(points) == {"POINT", "PLUGIN", "PLUGIN PART"}
    parent = points["PLUGIN PART"].parent
    assert parent is not None
    assert seen.points[parent].name == "PLUGIN"
    assert {point.name for point in switched.points if not point.enabled} == {"PLUGIN"}
    assert codes == []


@pytest.mark.parametrize(
    ("spoil", "said"),
    [
        ("page->version = 2", b"layout 2 and this agent reads layout 1"),
        ("page->magic[0] = 'X'", b"named as points are and holds none"),
        ("page->pid = 1", b"has no measurement points"),
    ],
)
def test_a_page_that_cannot_be_read_is_a_sentence(
    spoil: str, said: bytes, compiled: Compile
) -> None:
    with running(compiled(ONCE % ("", spoil))) as process:
        done = agent(process.pid)
    assert (done.returncode, done.stdout) == (2, b"")
    assert said in done.stderr
    assert done.stderr.count(b"\n") == 1


@pytest.mark.parametrize("seals", ["", "ftruncate(fd, 4096); fcntl(fd, 1033, 1); "])
def test_a_file_that_could_shrink_under_its_reader_is_not_mapped(
    seals: str, compiled: Compile
) -> None:
    body = f"""
int fd = (int)syscall(SYS_memfd_create, RTSCOPE_POINTS_NAME, 2);
close(rtscope_points_v1.fd);
if (fd >= 0) {{ {seals} }}
"""
    with running(compiled(ONCE % ("", body))) as process:
        done = agent(process.pid)
    assert done.returncode == 2
    assert b"is no page of them" in done.stderr


def test_hostile_memory_is_bounded_and_reported(compiled: Compile) -> None:
    body = r"""
struct rtscope_point *evil = rtscope_point_add(NULL, "\033[2J\nEVIL", 0, "\033]0;x\007\xff\xfe");
rtscope_sample(evil, 70);
rtscope_sample(point, 70);
evil->figures[0].max_ns = 3;
point->parent = 77;
page->count = 4000000000U
"""
    with running(compiled(ONCE % ("", body))) as process:
        seen, codes = look(process.pid)
        table = agent(process.pid)
    assert [point.name for point in seen.points] == ["POINT", "\x1b[2J\nEVIL"]
    assert [(point.count, point.max_ns, point.parent) for point in seen.points] == [
        (0, None, None)
    ] * 2
    assert codes == ["points-impossible"] * 2
    assert re.fullmatch(rb"[ -~\n]*", table.stdout)
    assert re.fullmatch(rb"[ -~\n]*", table.stderr)
    assert table.stdout.count(b"\n") == 4


@pytest.mark.parametrize("count", [3, 128, 4_000_000_000])
def test_a_count_beyond_the_pages_end_does_not_kill_who_switches_points(
    count: int, compiled: Compile
) -> None:
    body = f"page->count = {count}U"
    with running(compiled(ONCE % ("", body))) as process:
        assert look(process.pid, "--pause")[0].paused
        assert not look(process.pid, "--resume")[0].paused
        seen, codes = look(process.pid, "--reset", "--disable", "POINT")
        assert [(point.name, point.enabled) for point in seen.points] == [("POINT", False)]
        assert codes == []
        again = look(process.pid, "--enable", "POINT", "--pause", "--resume")[0]
        assert [point.enabled for point in again.points] == [True]


def test_a_process_that_cannot_be_read_is_a_sentence() -> None:
    with running("bash", "-c", "echo ready; kill -STOP $$") as process:
        done = agent(process.pid)
        assert done.returncode == 2
        assert f"process {process.pid} (bash) has no measurement points".encode() in done.stderr
        process.kill()
        os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
        done = agent(process.pid)
        assert done.returncode == 2
        assert f"process {process.pid} (bash) has ended".encode() in done.stderr
    process.wait()
    done = agent(process.pid)
    assert done.returncode == 2
    assert f"there is no process {process.pid} here".encode() in done.stderr


@needs_root
def test_somebody_elses_program_is_a_sentence(compiled: Compile, public_agent: Path) -> None:
    with running(compiled(LOOP), ready=False) as process:
        look_at_counts(process.pid, 1)
        done = agent(process.pid, prefix=NOBODY, path=public_agent)
    assert (done.returncode, done.stdout) == (2, b"")
    assert b"belongs to user 0; ask as that user or as root" in done.stderr


@needs_root
def test_an_ordinary_user_reads_and_switches_a_program_of_their_own(
    compiled: Compile, public_agent: Path, tmp_path: Path
) -> None:
    program = public_agent.parent / "loop"
    compiled(LOOP).rename(program)
    with running(*NOBODY, program, ready=False) as process:
        look_at_counts(process.pid, 1)
        done = agent(process.pid, "--disable", "OUTER", "--json", prefix=NOBODY, path=public_agent)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout.splitlines()[1])["points"][0]["enabled"] is False
