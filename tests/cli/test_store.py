# SPDX-License-Identifier: GPL-2.0-only
"""The store that RTSCOPE_STORE names, and the commands that look after it."""

import json
import sqlite3
from pathlib import Path

from rtscope.store.database import list_runs
from tests.cli.conftest import Rtscope
from tests.cluster import Cluster

MEASURE = ("measure", "-D", "300ms", "--no-report", "--json")
NOWHERE = "postgresql://fleet:secret@127.0.0.1:1/runs"


def test_runs_are_stored_on_the_server_that_is_named(cluster: Cluster, rtscope: Rtscope) -> None:
    server = cluster.database()
    early = rtscope("list", RTSCOPE_STORE=server.url)
    assert (early.returncode, early.stdout) == (2, "")
    assert "create it with 'rtscope store migrate'" in early.stderr
    made = [rtscope("store", "migrate", RTSCOPE_STORE=server.url) for _ in range(2)]
    assert [done.returncode for done in made] == [0, 0]
    assert made[0].stdout == f"created the store {server}, format 1\n"
    assert made[1].stdout == f"the store {server} has format 1 already\n"
    assert "secret" not in made[0].stdout
    measured = rtscope(*MEASURE, RTSCOPE_STORE=server.url)
    assert measured.returncode == 0, measured.stderr
    run = json.loads(measured.stdout)
    (listed,) = rtscope("list", "--json", RTSCOPE_STORE=server.url).stdout.splitlines()
    assert json.loads(listed)["id"] == run["id"]
    shown = rtscope("show", run["id"][:8], "--json", RTSCOPE_STORE=server.url)
    assert json.loads(shown.stdout) == run
    assert rtscope("list", "--json").stdout == ""


def test_a_run_is_measured_without_the_server_and_kept(rtscope: Rtscope, tmp_path: Path) -> None:
    for command in (("list",), ("show", "last"), ("store", "migrate")):
        refused = rtscope(*command, RTSCOPE_STORE=NOWHERE)
        assert (refused.returncode, refused.stdout) == (2, "")
        assert "postgresql://fleet@127.0.0.1:1/runs cannot be reached" in refused.stderr
    measured = rtscope(*MEASURE, RTSCOPE_STORE=NOWHERE)
    run = json.loads(measured.stdout)
    assert measured.returncode == 2
    (kept,) = (tmp_path / "data" / "rtscope").glob("unsent-*.sqlite")
    assert f"run {run['id']} is kept in {kept}" in measured.stderr
    assert "secret" not in measured.stderr
    assert [held.id for held in list_runs(store=kept)] == [run["id"]]
    shown = rtscope("show", run["id"], "--json", RTSCOPE_STORE=NOWHERE)
    assert json.loads(shown.stdout) == run


def test_a_url_of_another_kind_is_refused_before_anything_is_measured(rtscope: Rtscope) -> None:
    refused = rtscope(*MEASURE, "--fresh", RTSCOPE_STORE="mysql://db/fleet")
    assert (refused.returncode, refused.stdout) == (2, "")
    assert "RTSCOPE_STORE begins with 'mysql://'" in refused.stderr


def test_runs_are_tagged_and_searched(rtscope: Rtscope, tmp_path: Path) -> None:
    measured = rtscope(*MEASURE, "--tag", "nightly", "--tag", "release")
    run = json.loads(measured.stdout)
    assert run["tags"] == ["nightly", "release"]
    found = rtscope("list", "--tag", "nightly", "--metric", "max>0", "--since", "1h", "--json")
    assert json.loads(found.stdout)["id"] == run["id"]
    merged = json.loads(rtscope("list", "--tag", "nightly", "--merge", "--json").stdout)
    assert (merged["runs"], merged["load"]) == (1, "idle")
    assert merged["count"] == sum(thread["count"] for thread in run["threads"])
    assert "p99.99" in rtscope("list", "--merge").stdout
    page = tmp_path / "page.html"
    assert rtscope("report", "last", "-o", str(page)).returncode == 0
    assert "nightly, release" in page.read_text()
    for words, said in (
        (("--metric", "max"), "is not a condition"),
        (("--since", "soon"), "--since soon is not a date"),
        (("--tag", "weekly"), "no run in the store meets all of this"),
    ):
        refused = rtscope("list", *words)
        assert (refused.returncode, refused.stdout) == (2, "")
        assert said in refused.stderr


def test_a_store_is_copied_checked_and_pruned(
    cluster: Cluster, rtscope: Rtscope, tmp_path: Path
) -> None:
    server = cluster.store()
    run = json.loads(rtscope(*MEASURE, "--tag", "release").stdout)
    file = str(tmp_path / "data" / "rtscope" / "runs.sqlite")
    copied = [rtscope("store", "copy", file, server.url) for _ in range(2)]
    assert [done.returncode for done in copied] == [0, 0]
    assert copied[0].stdout == f"copied 1 run to {server}, which had 0 already\n"
    assert copied[1].stdout == f"copied 0 runs to {server}, which had 1 already\n"
    assert rtscope("store", "check", server.url).stdout == f"the store {server} is clean\n"
    prune = ("store", "prune", "--before", "2100-01-01", server.url)
    assert "1 run would be removed" in rtscope(*prune).stdout
    assert "removed 0 runs" in rtscope(*prune, "--keep-tag", "release", "--yes").stdout
    assert "removed 1 run " in rtscope(*prune, "--yes").stdout
    assert rtscope("list", RTSCOPE_STORE=server.url).stdout == ""
    with sqlite3.connect(file) as database:
        database.execute("UPDATE runs SET host = 'other'")
    database.close()
    damaged = rtscope("store", "check", "--json")
    assert damaged.returncode == 1
    assert json.loads(damaged.stdout)["id"] == run["id"]
    for words, said in (
        (("check", "none.sqlite"), "STORE none.sqlite does not exist"),
        (("copy", file, file), "FROM and TO are the same store"),
        (("copy", file, "mysql://db/fleet"), "TO begins with 'mysql://'"),
        (("prune", "--before", "soon"), "--before soon is not a date"),
        (("check", NOWHERE), "cannot be reached"),
    ):
        refused = rtscope("store", *words)
        assert (refused.returncode, refused.stdout) == (2, "")
        assert said in refused.stderr
