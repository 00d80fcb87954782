# SPDX-License-Identifier: GPL-2.0-only
"""Tuning threads of the test's own on this machine, and taking that back whatever happens."""

import fcntl
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from itertools import count, product
from pathlib import Path

import pytest

from tests.agent.probing import AGENT, LAST_CPU, NOBODY, needs_root, needs_two_cpus
from tests.agent.tuning import MARK, Given, given, read, tune, waiting_threads
from tests.places import needs_kernel_threads, needs_sysctls, unshare

HOSTILE = MARK + '%41) R\n"\\\x1b'
OF_HOSTILE = f"name={MARK}%41)?R*"
RULE = f"thread name={MARK}-a* policy=fifo priority=3 nice=4 cpus={LAST_CPU}"
TUNED = Given(os.SCHED_FIFO, 3, 4, {LAST_CPU})
DOMAIN = "/proc/sys/kernel/domainname"
"""a UTS namespace has its own"""
KINDS = ["thread-policy", "thread-nice", "thread-cpus"]

pytestmark = [needs_root, needs_two_cpus]


@pytest.fixture
def journal(tmp_path: Path) -> Path:
    return tmp_path / "journal"


@pytest.fixture
def tids() -> Iterator[list[int]]:
    with waiting_threads(f"{MARK}-a main", f"{MARK}-a two") as threads:
        yield threads


@pytest.fixture
def users_journal(public_agent: Path) -> Path:
    """A folder of an ordinary user's."""
    path = public_agent.parent / "journal"
    path.mkdir(mode=0o700)
    os.chown(path, 65534, 65534)
    return path


def entries(journal: Path) -> list[str]:
    return (journal / "journal").read_text().splitlines()


def test_a_running_program_that_undoes_such_changes_is_named(journal: Path, tmp_path: Path) -> None:
    """In a PID namespace, so that no other test sees it."""
    shutil.copy(shutil.which("sleep") or "", tmp_path / "tuned")
    script = f'mount -t proc proc /proc; {tmp_path}/tuned 60 & exec "$@"'
    before = (*unshare("--mount", "--pid", "--fork", "--kill-child"), "sh", "-c", script, "sh")
    rules = (f"file path={DOMAIN} value=other.example", "latency limit=0")
    shown = tune(journal, "show", *rules, before=before)
    assert list(shown.warnings) == ["rival-running"]
    assert "of the kind file (1 here)" in shown.warnings["rival-running"]


def test_show_reports_each_change_and_makes_none(journal: Path, tids: list[int]) -> None:
    before = [given(tid) for tid in tids]
    shown = tune(journal, "show", "--profile", "p", RULE)
    assert shown.status == 0
    assert [change["kind"] for change in shown.changes] == KINDS * 2
    assert {change["where"] for change in shown.changes} == {f"tid {tid}" for tid in tids}
    assert shown.changes[0] | {"what": "", "where": ""} == {
        "type": "change", "profile": "p", "kind": "thread-policy", "what": "", "where": "",
        "old": "other", "new": "fifo:3", "state": "planned", "why": "",
        "rule": RULE,
    }  # fmt: skip
    assert f"{MARK}-a main (tid {tids[0]})" in {change["what"] for change in shown.changes}
    assert [given(tid) for tid in tids] == before
    assert not journal.exists()


def test_what_is_applied_is_so_and_undo_puts_all_back(journal: Path, tids: list[int]) -> None:
    os.sched_setscheduler(tids[1], os.SCHED_RR | os.SCHED_RESET_ON_FORK, os.sched_param(7))
    before = [given(tid) for tid in tids]
    applied = tune(journal, "apply", RULE)
    assert applied.status == 0
    assert applied.states() == ["applied"] * 6
    assert given(tids[0]) == TUNED
    assert given(tids[1]) == TUNED._replace(policy=os.SCHED_FIFO | os.SCHED_RESET_ON_FORK)
    text = (journal / "journal").read_text()

    again = tune(journal, "apply", RULE)
    assert (again.status, again.changes) == (0, [])
    assert (journal / "journal").read_text() == text
    assert tune(journal, "status").states() == ["in-effect"] * 6

    undone = tune(journal, "undo")
    assert undone.status == 0
    assert undone.states() == ["restored"] * 6
    assert [given(tid) for tid in tids] == before
    assert not (journal / "journal").exists()
    assert tune(journal, "undo").changes == []


def test_a_hostile_name_is_tuned_reported_and_undone(journal: Path) -> None:
    with waiting_threads(HOSTILE) as (tid,):
        before = given(tid)
        rule = f"thread {OF_HOSTILE} policy=batch nice=5"
        applied = tune(journal, "apply", rule)
        assert applied.states() == ["applied"] * 2
        assert applied.changes[0]["what"] == f"{HOSTILE} (tid {tid})"
        assert len(entries(journal)) == 2
        assert tune(journal, "undo").states() == ["restored"] * 2
        assert given(tid) == before


