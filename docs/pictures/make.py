# SPDX-License-Identifier: GPL-2.0-only
"""Make the README's pictures from a real measurement of this machine.

    .venv/bin/python docs/pictures/make.py

Writes report.png (the HTML report in Chromium) and live.svg (the live view) beside this file.
"""

import io
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from rich.console import Console

from rtscope.model.progress import Progress
from rtscope.model.request import Request
from rtscope.report.terminal.live import LiveState, live_view
from rtscope.target import local
from rtscope.target.protocol import Start

HERE = Path(__file__).parent
NS_PER_S = 1_000_000_000


def live_picture() -> None:
    """The live view, ten seconds into a loaded run."""
    request = Request(load="mixed", duration_ns=30 * NS_PER_S)
    state = LiveState("cyclic under load mixed", duration_ns=request.duration_ns)
    with local.started_agent(request) as agent:
        for line in agent.lines(90):
            if isinstance(line, Start):
                state.cpus = {thread.thread: thread.cpu for thread in line.threads}
            if isinstance(line, Progress):
                state.previous, state.progress = state.progress, line
                if line.time_ns > 10 * NS_PER_S:
                    break
    console = Console(record=True, width=96, height=24, file=io.StringIO())
    console.print(live_view(state))
    console.save_svg(str(HERE / "live.svg"), title="rtscope measure --load mixed")


def report_picture() -> None:
    """The report of an idle and a loaded run, as Chromium shows it."""
    chromium = shutil.which("chromium") or sys.exit("chromium is not installed")
    with tempfile.TemporaryDirectory() as directory:
        page = Path(directory) / "report.html"
        subprocess.run(
            [sys.executable, "-m", "rtscope.cli.main", "measure", "-D", "30s", "-q",
             "--load", "idle", "--load", "mixed", "--report", page],
            env=os.environ | {"XDG_DATA_HOME": directory}, check=True,
        )  # fmt: skip
        subprocess.run(
            [chromium, "--headless", "--no-sandbox", "--disable-gpu", "--no-first-run",
             "--disable-background-networking", "--disable-component-update", "--disable-sync",
             f"--user-data-dir={directory}/profile", "--hide-scrollbars",
             "--window-size=1200,1500", "--virtual-time-budget=10000",
             f"--screenshot={HERE / 'report.png'}", page.as_uri()],
            check=True, stderr=subprocess.DEVNULL,
        )  # fmt: skip


if __name__ == "__main__":
    live_picture()
    report_picture()
