"""What every room's tests may use."""

import os
from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def agent_path() -> Path:
    """The agent of this checkout, built for this machine."""
    path = Path(__file__).parents[1] / "build" / "native" / "rtscope-agent"
    if not os.access(path, os.X_OK):
        pytest.fail(f"{path} is not built: run `make agent` first")
    return path