@pytest.mark.parametrize("first", ["a", "b"])
def test_of_overlapping_profiles_each_can_be_undone_first(
    journal: Path, tids: list[int], first: str
) -> None:
    before = [given(tid) for tid in tids]
    tune(journal, "apply", "--profile", "a", RULE)
    both = f"thread name={MARK}-a* policy=fifo priority=3 nice=9"
    applied = tune(journal, "apply", "--profile", "b", both)
    assert [(change["kind"], change["old"], change["new"]) for change in applied.changes] == [
        ("thread-policy", "fifo:3", "fifo:3"),
        ("thread-nice", "4", "9"),
    ] * 2
    assert "the profile a has done it already" in applied.changes[0]["why"]

    undone = tune(journal, "undo", "--profile", first)
    assert undone.status == 0
    left = TUNED if first == "b" else before[0]._replace(policy=os.SCHED_FIFO, priority=3, nice=9)
    assert [given(tid) for tid in tids] == [left] * 2
    if first == "a":
        assert undone.states() == ["restored", "left", "left"] * 2
        assert "the profile b has it too" in undone.changes[1]["why"]
    tune(journal, "undo")
    assert [given(tid) for tid in tids] == before


def test_to_undo_what_is_not_applied_is_refused_with_what_is(
    journal: Path, tids: list[int]
) -> None:
    nothing = tune(journal, "undo", "--profile", "quit")
    assert (nothing.status, nothing.changes) == (1, [])
    assert "the profile quit is not applied here, and none is" in nothing.complaint
    for name, rule in (("quiet", "nice=4"), ("late", "policy=batch"), ("gone", "nice=9")):
        tune(journal, "apply", "--profile", name, f"thread name={MARK}-a* {rule}")
    tune(journal, "undo", "--profile", "gone")
    text = (journal / "journal").read_text()

    refused = tune(journal, "undo", "--profile", "quit")
    assert (refused.status, refused.changes) == (1, [])
    assert refused.complaint.endswith("quit is not applied here, but these are: quiet, late\n")
    assert (journal / "journal").read_text() == text
    assert given(tids[0]).nice == 4


def test_two_at_once_are_refused_at_once(journal: Path, tids: list[int]) -> None:
    journal.mkdir()
    handle = os.open(journal, os.O_RDONLY)
    fcntl.flock(handle, fcntl.LOCK_EX)
    refused = [tune(journal, "apply", RULE), tune(journal, "undo")]
    os.close(handle)
    for one in refused:
        assert one.status == 1
        assert "another rtscope is tuning this machine" in one.complaint
    assert given(tids[0]).policy == os.SCHED_OTHER


@pytest.mark.skipif(not shutil.which("strace"), reason="strace is needed")
def test_killed_before_any_write_to_disk_or_machine_undo_restores_all(
    journal: Path, tids: list[int]
) -> None:
    """Each call is made twice by then, and who enters it is killed; the last run is not."""
    calls = ["write", "fsync", "sched_setscheduler", "setpriority", "sched_setaffinity"]
    before = [given(tid) for tid in tids]
    tuned = set()
    for call, number in [*product(calls, (1, 2)), (",".join(calls[2:]), 3)]:
        inject = f"inject={call}:signal=KILL:when={number}"
        strace = ("strace", "-f", "-o", "/dev/null", "-e", inject)
        ended = tune(journal, "apply", RULE, before=strace)
        assert ended.status == (-signal.SIGKILL if number < 3 else 0)
        tuned.add(sum(given(tid) != was for tid, was in zip(tids, before, strict=True)))
        undone = tune(journal, "undo")
        assert (undone.status, set(undone.states()) - {"restored"}) == (0, set())
        assert [given(tid) for tid in tids] == before
        assert not (journal / "journal").exists()
    assert tuned == {0, 1, 2}


@pytest.mark.skipif(not shutil.which("strace"), reason="strace is needed")
def test_an_undo_that_was_killed_can_be_undone_on(journal: Path, tids: list[int]) -> None:
    before = [given(tid) for tid in tids]
    tune(journal, "apply", RULE)
    for number in count(1):
        inject = f"inject=write,sched_setaffinity,setpriority,unlinkat:signal=KILL:when={number}"
        strace = ("strace", "-f", "-o", "/dev/null", "-e", inject)
        if tune(journal, "undo", before=strace).status == 0:
            break
    assert number > 1
    assert [given(tid) for tid in tids] == before
    assert not (journal / "journal").exists()


def test_a_torn_journal_loses_its_torn_line_alone(journal: Path, tids: list[int]) -> None:
    before = given(tids[0])
    tune(journal, "apply", f"thread name={MARK}-a?main nice=4")
    whole = (journal / "journal").read_bytes()
    for torn in (whole[:-1], whole[:30], b"c"):
        (journal / "journal").write_bytes(whole + torn)
        assert tune(journal, "status").states() == ["in-effect"]
    tune(journal, "apply", f"thread name={MARK}-a?two nice=4")
    assert [entry.split()[3] for entry in entries(journal)] == ["1", "2"]
    assert tune(journal, "undo").states() == ["restored"] * 2
    assert given(tids[0]) == before


