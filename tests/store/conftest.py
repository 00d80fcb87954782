# SPDX-License-Identifier: GPL-2.0-only
"""Servers and runs that the tests of stores share."""

from pathlib import Path

import pytest

from rtscope.store.address import Place, Server
from tests.cluster import Cluster


@pytest.fixture
def server(cluster: Cluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Server:
    """An empty store on the server; runs that it does not take are kept in the test's folder."""
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    return cluster.store()


@pytest.fixture(params=["sqlite", "postgresql"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Place:
    """An empty store of each kind."""
    if request.param == "sqlite":
        return tmp_path / "rtscope" / "runs.sqlite"
    server: Server = request.getfixturevalue("server")
    return server
