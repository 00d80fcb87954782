"""What every room's tests may use."""

import os
import shutil
import signal
import tempfile
from collections.abc import Iterator
from pathlib import Path

import hypothesis
import pytest

# The machine is shared: how long an example takes says nothing.
hypothesis.settings.register_profile("shared-machine", deadline=None)
hypothesis.settings.load_profile("shared-machine")

# In the background of a script it is ignored, and so it would be in all that is started from here.
signal.signal(signal.SIGINT, signal.default_int_handler)

_MEASURING = ("tests/agent", "tests/cli", "tests/lab")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Try again what measures this machine: a stall of somebody else's is not ours to fail on.

    What is broken fails every time. Tests on built kernels take too long to be run again.
    """
    root = Path(__file__).parents[1]
    for item in items:
        slow = item.get_closest_marker("kernels") or item.get_closest_marker("long")
        if not slow and item.path.relative_to(root).as_posix().startswith(_MEASURING):
            item.add_marker(pytest.mark.flaky(reruns=3, reruns_delay=1))


@pytest.fixture(scope="session")
def agent_path() -> Path:
    """The agent of this checkout, built for this machine."""
    path = Path(__file__).parents[1] / "build" / "native" / "rtscope-agent"
    if not os.access(path, os.X_OK):
        pytest.fail(f"{path} is not built: run `make agent` first")
    return path


@pytest.fixture
def public_agent(agent_path: Path) -> Iterator[Path]:
    """The agent where every user may start it."""
    with tempfile.TemporaryDirectory() as directory:
        Path(directory).chmod(0o755)
        yield Path(shutil.copy(agent_path, directory))