def test_what_a_newer_agent_wrote_is_kept_for_it(journal: Path, tids: list[int]) -> None:
    tune(journal, "apply", f"thread name={MARK}-a?main nice=4")
    boot = entries(journal)[0].split()[1]
    newer = [
        f"change {boot} newer 7 thread-colour {tids[0]}%20123 blue%25 green 99",
        "old 7 red",
        f"change {boot} newer 8 thread-nice {tids[1]} 0 5 99 and-more",
        "repainted 7",
    ]
    with (journal / "journal").open("a") as file:
        file.write("".join(f"{line}\n" for line in newer))
    applied = tune(journal, "apply", f"thread name={MARK}-a?two nice=3")
    assert "journal-unreadable" in applied.warnings
    assert entries(journal)[-1].split()[3] == "9", "its numbers are not given again"
    for _ in range(2):
        undone = tune(journal, "undo")
        assert undone.status == 1, "what it cannot undo is refused by name"
        refused = [change for change in undone.changes if change["state"] == "failed"]
        assert [(change["profile"], change["kind"]) for change in refused] == [
            ("newer", "thread-nice"),
            ("newer", "thread-colour"),
        ]
        assert [given(tid).nice for tid in tids] == [0, 0]
        assert [line for line in entries(journal) if line in newer] == newer
    assert tune(journal, "undo", "--profile", "newer").states() == ["failed"] * 2

    boots = [f"change {boot} p {n} thread-nice 4000000%201 0 1 9" for n in range(10, 300)]
    forgotten = [f"undone {n}" for n in range(11, 300)]
    (journal / "journal").write_text("".join(f"{line}\n" for line in [*newer, *boots, *forgotten]))
    tune(journal, "apply", f"thread name={MARK}-a?main nice=2")
    assert len(entries(journal)) == len(newer) + 2, "it was written anew"
    assert entries(journal)[: len(newer)] == newer


def test_a_newer_agents_line_is_kept_byte_for_byte(journal: Path, tids: list[int]) -> None:
    tune(journal, "apply", f"thread name={MARK}-a* nice=4")
    first, second = (journal / "journal").read_bytes().splitlines(keepends=True)
    newer = b"\0\xff one \0 \r\n" + b"new 1 2 3\n" + b"blob \0\0\n"
    (journal / "journal").write_bytes(first + newer + second)
    undone = tune(journal, "undo")
    assert undone.status == 1
    assert sorted(undone.states()) == ["failed", "restored"], "one is about the first change"
    assert sorted(given(tid).nice for tid in tids) == [0, 4]
    kept = (journal / "journal").read_bytes()
    assert first in kept
    for line in newer.splitlines(keepends=True):
        assert line in kept
    assert tune(journal, "status").states() == ["in-effect"]
    assert (journal / "journal").read_bytes() == kept


@pytest.mark.skipif(not shutil.which("strace"), reason="strace is needed")
def test_a_journal_that_cannot_be_written_anew_loses_nothing(
    journal: Path, tids: list[int]
) -> None:
    tune(journal, "apply", f"thread name={MARK}-a?main nice=4")
    boot = entries(journal)[0].split()[1]
    newer = "".join(f"repainted {n} {'x' * 100}\n" for n in range(300))
    made = [f"change {boot} p {n} thread-nice 4000000%201 0 1 9\n" for n in range(10, 300)]
    forgotten = [f"undone {n}\n" for n in range(10, 300)]
    before = newer + "".join([*made, *forgotten]) + (journal / "journal").read_text()
    for number in range(1, 20):
        (journal / "journal").write_text(before)
        inject = f"inject=write,writev:error=ENOSPC:when={number}"
        strace = ("strace", "-o", "/dev/null", "-P", str(journal / "journal.new"), "-e", inject)
        tune(journal, "undo", "--profile", "none", before=strace)
        after = (journal / "journal").read_text()
        assert newer in after, number
        if after != before:
            break
    assert number > 1
    assert tune(journal, "undo").states().count("restored") == 1
    assert newer in (journal / "journal").read_text()
    assert given(tids[0]).nice == 0


@pytest.mark.skipif(not shutil.which("strace"), reason="strace is needed")
def test_folders_that_a_killed_agent_made_are_on_disk_before_a_change(
    tmp_path: Path, tids: list[int]
) -> None:
    folder, trace = tmp_path / "one" / "two" / "journal", tmp_path / "trace"
    rule = f"thread name={MARK}-a?main nice=4"
    killed = ("strace", "-o", "/dev/null", "-e", "inject=fsync:signal=KILL:when=1")
    assert tune(folder, "apply", rule, before=killed).status == -signal.SIGKILL
    assert folder.exists()
    refused = ("strace", "-o", "/dev/null", "-e", "inject=fsync:error=EIO:when=1")
    failed = tune(folder, "apply", rule, before=refused)
    assert (failed.status, given(tids[0]).nice) == (1, 0)
    traced = ("strace", "-y", "-o", str(trace), "-e", "trace=fsync,setpriority")
    tune(folder, "apply", rule, before=traced)
    before = trace.read_text().partition("setpriority(")[0]
    for synced in (tmp_path, tmp_path / "one", tmp_path / "one" / "two", folder):
        assert re.search(rf"fsync\(\d+<{synced}>\)", before), synced
    assert tune(folder, "undo").states() == ["restored"]


