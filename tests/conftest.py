"""What every room's tests may use."""

import os
from pathlib import Path

import hypothesis
import pytest

# The machine is shared: how long an example takes says nothing.
hypothesis.settings.register_profile("shared-machine", deadline=None)
hypothesis.settings.load_profile("shared-machine")


@pytest.fixture(scope="session")
def agent_path() -> Path:
    """The agent of this checkout, built for this machine."""
    path = Path(__file__).parents[1] / "build" / "native" / "rtscope-agent"
    if not os.access(path, os.X_OK):
        pytest.fail(f"{path} is not built: run `make agent` first")
    return path
