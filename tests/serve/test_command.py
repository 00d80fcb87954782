# SPDX-License-Identifier: GPL-2.0-only
"""The command: what it refuses, how it ends, and what it answers."""

import json
import signal
import sqlite3
import subprocess
import sys
import time
from pathlib import Path

import pytest

from rtscope.serve import server
from tests.serve.conftest import Served, environment_in, serve
from tests.serve.stores import EXPLAINED, WIDE

MOST_BYTES = 300_000


def refused(folder: Path, *words: str, **more: str) -> str:
    """What `rtscope serve` prints when it does not start."""
    done = subprocess.run(
        [sys.executable, "-m", "rtscope", "serve", "--port", "0", *words],
        env=environment_in(folder) | more, capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip
    assert done.returncode == 2, done.stderr
    assert "Traceback" not in done.stderr
    return done.stderr


def test_addresses_that_cannot_be_served_are_refused() -> None:
    """An address in use, of another computer, or none."""
    from rtscope.model.errors import RtscopeError

    first = server.listening("127.0.0.1", 0)
    port = first.getsockname()[1]
    with pytest.raises(RtscopeError, match=str(port)):
        server.listening("127.0.0.1", port)
    first.close()
    with pytest.raises(RtscopeError, match=r"192\.0\.2\.1"):
        server.listening("192.0.2.1", 0)
    with pytest.raises(RtscopeError, match="board"):
        server.is_loopback("board")
    assert [server.is_loopback(one) for one in ("127.0.0.2", "::1", "0.0.0.0", "::")] == [
        True, True, False, False,
    ]  # fmt: skip


@pytest.mark.kernels
def test_what_cannot_be_served_is_refused_with_a_sentence(tmp_path: Path) -> None:
    """Nothing is served, and the exit status is 2."""
    assert "--token-file" in refused(tmp_path, "--address", "0.0.0.0")
    newer = tmp_path / "newer.sqlite"
    with sqlite3.connect(newer) as database:
        database.execute("CREATE TABLE runs (id)")
        database.execute(f"PRAGMA application_id = {0x72747363}")
        database.execute("PRAGMA user_version = 99")
    assert str(newer) in refused(tmp_path, RTSCOPE_STORE=str(newer))
    url = f"postgresql://fleet@/none?host={tmp_path}"
    assert "cannot be reached" in refused(tmp_path, RTSCOPE_STORE=url)


@pytest.mark.kernels
@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_the_server_while_a_page_listens(folder: Path, how: signal.Signals) -> None:
    """With status 0, soon, and without a process left behind."""
    running = serve(folder)
    stream = subprocess.Popen(
        ["curl", "-sN", f"{running.url}/farm/events"], stdout=subprocess.PIPE, text=True
    )
    assert stream.stdout
    assert stream.stdout.readline() == "retry: 2000\n"
    assert running.end(how) == 0
    stream.wait(20)
    until = time.monotonic() + 60
    while subprocess.run(["pgrep", "-s", str(running.process.pid)], check=False).returncode == 0:
        assert time.monotonic() < until, "a process is left behind"
        time.sleep(0.1)


def test_pages_are_light(served: Served) -> None:
    """With the style and the script; the heaviest has 64 CPUs and 20 worst samples of each."""
    status, page = served.get(f"/run/{WIDE}")
    assert status == 200
    files = [part.split(b'"')[0] for part in page.split(b'"/static/')[1:]]
    weight = len(page) + sum(len(served.get(f"/static/{one.decode()}")[1]) for one in files)
    assert len(files) == 3
    assert weight < MOST_BYTES
    assert len(served.get("/machine?name=board2")[1]) < MOST_BYTES // 2


def test_each_page_has_its_data_at_the_same_address(served: Served) -> None:
    """With .json, or by the Accept header; errors too."""
    for path in ("/worse", "/machines", "/runs", "/machine?name=board1", f"/run/{EXPLAINED}",
                 "/farm"):  # fmt: skip
        address, mark, query = path.partition("?")
        status, body = served.get(f"{address}.json{mark}{query}")
        assert status == 200
        assert served.get(path, Accept="application/json")[1] == body
        assert isinstance(json.loads(body), dict)
    assert json.loads(served.get(f"/run/{EXPLAINED}.json")[1])["format"] == "rtscope-run"
    for path in ("/run/0123.json", "/machine.json?name=x", "/compare.json?run=1", "/x.json"):
        status, body = served.get(path)
        assert status in (400, 404)
        assert "error" in json.loads(body)
