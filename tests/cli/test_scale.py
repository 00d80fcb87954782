# SPDX-License-Identifier: GPL-2.0-only
"""rtscope scale and rtscope interfere, as a user runs them on this machine."""

import json
import os
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.agent.probing import LAST_CPU, needs_two_cpus, undisturbed
from tests.cli.conftest import COMMAND

Rtscope = Callable[..., subprocess.CompletedProcess[str]]

FIRST_CPU = min(os.sched_getaffinity(0))

# As many threads as it is told draw 12 tokens from one bucket, a file's lock, which each of them
# has for 20 ms; then it leaves the bucket to others for some ms. It waits more than it computes, so
# that the machine's other work matters little.
BUCKET = r"""
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <sys/file.h>
#include <time.h>
#include <unistd.h>

static const char *name;
static int tokens;
static long leave_ns;

static void *draw(void *unused)
{
	const struct timespec hold = { .tv_nsec = 20000000 }, leave = { .tv_nsec = leave_ns };
	int bucket = open(name, O_RDONLY);

	for (int i = 0; i < tokens; i++) {
		flock(bucket, LOCK_EX);
		nanosleep(&hold, NULL);
		flock(bucket, LOCK_UN);
		if (leave_ns)
			nanosleep(&leave, NULL);
	}
	return unused;
}

int main(int argc, char **argv)
{
	struct sched_param first = { .sched_priority = 1 };
	int threads = atoi(argv[1]);
	pthread_t thread[8];

	sched_setscheduler(0, SCHED_FIFO, &first);
	name = argv[2];
	leave_ns = argc > 3 ? atoi(argv[3]) * 1000000L : 0;
	tokens = 12 / threads;
	for (int i = 0; i < threads; i++)
		pthread_create(&thread[i], NULL, draw, NULL);
	for (int i = 0; i < threads; i++)
		pthread_join(thread[i], NULL);
	return 0;
}
"""


