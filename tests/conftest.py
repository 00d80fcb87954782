# SPDX-License-Identifier: GPL-2.0-only
"""What every room's tests may use."""

import os
import shutil
import signal
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import hypothesis
import pytest

if TYPE_CHECKING:
    from tests.cluster import Cluster

# The machine is shared: how long an example takes says nothing. A change is judged by the same
# examples each time; new ones are searched for by `make check-long`.
_UNHURRIED = hypothesis.settings(
    deadline=None,
    suppress_health_check=[
        hypothesis.HealthCheck.too_slow,
        hypothesis.HealthCheck.function_scoped_fixture,
    ],
)
hypothesis.settings.register_profile("same", _UNHURRIED, derandomize=True, max_examples=50)
hypothesis.settings.register_profile("search", _UNHURRIED, max_examples=1000)
hypothesis.settings.load_profile("same")

# In the background of a script it is ignored, and so it would be in all that is started from here.
signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Run a timing test again when it fails, up to twice: another program may have stalled it."""
    for item in items:
        if marker := item.get_closest_marker("timing"):
            (reason,) = marker.args
            item.user_properties.append(("timing", reason))
            item.add_marker(pytest.mark.flaky(reruns=2, reruns_delay=1))


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Report each test that was run again, and why that was allowed."""
    reruns = terminalreporter.getreports("rerun")
    if reruns:
        terminalreporter.section("timing tests that were run again")
    for report in reruns:
        failure = str(report.longrepr).splitlines()[-1]
        reason = dict(report.user_properties)["timing"]
        terminalreporter.write_line(f"{report.nodeid} ({reason}): {failure}")


@pytest.fixture(scope="session")
def agent_path() -> Path:
    """The agent of this checkout, built for this machine."""
    path = Path(__file__).parents[1] / "build" / "native" / "rtscope-agent"
    if not os.access(path, os.X_OK):
        pytest.fail(f"{path} is not built: run `make agent` first")
    return path


@pytest.fixture(scope="session")
def cluster() -> Iterator["Cluster"]:
    """A running PostgreSQL server; its tests leave it running."""
    from tests.cluster import Cluster

    started = Cluster()
    try:
        started.start()
        yield started
    finally:
        started.close()


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
