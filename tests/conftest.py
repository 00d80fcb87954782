# SPDX-License-Identifier: GPL-2.0-only
"""What every room's tests may use."""

import os
import re
import shutil
import signal
import tempfile
from collections.abc import Iterator
from pathlib import Path

import hypothesis
import pytest

from rtscope.lab.emulator import STALE_CODE

# The machine is shared: how long an example takes says nothing. A change is judged by the same
# examples each time; new ones are searched for by `make check-long`.
hypothesis.settings.register_profile("same", deadline=None, derandomize=True, max_examples=50)
hypothesis.settings.register_profile("search", deadline=None, max_examples=1000)
hypothesis.settings.load_profile("same")

# In the background of a script it is ignored, and so it would be in all that is started from here.
signal.signal(signal.SIGINT, signal.default_int_handler)

# What is left of it where pytest shortens what a test printed.
_STALE_CODE = STALE_CODE.partition(",")[0]
_MEASURING = ("tests/agent", "tests/cli", "tests/lab")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Try again what measures this machine: a stall of somebody else's is not ours to fail on.

    What is broken fails every time. Tests on built kernels take too long to be run again, and those
    of exact repetition must hold every time, where the lab gets what docs/lab.md says it needs:
    both are run again only where the emulator itself failed, as it says.
    """
    root = Path(__file__).parents[1]
    markers = ["kernels", "long", *(["exact"] if _may_run_in_real_time() else [])]
    for item in items:
        once = any(item.get_closest_marker(name) for name in markers)
        if not item.path.relative_to(root).as_posix().startswith(_MEASURING):
            continue
        only = {"only_rerun": re.escape(_STALE_CODE)} if once else {}
        item.add_marker(pytest.mark.flaky(reruns=3, reruns_delay=1, **only))


def _may_run_in_real_time() -> bool:
    policy = os.sched_getscheduler(0)
    try:
        os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1))
    except OSError:
        return False
    os.sched_setscheduler(0, policy, os.sched_param(0))
    return True


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


@pytest.fixture
def contained() -> Iterator[tuple[str, ...]]:
    """What a command has to follow to run in a cpuset of the last CPU alone, as in a container."""
    path = Path("/sys/fs/cgroup/cpuset")
    if os.geteuid() or not path.is_dir():
        pytest.skip("making a cpuset needs root and cgroups of version 1")
    mine = path / f"rtscope-test-{os.getpid()}"
    mine.mkdir()
    try:
        (mine / "cpuset.cpus").write_text(str(max(os.sched_getaffinity(0))))
        (mine / "cpuset.mems").write_text((path / "cpuset.mems").read_text())
        yield "sh", "-c", f'echo $$ > {mine}/tasks && exec "$0" "$@"'
    finally:
        mine.rmdir()