def test_what_an_earlier_boot_ended_is_stale_and_tidied_up(journal: Path, tids: list[int]) -> None:
    tune(journal, "apply", RULE)
    boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    text = (journal / "journal").read_text().replace(boot, boot[::-1])
    (journal / "journal").write_text(text)
    assert tune(journal, "status").states() == ["stale"] * 6
    assert not (journal / "journal").exists()
    assert given(tids[0]) == TUNED


def test_a_journal_that_others_may_write_is_not_followed(journal: Path, tids: list[int]) -> None:
    tune(journal, "apply", f"thread name={MARK}-a?main nice=4")
    (journal / "journal").chmod(0o666)
    undone = tune(journal, "undo")
    assert undone.status == 1
    assert "may be written by others" in undone.complaint
    assert given(tids[0]).nice == 4


def test_settings_changed_by_others_since_then_are_reported_and_left(
    journal: Path, tids: list[int]
) -> None:
    tune(journal, "apply", f"thread name={MARK}-a?main nice=4")
    os.setpriority(os.PRIO_PROCESS, tids[0], 11)
    (status,) = tune(journal, "status").changes
    assert (status["state"], status["why"]) == ("set-back", "it is 11 now")
    (undone,) = tune(journal, "undo").changes
    assert (undone["state"], given(tids[0]).nice) == ("left", 11)
    assert "it is 11 now" in undone["why"]


def test_what_is_set_back_within_a_second_has_not_held(journal: Path) -> None:
    stubborn = (
        f"import os, time\nopen('/proc/self/comm', 'w').write('{MARK}-stubborn')\n"
        "print('ready', flush=True)\n"
        "while True: os.sched_setaffinity(0, os.sched_getaffinity(1)); time.sleep(0.05)"
    )
    command = [sys.executable, "-c", stubborn]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as child:
        try:
            assert child.stdout is not None
            child.stdout.readline()
            rule = f"thread name={MARK}-stubborn cpus={LAST_CPU}"
            applied = tune(journal, "apply", rule)
        finally:
            child.kill()
    assert (applied.status, applied.states()) == (1, ["not-held"])
    (gone,) = tune(journal, "undo").changes
    assert (gone["state"], gone["why"]) == ("gone", "it has ended")


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_an_interrupted_apply_undoes_what_it_made(
    journal: Path, tids: list[int], number: int
) -> None:
    before = [given(tid) for tid in tids]
    command: list[str | Path] = [AGENT, "tune", "--json", "--journal", journal, "apply", RULE]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdout=pipe, stderr=pipe, text=True) as process:
        end_s = time.monotonic() + 10
        while given(tids[1]) != TUNED and time.monotonic() < end_s:
            time.sleep(0.01)
        process.send_signal(number)
        output, complaint = process.communicate(timeout=10)
    ended = read(process.returncode, output, complaint)
    assert (ended.status, ended.states()) == (1, ["restored"] * 6)
    assert "changes restored: 6" in complaint
    assert [given(tid) for tid in tids] == before
    assert not (journal / "journal").exists()


@pytest.mark.skipif(not shutil.which("strace"), reason="strace is needed")
def test_an_interrupted_apply_reports_what_it_could_not_restore(
    journal: Path, tids: list[int]
) -> None:
    strace = ["strace", "-f", "-o", "/dev/null"]
    strace += ["-e", "inject=nanosleep,clock_nanosleep:signal=INT:when=1"]
    strace += ["-e", "inject=setpriority:error=EPERM:when=3+"]
    ended = tune(journal, "apply", f"thread name={MARK}-a* nice=4", before=tuple(strace))
    assert (ended.status, ended.states()) == (1, ["failed"] * 2)
    assert "not restored: 2" in ended.complaint
    assert [given(tid).nice for tid in tids] == [4, 4]
    assert tune(journal, "undo").states() == ["restored"] * 2


def test_an_interrupted_second_apply_leaves_what_the_first_one_made(
    journal: Path, tids: list[int]
) -> None:
    rule = f"thread name={MARK}-a* nice=4"
    tune(journal, "apply", rule)
    os.setpriority(os.PRIO_PROCESS, tids[0], 9)
    with subprocess.Popen(
        [AGENT, "tune", "apply", "--json", "--journal", journal, rule],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    ) as process:
        end_s = time.monotonic() + 10
        while given(tids[0]).nice != 4 and time.monotonic() < end_s:
            time.sleep(0.001)
        process.send_signal(signal.SIGINT)
    assert [given(tid).nice for tid in tids] == [9, 4]
    assert tune(journal, "undo").states() == ["restored"]
    assert [given(tid).nice for tid in tids] == [9, 0]