@pytest.fixture(scope="session")
def bucket(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    folder = tmp_path_factory.mktemp("bucket")
    (folder / "tokens").touch()
    subprocess.run(
        ["cc", "-Wall", "-Werror", "-pthread", "-o", folder / "bucket", "-xc", "-"],
        input=BUCKET.encode(),
        check=True,
    )
    return [str(folder / "bucket"), "{n}", str(folder / "tokens")]


contended = pytest.mark.timing("other programs take the CPUs that its threads need")


@contended
def test_two_threads_forced_on_one_cpu_are_found_and_named(rtscope: Rtscope) -> None:
    with undisturbed():
        done = rtscope(
            "scale", "--cpus", f"{FIRST_CPU}", "--threads", "1,2", "--form", "scalar", "-D",
            "200ms", "--json", "--no-report",
        )  # fmt: skip
    assert done.returncode == 0, done.stderr
    reported = json.loads(done.stdout)
    [advice] = reported["advice"]
    assert (advice["kind"], advice["best"]["cpus"]) == ("best-placement", [FIRST_CPU])
    turns = reported["findings"][0]
    assert (turns["kind"], turns["threads"]["cpus"]) == ("threads-take-turns", [FIRST_CPU])
    assert turns["threads"]["count"] == 2
    assert [len(cell["medians_ns"]) for cell in reported["sweep"]["cells"]] == [5, 5]


@contended
@needs_two_cpus
def test_a_bucket_of_tokens_that_all_threads_draw_from_is_found_and_named(
    rtscope: Rtscope, bucket: list[str]
) -> None:
    with undisturbed():
        done = rtscope("scale", "--threads", "1,2", "--rounds", "8", "--", *bucket)
    assert done.returncode == 0, done.stderr
    shown = " ".join(done.stdout.split())
    assert "they take turns. They share a lock, a limit of the program" in shown
    assert " for one thread; " in shown
    report = Path(done.stdout.rpartition("report: ")[2].strip())
    page = report.read_text()
    assert "they take turns. They share a lock" in page
    assert "--threads=1,2" in page


@contended
@pytest.mark.long
def test_what_holds_the_lock_of_a_program_is_found_and_named(
    rtscope: Rtscope, bucket: list[str]
) -> None:
    holder = f"cmd:while :; do flock {bucket[-1]} sleep 0.06; sleep 0.001; done"
    beside = ("--cpus", f"{LAST_CPU}", "--load-cpus", f"{LAST_CPU}", "--rounds", "4", "--json")
    with undisturbed():
        done = rtscope("interfere", *beside, "--load", holder, "--no-report", "--", *bucket, "5")
    assert done.returncode == 0, done.stderr
    advice = json.loads(done.stdout)["advice"][0]
    assert (advice["kind"], advice["load"], advice["load_cpus"]) == (
        "interference", holder, [LAST_CPU],
    )  # fmt: skip


def test_what_was_measured_is_listed_shown_drawn_and_compared_as_other_runs_are(
    rtscope: Rtscope,
) -> None:
    short = ("--cpus", f"{FIRST_CPU}", "--form", "scalar", "-D", "50ms", "--rounds", "2", "--quiet")
    done = rtscope("scale", *short, "--no-report", "-o", "one.json")
    assert done.returncode == 0, done.stderr
    [row] = map(json.loads, rtscope("list", "--json").stdout.splitlines())
    assert (row["probe"], row["status"]) == ("scale", "complete")
    shown = rtscope("show", "one.json").stdout
    assert done.stdout.startswith(shown.strip())
    advice = f"Only one scalar thread on CPU {FIRST_CPU} was measured"
    assert advice in shown
    assert rtscope("report", "last", "one.json", "-o", "-").stdout.count(advice) == 2
    compared = rtscope("compare", "one.json", "last")
    assert "No evidence that B is faster or slower than A" in compared.stdout


def test_a_program_that_crashes_loses_nothing_that_was_measured_before(
    rtscope: Rtscope, tmp_path: Path
) -> None:
    app = tmp_path / "app"
    app.write_text("#!/bin/sh\ntest $1 = 2 || kill -SEGV $$\n")
    app.chmod(0o755)
    short = ("--cpus", f"{FIRST_CPU}", "--threads", "2", "--rounds", "2", "--no-report")
    done = rtscope("scale", *short, "--", "./app", "{n}")
    assert done.returncode == 1, done.stderr
    crashed = f"./app, 1 thread on CPU {FIRST_CPU} could not be measured: ./app was ended by signal"
    assert crashed in " ".join(done.stdout.split())
    kept = json.loads(rtscope("show", "last", "--json").stdout)
    assert kept["status"] == "failed"
    assert [one["placement"]["threads"] for one in kept["sweep"]["cells"]] == [2]


@needs_two_cpus
def test_in_a_container_its_cpus_are_used_and_it_is_said_of_the_others(
    contained: tuple[str, ...], environment: dict[str, str]
) -> None:
    def reported(*words: str) -> dict[str, Any]:
        short = ("--form", "scalar", "-D", "30ms", "--rounds", "2", "--json", "--no-report")
        command = [*contained, *COMMAND, *words, *short]
        done = subprocess.run(command, capture_output=True, env=environment, check=True)
        found: dict[str, Any] = json.loads(done.stdout)
        return found

    scaled = reported("scale")
    assert [one["kind"] for one in scaled["advice"]] == ["only-placement"]
    unused = scaled["findings"][-1]
    assert (unused["kind"], unused["cpus"][0], unused["offline"]) == ("cpus-not-measured", 0, False)
    disturbed = reported("interfere", "--load", "cpu")
    assert "the loads ran on the measured CPUs too" in disturbed["warnings"][0]["text"]
    assert disturbed["sweep"]["load_cpus"] == [LAST_CPU]


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["scale", "--", "./app"], "does not say how many threads to use"),
        (["scale", "--form", "matrix"], "--form 'matrix' is not scalar or vector"),
        (["scale", "--table", "64M", "--", "./app", "{n}"], "table is of the reference algor"),
        (["scale", "--cpus", "1023"], "CPU 1023 cannot be measured"),
        (["scale", "--rounds", "2", "--threads", "1", "--", "./no-such", "{n}"],
         " could not be measured: ./no-such could not be started: No such file"),
        (["interfere", "--load", "idle"], "load idle is always measured"),
        (["interfere", "--load", "nonsense", "--", "true"], "'nonsense' is not a load"),
    ],
)  # fmt: skip
def test_what_makes_no_sense_is_refused_in_a_sentence(
    rtscope: Rtscope, arguments: list[str], sentence: str
) -> None:
    done = rtscope(*arguments)
    assert done.returncode == 2
    assert sentence in " ".join(done.stderr.split())
    assert "Traceback" not in done.stderr
