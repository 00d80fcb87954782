# SPDX-License-Identifier: GPL-2.0-only
"""A dask cluster of a test: a scheduler and workers on loopback, each with a cache of its own."""

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

_WAIT_S = 120.0
_END_S = 10.0


@contextmanager
def running_cluster(folder: Path, workers: int, agent: Path) -> Iterator[str]:
    """The address of a scheduler with so many workers, which end with the block.

    Worker N has its cache in folder/cacheN.
    """
    file = folder / "scheduler.json"
    command = ["setpriv", "--pdeathsig=KILL", str(Path(sys.executable).parent / "dask")]
    own = {"RTSCOPE_AGENT": str(agent), "PYTHONPATH": str(Path(__file__).parents[2])}
    scheduler = [*command, "scheduler", "--host=127.0.0.1", "--port=0", "--no-dashboard"]
    processes = []
    try:
        with (folder / "dask.log").open("a") as log:

            def start(words: list[str], **more: str) -> None:
                processes.append(
                    subprocess.Popen(
                        words, env=os.environ | own | more, cwd=folder,
                        stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                    )
                )  # fmt: skip

            start([*scheduler, f"--scheduler-file={file}"])
            until = time.monotonic() + _WAIT_S
            while not file.exists() or not file.read_text():
                assert time.monotonic() < until, (folder / "dask.log").read_text()
                time.sleep(0.1)
            options = ["--nthreads=1", "--no-nanny", "--no-dashboard", f"--scheduler-file={file}"]
            for number in range(workers):
                local = f"--local-directory={folder}/local{number}"
                cache = {"XDG_CACHE_HOME": str(folder / f"cache{number}")}
                start([*command, "worker", "--host=127.0.0.1", *options, local], **cache)
            while (folder / "dask.log").read_text().count("Registered to:") < workers:
                assert time.monotonic() < until, (folder / "dask.log").read_text()
                time.sleep(0.1)
        yield str(json.loads(file.read_text())["address"])
    finally:
        for process in reversed(processes):
            process.terminate()
        for process in processes:
            try:
                process.wait(timeout=_END_S)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