# Starts a "sleep" of its own for each line that it reads, and tells its number.
_PARENT = """
import subprocess, sys
open("/proc/self/comm", "w").write(sys.argv[1])
print("ready", flush=True)
for line in sys.stdin:
    words = ["sh", "-c", "sleep 60 & echo $!; wait"] if "grand" in line else ["sleep", "60"]
    child = subprocess.Popen(words, stdout=subprocess.PIPE if "grand" in line else None, text=True)
    print(child.stdout.readline().strip() if child.stdout else child.pid, flush=True)
"""


def test_threads_started_by_a_tuned_thread_are_restored_with_it(journal: Path) -> None:
    pipe = subprocess.PIPE
    with subprocess.Popen(
        [sys.executable, "-c", _PARENT, f"{MARK}-parent"],
        stdin=pipe,
        stdout=pipe,
        text=True,
        start_new_session=True,
    ) as parent:
        assert parent.stdin is not None
        assert parent.stdout is not None
        assert parent.stdout.readline() == "ready\n"

        def born(how: str) -> int:
            assert parent.stdin is not None
            assert parent.stdout is not None
            print(how, file=parent.stdin, flush=True)
            return int(parent.stdout.readline())

        try:
            os.setpriority(os.PRIO_PROCESS, parent.pid, 0)
            before = given(parent.pid)
            older = born("child")
            os.sched_setaffinity(older, {LAST_CPU})
            time.sleep(0.05)  # several ticks, by which births are told apart
            rule = f"thread name={MARK}-parent policy=batch nice=4 cpus={LAST_CPU}"
            tune(journal, "apply", rule)
            younger = [born("child"), born("grandchild")]
            tuned = Given(os.SCHED_BATCH, 0, 4, {LAST_CPU})
            assert [given(tid) for tid in younger] == [tuned] * 2
            undone = tune(journal, "undo")
            assert [given(tid) for tid in (parent.pid, *younger)] == [before] * 3
            assert given(older).cpus == {LAST_CPU}
        finally:
            os.killpg(parent.pid, signal.SIGKILL)
    assert set(undone.states()) == {"restored"}
    inherited = {change["where"] for change in undone.changes if "inherited" in change["why"]}
    assert inherited >= {f"tid {tid}" for tid in younger}


# In a PID namespace of its own, where the next number can be chosen.
_REBORN = """
import os, subprocess, sys, time
agent, journal = sys.argv[1:]

def begin():
    child = subprocess.Popen(["sleep", "60"])
    time.sleep(0.2)
    return child

def tune(*words):
    return subprocess.run([agent, "tune", "--json", "--journal", journal, *words],
                          capture_output=True, text=True).stdout

first = begin()
os.setpriority(os.PRIO_PROCESS, first.pid, 0)
tune("apply", "thread name=sleep nice=7")
assert os.getpriority(os.PRIO_PROCESS, first.pid) == 7
first.kill()
first.wait()
open("/proc/sys/kernel/ns_last_pid", "w").write(str(first.pid - 1))
second = begin()
assert second.pid == first.pid, "the number was taken by somebody else"
os.setpriority(os.PRIO_PROCESS, second.pid, 7)
print(tune("undo"), end="")
assert os.getpriority(os.PRIO_PROCESS, second.pid) == 7
second.kill()
"""


