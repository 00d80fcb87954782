# SPDX-License-Identifier: GPL-2.0-only
"""A PostgreSQL server of the test's own: Debian's programs, in a temporary folder."""

import itertools
import os
import pwd
import shutil
import signal
import subprocess
import tempfile
import time
from pathlib import Path

import psycopg
import pytest
from psycopg import sql

from rtscope.store.address import Server
from rtscope.store.postgresql.migrating import migrate

_PROGRAMS = Path("/usr/lib/postgresql")
_START_SECONDS = 60


class Cluster:
    """A server on a Unix socket in its folder, where no other server can be met."""

    def __init__(self) -> None:
        self._bin = programs()
        self.folder = Path(tempfile.mkdtemp(prefix="rtscope-pg-", dir="/tmp"))
        self._process: subprocess.Popen[bytes] | None = None
        self._numbers = itertools.count(1)
        # PostgreSQL refuses root.
        self._user = "nobody" if os.geteuid() == 0 else None
        if self._user:
            account = pwd.getpwnam(self._user)
            os.chown(self.folder, account.pw_uid, account.pw_gid)
        self._run("initdb", "-D", str(self._data), "-A", "trust", "-U", "fleet", "-N", "-E", "UTF8")

    @property
    def _data(self) -> Path:
        return self.folder / "data"

    def _run(self, *words: str) -> None:
        done = subprocess.run(
            [self._bin / words[0], *words[1:]],
            capture_output=True, text=True, check=False, cwd=self.folder,
            user=self._user, extra_groups=[] if self._user else None,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr

    def start(self) -> None:
        """Start the server and wait until it accepts connections."""
        options = {
            "listen_addresses": "",
            "unix_socket_directories": str(self.folder),
            "fsync": "off",
            "shared_buffers": "64MB",
        }
        log = (self.folder / "log").open("ab")
        self._process = subprocess.Popen(
            [
                self._bin / "postgres", "-D", str(self._data),
                *(f"--{name}={value}" for name, value in options.items()),
            ],
            stdout=log, stderr=log, cwd=self.folder,
            user=self._user, extra_groups=[] if self._user else None,
        )  # fmt: skip
        log.close()
        until = time.monotonic() + _START_SECONDS
        while True:
            try:
                psycopg.connect(self._url("postgres")).close()
            except psycopg.OperationalError:
                assert self._process.poll() is None, (self.folder / "log").read_text()
                assert time.monotonic() < until, (self.folder / "log").read_text()
                time.sleep(0.02)
            else:
                return

    def kill(self) -> None:
        """End the server as a crash does: no transaction is finished, nothing is written out."""
        self._end(signal.SIGQUIT)

    def close(self) -> None:
        """End the server and remove its folder."""
        if self._process:
            self._end(signal.SIGINT)
        shutil.rmtree(self.folder)

    def _end(self, how: signal.Signals) -> None:
        assert self._process
        self._process.send_signal(how)
        self._process.wait(_START_SECONDS)
        self._process = None

    def _url(self, database: str) -> str:
        return f"postgresql://fleet:secret@/{database}?host={self.folder}"

    def database(self) -> Server:
        """A new database, without a store."""
        name = f"fleet{next(self._numbers)}"
        with psycopg.connect(self._url("postgres"), autocommit=True) as connection:
            connection.execute(sql.SQL("CREATE DATABASE {}").format(sql.Identifier(name)))
        return Server(self._url(name))

    def store(self) -> Server:
        """A new database with an empty store."""
        server = self.database()
        assert migrate(server) is None
        return server


def programs() -> Path:
    """The folder of the newest PostgreSQL server that is installed."""
    found = sorted(_PROGRAMS.glob("*/bin/postgres"), key=lambda path: float(path.parts[-3]))
    if not found:
        pytest.fail(f"no server in {_PROGRAMS}: install postgresql")
    return found[-1].parent
