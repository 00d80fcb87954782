# SPDX-License-Identifier: GPL-2.0-only
"""A labgrid of a test: a coordinator and an exporter on loopback ports, and places."""

import json
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

_WAIT_S = 60.0
_BIN = Path(sys.executable).parent


class Labgrid:
    """A running coordinator and exporter. Their files are in `folder`."""

    def __init__(
        self, folder: Path, resources: Mapping[str, Any], places: Mapping[str, Any]
    ) -> None:
        """`resources` has a group for each place; `places` has the tags of each."""
        self._folder = folder
        self._listen = "127.0.0.1:0"
        self._processes: dict[str, subprocess.Popen[str]] = {}
        # JSON is YAML.
        (folder / "exports.yaml").write_text(json.dumps(resources))
        (folder / "places.yaml").write_text(
            json.dumps({name: _place(name, tags, resources) for name, tags in places.items()})
        )

    @property
    def address(self) -> str:
        """HOST:PORT of the coordinator."""
        return self._listen

    def start(self) -> None:
        """Start both, and wait until everything is exported."""
        coordinator = self._start("coordinator", "-l", self._listen)
        assert coordinator.stdout
        line = next(line for line in coordinator.stdout if line.startswith("listening on "))
        self._listen = line.removeprefix("listening on ").strip()
        options = ("--name", "test", "--hostname", "localhost")
        self._start("exporter", "-c", self._listen, *options, "exports.yaml")
        exported = json.loads((self._folder / "exports.yaml").read_text())
        until = time.monotonic() + _WAIT_S
        while self.client("resources").count("\n") < sum(map(len, exported.values())):
            assert time.monotonic() < until, "the exporter exports nothing"

    def stop(self) -> None:
        """Kill both, as a power failure does."""
        for process in self._processes.values():
            process.kill()
            process.wait()
            if process.stdout:
                process.stdout.close()
        self._processes.clear()

    def client(self, *words: str, check: bool = True) -> str:
        """What labgrid-client prints, of another user."""
        done = subprocess.run(
            [_BIN / "labgrid-client", "-x", self._listen, *words],
            capture_output=True, text=True, check=False, timeout=_WAIT_S,
            env={"LG_USERNAME": "other", "LG_HOSTNAME": "elsewhere", "PATH": "/usr/bin:/bin"},
        )  # fmt: skip
        assert not check or not done.returncode, done.stderr
        return done.stdout

    def holder(self, place: str) -> str:
        """Who has a place; "" for nobody."""
        lines = self.client("who").splitlines()[1:]
        return next((line for line in lines if f" {place} " in line), "")

    def _start(self, name: str, *words: str) -> "subprocess.Popen[str]":
        with (self._folder / f"{name}.log").open("a") as log:
            self._processes[name] = subprocess.Popen(
                ["setpriv", "--pdeathsig=KILL", _BIN / f"labgrid-{name}", *words],
                cwd=self._folder, stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE if name == "coordinator" else log, stderr=log, text=True,
            )  # fmt: skip
        return self._processes[name]


@contextmanager
def running_labgrid(
    folder: Path, resources: Mapping[str, Any], places: Mapping[str, Any]
) -> Iterator[Labgrid]:
    """A labgrid that ends with the block."""
    labgrid = Labgrid(folder, resources, places)
    try:
        labgrid.start()
        yield labgrid
    finally:
        labgrid.stop()


def _place(name: str, tags: Mapping[str, str], exported: Mapping[str, Any]) -> dict[str, Any]:
    group = tags.get("group", name)
    return {
        "aliases": [], "comment": "", "created": 1.0, "changed": 1.0,
        "tags": {key: value for key, value in tags.items() if key != "group"},
        "matches": [
            {"exporter": "*", "group": group, "cls": "*", "name": None, "rename": None}
        ] if exported else [],
    }  # fmt: skip