def test_another_thread_with_the_same_number_is_not_touched(journal: Path) -> None:
    done = subprocess.run(
        [*unshare("--pid", "--fork", "--kill-child", "--mount-proc"),
         sys.executable, "-c", _REBORN, AGENT, journal],
        capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    (gone,) = read(0, done.stdout, "").changes
    assert (gone["state"], gone["old"], gone["new"]) == ("gone", "0", "7")


@needs_sysctls
def test_files_of_a_network_namespace_are_set_and_put_back(journal: Path) -> None:
    path = "/proc/sys/net/ipv4/ip_default_ttl"
    script = f"""
    cat {path}
    "$@" --json apply 'file path=/proc/sys/net/ip?4/ip_default_t* value=77' && cat {path}
    "$@" undo > /dev/null && cat {path}
    """
    words = ("sh", AGENT, "tune", "--journal", journal)
    said = subprocess.check_output([*unshare("--net"), "sh", "-c", script, *words], text=True)
    before, *lines, tuned, after = said.splitlines()
    (applied,) = read(0, "\n".join(lines), "").changes
    assert (applied["where"], applied["old"], applied["new"]) == (path, before, "77")
    assert (tuned, after) == ("77", before)


FORWARD = "/proc/sys/net/ipv4/ip_forward"
REDIRECTS = "/proc/sys/net/ipv4/conf/all/accept_redirects"


@pytest.mark.parametrize(
    ("between", "left"),
    [
        ("", "0"),
        (f"echo 1 > {REDIRECTS}", "1"),  # somebody has changed it since
        ("kill", "0"),
    ],
)
def test_what_the_kernel_changes_with_a_setting_is_restored_with_it(
    journal: Path, between: str, left: str
) -> None:
    """Writing ip_forward sets accept_redirects to its opposite, in this network namespace alone."""
    if between == "kill":  # and the setting is restored, but not yet its side effect
        strace = f"strace -o /dev/null -P {FORWARD} -e inject=write:signal=KILL:when=1"
        between = f'{strace} "$@" undo > /dev/null; echo 0 > {FORWARD}'
    script = f"""
    echo 0 > {FORWARD}; echo 0 > {REDIRECTS}
    "$@" apply 'file path={FORWARD} value=1' > /dev/null || exit
    {between or ":"}
    "$@" undo > /dev/null || exit
    cat {FORWARD} {REDIRECTS}
    """
    words = ("sh", AGENT, "tune", "--journal", journal)
    said = subprocess.check_output([*unshare("--net"), "sh", "-c", script, *words], text=True)
    assert said.split() == ["0", left]
    assert not (journal / "journal").exists()


@pytest.mark.parametrize(
    ("later", "hardware", "state"),
    [
        (["tn-b"], "17", "gone"),
        (["tn-a b"], "17", "gone"),
        (["tn-b", "tn-a"], "17", "restored"),
        (["tn-a"], "18", "gone"),
        (["tn-a"], "", "restored"),
        ([], "17", "restored"),
        ([], "18", "gone"),
        ([], "", "gone"),
    ],
)
def test_an_interrupt_that_another_device_has_now_is_left_alone(
    journal: Path, tmp_path: Path, later: list[str], hardware: str, state: str
) -> None:
    """Actions come and go, and a driver may be reloaded; the number alone identifies nothing."""
    interrupts, identities = tmp_path / "irq", tmp_path / "sys"
    number = interrupts / "77"
    (number / "tn-a").mkdir(parents=True)
    (identities / "77").mkdir(parents=True)
    (identities / "77" / "hwirq").write_text("17\n")
    (identities / "77" / "chip_name").write_text("PCI-MSI\n")
    (interrupts / "default_smp_affinity").write_text("3\n")
    affinity = number / "smp_affinity_list"
    affinity.write_text("0\n")
    script = (
        f"mount --bind {interrupts} /proc/irq && mount --bind {identities} /sys/kernel/irq && "
        'exec "$@"'
    )
    inside = (*unshare("--mount"), "sh", "-c", script, "sh")

    def tuned(*words: str) -> dict[str, str]:
        (change,) = tune(journal, *words, before=inside).changes
        return change

    applied = tuned("apply", f"interrupt name=tn-a cpus={LAST_CPU}")
    assert applied["what"] == "interrupt 77 (tn-a)"
    assert applied["where"] == "/proc/irq/77/smp_affinity_list"
    assert affinity.read_text() == f"{LAST_CPU}\n"
    (number / "tn-a").rmdir()
    for name in later:
        (number / name).mkdir()
    (identities / "77" / "hwirq").write_text(f"{hardware}\n" if hardware else "")
    assert tuned("status")["state"] == ("gone" if state == "gone" else "in-effect")
    assert tuned("undo")["state"] == state
    assert affinity.read_text() == ("0\n" if state == "restored" else f"{LAST_CPU}\n")


def test_the_first_cpu_is_not_taken_away_step_by_step(journal: Path) -> None:
    rule = "file path=/sys/devices/system/cpu/cpu0/hotplug/target value=0"
    (change,) = tune(journal, "show", rule).changes
    assert (change["state"], change["why"]) == ("failed", "CPU 0 stays usable")


@needs_sysctls
def test_a_setting_that_was_empty_is_empty_again(journal: Path) -> None:
    script = f"""
    echo > {DOMAIN} || exit
    "$@" apply 'file path={DOMAIN} value=tn-domain' > /dev/null && cat {DOMAIN}
    "$@" undo && cat {DOMAIN}
    """
    words = ("sh", AGENT, "tune", "--journal", journal)
    said = subprocess.check_output([*unshare("--uts"), "sh", "-c", script, *words], text=True)
    applied, undone, empty = said.splitlines()
    assert applied == "tn-domain"
    assert undone.startswith("restored")
    assert empty == ""


@needs_kernel_threads
def test_threads_that_the_kernel_binds_are_immovable(journal: Path) -> None:
    rule = f"thread name=migration/0 of=kernel cpus={LAST_CPU}"
    (change,) = tune(journal, "show", rule).changes
    assert change["state"] == "immovable"
    shown = tune(journal, "show", f"tasks away={LAST_CPU}")
    assert "the kernel does not allow to move" in shown.warnings["threads-bound"]
    assert all(change["kind"] == "thread-cpus" for change in shown.changes)
    assert not any(change["what"].startswith("migration/") for change in shown.changes)


def test_the_agent_and_those_who_started_it_keep_their_policy(
    journal: Path, tids: list[int]
) -> None:
    shown = tune(journal, "show", "thread name=* of=program policy=rr priority=1")
    tuned = {int(change["where"].split()[1]) for change in shown.changes}
    assert tuned >= set(tids)
    assert not tuned & {os.getpid(), os.getppid()}


def test_another_users_thread_of_the_name_gets_nothing_unless_the_rule_names_its_user(
    journal: Path,
) -> None:
    exe = Path(sys.executable).resolve()
    with waiting_threads(f"{MARK}-a main", before=NOBODY) as (tid,):
        before = given(tid)
        for more in ("", " exe=/*", " uid=0", " uid=65534 exe=/usr/bin/no*"):
            applied = tune(journal, "apply", RULE + more)
            assert (applied.status, applied.changes) == (0, []), more
            assert set(applied.warnings) == {"threads-passed-over"}
            assert given(tid) == before
        applied = tune(journal, "apply", f"{RULE} uid=65534 exe={exe.parent}/*")
        assert applied.states() == ["applied"] * 3
        assert given(tid) == TUNED
        assert tune(journal, "undo").states() == ["restored"] * 3


# Becomes another user's as soon as it has a real-time policy.
_DROPS = """
import os, sys, time
open("/proc/self/comm", "w").write(sys.argv[1])
print("ready", flush=True)
while os.sched_getscheduler(0) == os.SCHED_OTHER:
    time.sleep(0.001)
os.setuid(65534)
time.sleep(60)
"""


@pytest.mark.skipif(not shutil.which("strace"), reason="strace is needed")
@pytest.mark.parametrize("moment", ["planned", "made", "seen again"])
def test_a_thread_that_becomes_another_users_while_it_is_tuned_is_restored(
    journal: Path, moment: str
) -> None:
    delays = {
        "planned": "inject=fsync:delay_enter=500000",
        "made": "inject=sched_setscheduler:delay_exit=500000",
    }
    command = ["strace", "-o", "/dev/null", "-e", delays[moment]] if moment in delays else []
    command += [str(AGENT), "tune", "apply", "--json", "--journal", str(journal)]
    command += [f"thread name={MARK}-drops policy=fifo priority=7"]
    with subprocess.Popen(
        [sys.executable, "-c", _DROPS, f"{MARK}-drops"], stdout=subprocess.PIPE
    ) as child:
        try:
            assert child.stdout is not None
            child.stdout.readline()
            with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as applying:
                if moment == "planned":
                    while not (journal / "journal").exists() or not entries(journal):
                        time.sleep(0.01)
                    os.sched_setscheduler(child.pid, os.SCHED_BATCH, os.sched_param(0))
                output, _ = applying.communicate(timeout=30)
            policy = os.sched_getscheduler(child.pid)
        finally:
            child.kill()
    (change,) = read(0, output, "").changes
    assert change["state"] == "gone"
    assert "another user" in change["why"]
    assert policy == (os.SCHED_BATCH if moment == "planned" else os.SCHED_OTHER)
    assert not (journal / "journal").exists()


def test_a_rule_that_matches_nothing_is_reported(journal: Path) -> None:
    shown = tune(journal, "show", "thread name=tn-nobody nice=1")
    assert shown.status == 0
    assert "'thread name=tn-nobody nice=1'" in shown.warnings["rule-unmatched"]


@pytest.mark.parametrize(
    ("rule", "lacks"),
    [
        (f"{RULE} uid=0", "CAP_SYS_NICE"),
        (f"thread name={MARK}-own policy=fifo priority=90", "CAP_SYS_NICE"),
        (f"thread name={MARK}-own nice=3", "CAP_SYS_NICE"),
        (f"thread name={MARK}-own policy=idle", "CAP_SYS_NICE"),
        ("file path=/proc/sys/kernel/sched_rt_runtime_us value=1", "CAP_DAC_OVERRIDE"),
    ],
    ids=["another's thread", "own thread", "nice that only root lowers", "idle for ever", "file"],
)
def test_the_capability_that_a_user_lacks_is_named(
    public_agent: Path, users_journal: Path, tids: list[int], rule: str, lacks: str
) -> None:
    before = [given(tid) for tid in tids]
    with waiting_threads(f"{MARK}-own", before=NOBODY):
        refused = tune(users_journal, "apply", rule, before=NOBODY, agent=public_agent)
    assert (refused.status, refused.changes) == (1, [])
    assert lacks in refused.complaint
    assert "nothing was changed" in refused.complaint
    assert [given(tid) for tid in tids] == before
    assert not (users_journal / "journal").exists()


def test_a_name_in_a_refusal_steers_no_terminal(public_agent: Path, users_journal: Path) -> None:
    with waiting_threads(HOSTILE):
        rule = f"thread {OF_HOSTILE} policy=batch"
        refused = tune(users_journal, "apply", rule, before=NOBODY, agent=public_agent)
    assert f"of {MARK}%41) R?" in refused.complaint
    assert refused.complaint.rstrip("\n").isprintable()


def test_a_user_may_tune_what_is_the_users_own(public_agent: Path, users_journal: Path) -> None:
    with waiting_threads(f"{MARK}-own", before=NOBODY) as (tid,):
        before = given(tid)
        rule = f"thread name={MARK}-own policy=batch cpus={LAST_CPU}"
        assert tune(users_journal, "apply", rule, before=NOBODY, agent=public_agent).status == 0
        assert given(tid) == Given(os.SCHED_BATCH, 0, 0, {LAST_CPU})
        assert (
            tune(users_journal, "undo", before=NOBODY, agent=public_agent).states()
            == ["restored"] * 2
        )
        assert given(tid) == before


def test_a_user_without_a_journal_gets_the_reason(public_agent: Path) -> None:
    refused = tune(Path("/proc/none"), "apply", RULE, before=NOBODY, agent=public_agent)
    assert refused.status == 1
    assert "cannot make the folder of the journal" in refused.complaint


REFUSALS = {
    "thread name=x": "changes nothing",
    "thread name=x policy=fifo": "no priority from 1 to 99",
    "thread name=x policy=fifo priority=100": "a number from 1 to 99",
    "thread name=x policy=batch priority=5": "not to fifo or rr",
    "thread name=x policy=deadline": "other, batch, idle, fifo or rr",
    "thread nice=3": "lacks a key",
    "thread name=x nice=3 nice=4": "given once",
    "thread nome=x nice=3": "no key 'nome'",
    "thread name=x nice=3 of=kernel uid=0": "which the kernel's own threads do not have",
    "thread name=x nice=3 uid=root": "the number of a user",
    "thread name=x nice=3 exe=bin/x": "a path that begins with /",
    "thread name=x cpus=1023": "does not have or which is offline",
    "thread name=x cpus=4096": "is not a list of CPUs",
    "thread name=x cpus=1-": "is not a list of CPUs",
    "tasks away=0": "takes CPU 0 from the rest",
    "interrupts away=0-1": "takes CPU 0 from the rest",
    "partition cpus=0": "takes CPU 0 from the rest",
    "tasks away=": "given a value",
    "interrupt name=x": "lacks a key",
    "file path=/etc/passwd value=x": "below /proc/sys/ or /sys/",
    "file path=/sys/../etc/passwd value=x": "below /proc/sys/ or /sys/",
    "boot add=isolcpus=nohz,domain,0-1": "takes CPU 0 from the rest",
    "boot add=quiet nohz_full=all": "a list of CPUs",
    "boot add=$(reboot)": "no meaning to a shell",
    "latency limit=5s": "a number of nanoseconds",
    "governor cpus=1": "is no rule",
    "": "is no rule",
}


@pytest.mark.parametrize("rule", REFUSALS)
def test_a_rule_that_cannot_be_is_refused_in_a_sentence(journal: Path, rule: str) -> None:
    # Not apply: who breaks the refusal would have this machine tuned.
    refused = tune(journal, "show", "thread name=tn-nobody nice=1", rule)
    assert (refused.status, refused.changes) == (2, [])
    assert REFUSALS[rule] in refused.complaint
    assert refused.complaint.count("\n") == 1
    assert not journal.exists()


def test_a_measurement_is_tuned_before_it_starts_and_no_longer(
    journal: Path, tids: list[int]
) -> None:
    before = [given(tid) for tid in tids]
    options = ("--json", "--tune-journal", journal, "--tune", RULE, "--progress", "0")
    with subprocess.Popen(
        [AGENT, "cyclic", "--duration", "60", *options], stdout=subprocess.PIPE
    ) as process:
        assert process.stdout is not None
        kinds = []
        for line in process.stdout:
            kinds.append(json.loads(line)["type"])
            if kinds[-1] == "start":
                break
        assert kinds.count("change") == 6
        assert [given(tid) for tid in tids] == [TUNED] * 2
        process.kill()
    assert tune(journal, "status").states() == ["in-effect"] * 6

    other = ("--tune", f"thread name={MARK}-a?main nice=2")
    done = subprocess.run(
        [AGENT, "cyclic", "--samples", "100", "--json", "--tune-journal", journal, *other],
        capture_output=True, text=True, timeout=60, check=True,
    )  # fmt: skip
    (change,) = read(0, done.stdout, "").changes
    assert (change["old"], change["new"], change["state"]) == ("0", "2", "applied")
    assert [given(tid) for tid in tids] == before
    assert not (journal / "journal").exists()


def test_what_is_changed_during_a_measurement_stays_though_another_was_killed_before(
    journal: Path, tids: list[int]
) -> None:
    def measure(rule: str, ending: signal.Signals, meanwhile: int) -> None:
        options = ("--json", "--tune-journal", journal, "--tune", rule, "--progress", "0")
        with subprocess.Popen(
            [AGENT, "cyclic", "--duration", "60", *options], stdout=subprocess.PIPE
        ) as process:
            assert process.stdout is not None
            next(line for line in process.stdout if json.loads(line)["type"] == "start")
            os.setpriority(os.PRIO_PROCESS, tids[0], meanwhile)
            process.send_signal(ending)
            process.stdout.read()

    measure(f"thread name={MARK}-a?main nice=4", signal.SIGKILL, 4)
    measure(f"thread name={MARK}-a?main nice=2", signal.SIGINT, 7)
    assert given(tids[0]).nice == 7
