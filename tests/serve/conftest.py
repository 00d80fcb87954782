# SPDX-License-Identifier: GPL-2.0-only
"""One store, one server and one browser for all tests of the pages."""

import http.client
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from playwright.sync_api import Browser, ConsoleMessage, Page, sync_playwright

from rtscope.lab.lifetime import bound_to_parent
from rtscope.serve.index import index_path
from tests.serve.stores import fill

_ROOT = Path(__file__).parents[2]
TOKEN = "0123456789abcdef0123456789abcdef"


@dataclass
class Served:
    """A running server."""

    url: str
    process: subprocess.Popen[str]
    folder: Path
    environment: dict[str, str]

    def get(self, path: str, **headers: str) -> tuple[int, bytes]:
        """Status and body of the answer to GET."""
        connection = http.client.HTTPConnection(self.url.removeprefix("http://"), timeout=60)
        try:
            connection.request("GET", path, headers=headers)
            answer = connection.getresponse()
            return answer.status, answer.read()
        finally:
            connection.close()

    def end(self, how: signal.Signals) -> int:
        """Send a signal, and return the exit status."""
        self.process.send_signal(how)
        return self.process.wait(60)


def environment_in(folder: Path) -> dict[str, str]:
    """Where a server finds the store of this folder, and keeps its index and state."""
    return os.environ | {
        "RTSCOPE_STORE": str(folder / "runs.sqlite"),
        "XDG_DATA_HOME": str(folder / "data"),
        "XDG_CACHE_HOME": str(folder / "cache"),
        "XDG_STATE_HOME": str(folder / "state"),
        "PYTHONPATH": str(_ROOT),
    }


def serve(folder: Path, *words: str) -> Served:
    """Start `rtscope serve`, and wait until it listens."""
    environment = environment_in(folder)
    process = subprocess.Popen(
        bound_to_parent(
            [sys.executable, "-m", "rtscope", "serve", "--port", "0", *words], "TERM"
        ),
        env=environment, stderr=subprocess.PIPE, text=True, start_new_session=True,
    )  # fmt: skip
    assert process.stderr
    line = process.stderr.readline()
    assert "http://" in line, line + process.stderr.read()
    url = line[line.index("http://") :].split("/ ")[0]
    return Served(url, process, folder, environment)


@pytest.fixture(scope="session")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the store of stores.py and its index."""
    folder = tmp_path_factory.mktemp("serve")
    store = folder / "runs.sqlite"
    patch = pytest.MonkeyPatch()
    patch.setenv("XDG_CACHE_HOME", str(folder / "cache"))
    try:
        fill(store, index_path(store))
    finally:
        patch.undo()
    return folder


@pytest.fixture(scope="session")
def served(folder: Path) -> Iterator[Served]:
    """A server on the loopback address."""
    running = serve(folder)
    yield running
    assert running.end(signal.SIGTERM) == 0


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    """Debian's chromium."""
    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(
            executable_path=_chromium(),
            args=["--no-sandbox", "--disable-gpu", "--disable-background-networking"],
        )
        yield chromium
        chromium.close()


def _chromium() -> str:
    for name in ("chromium", "chromium-browser"):
        for folder in os.environ["PATH"].split(":"):
            if os.access(Path(folder) / name, os.X_OK):
                return str(Path(folder) / name)
    pytest.fail("no chromium: the pages can only be tested in a browser; install chromium")


Open = Callable[..., Page]


@pytest.fixture
def open_page(browser: Browser, served: Served) -> Iterator[Open]:
    """Open a page; the test fails where the browser reported an error or a breach of the policy."""
    complaints: list[str] = []
    contexts = []

    def note(message: ConsoleMessage) -> None:
        absent = "status of 404" in message.text and "/static/" not in message.location["url"]
        if message.type in ("error", "warning") and not absent:
            complaints.append(message.text)

    def open_(path: str, *, dark: bool = False, width: int = 1200) -> Page:
        context = browser.new_context(
            base_url=served.url,
            color_scheme="dark" if dark else "light",
            viewport={"width": width, "height": 800},
        )
        contexts.append(context)
        page = context.new_page()
        page.set_default_timeout(60_000)
        page.on("console", note)
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.goto(path, wait_until="load")
        return page

    yield open_
    for context in contexts:
        context.close()
    assert not complaints
