# SPDX-License-Identifier: GPL-2.0-only
"""Places of a real labgrid: found, leased, waited for, lost and released."""

import os
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from rtscope.farm.coordinator import Coordinator, Lease
from rtscope.model.errors import BootError, RtscopeError
from tests.farm.labgrid import Labgrid, running_labgrid

# Each labgrid-client takes a second to start.
pytestmark = pytest.mark.kernels

SERVICE = {"NetworkService": {"address": "127.0.0.1", "username": "root", "port": 1}}
PLACES = {"one": {"soc": "imx8"}, "two": {"soc": "imx8"}, "three": {"soc": "stm32"}, "bare": {}}


def _never() -> bool:
    return False


def _silent(text: str) -> None:
    pass


@pytest.fixture(scope="module")
def labgrid(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Labgrid]:
    exported = {name: SERVICE for name in PLACES if name != "bare"}
    with running_labgrid(tmp_path_factory.mktemp("labgrid"), exported, PLACES) as labgrid:
        yield labgrid


@pytest.fixture
def coordinator(labgrid: Labgrid) -> Iterator[Coordinator]:
    coordinator = Coordinator(labgrid.address)
    yield coordinator
    coordinator.close()


def test_a_place_is_leased_by_name_or_tag_and_released(
    labgrid: Labgrid, coordinator: Coordinator
) -> None:
    with (
        coordinator.leased({"name": "two"}, 10, _silent, _never) as named,
        coordinator.leased({"soc": "imx8"}, 10, _silent, _never) as tagged,
    ):
        assert (named.place, tagged.place) == ("two", "one")
        assert f"rtscope-{os.getpid()}" in labgrid.holder("two")
    assert not labgrid.holder("one")
    assert not labgrid.holder("two")


def test_what_nobody_exports_is_named(coordinator: Coordinator) -> None:
    (bare,) = coordinator.matching({"name": "bare"})
    (one,) = coordinator.matching({"name": "one"})
    assert "bare" in coordinator.lacking(bare)
    assert not coordinator.lacking(one)


def test_a_place_of_another_user_is_waited_for(labgrid: Labgrid, coordinator: Coordinator) -> None:
    labgrid.client("-p", "three", "acquire")
    said: list[str] = []
    freed = threading.Timer(2.0, labgrid.client, ("-p", "three", "release"))
    freed.start()
    with coordinator.leased({"name": "three"}, 60, said.append, _never) as lease:
        assert lease.place == "three"
    assert "elsewhere/other" in said[0]
    freed.join()


def test_waiting_ends_in_time_or_when_it_is_over(
    labgrid: Labgrid, coordinator: Coordinator
) -> None:
    labgrid.client("-p", "three", "acquire")
    try:
        for wait_s, is_over in ((0.0, _never), (60.0, lambda: True)):
            with (
                pytest.raises(BootError, match="elsewhere/other"),
                coordinator.leased({"name": "three"}, wait_s, _silent, is_over),
            ):
                pass
    finally:
        labgrid.client("-p", "three", "release")
    assert "three" not in labgrid.client("reservations")


def test_two_processes_of_one_user_have_a_place_one_after_the_other(
    labgrid: Labgrid, coordinator: Coordinator
) -> None:
    script = (
        "import sys\nfrom rtscope.farm.coordinator import Coordinator\n"
        "one = Coordinator(sys.argv[1])\n"
        "with one.leased({'name': 'one'}, 60, lambda text: print(text, flush=True), "
        "lambda: False):\n    print('leased', flush=True)\none.close()\n"
    )
    with coordinator.leased({"name": "one"}, 10, _silent, _never):
        second = subprocess.Popen(
            [sys.executable, "-c", script, labgrid.address], stdout=subprocess.PIPE, text=True
        )
        assert second.stdout
        assert f"rtscope-{os.getpid()}" in second.stdout.readline()
    assert "leased" in second.communicate(timeout=60)[0]
    assert not labgrid.holder("one")


def test_a_killed_holder_is_named(labgrid: Labgrid, coordinator: Coordinator) -> None:
    script = (
        "import os, signal, sys\nfrom rtscope.farm.coordinator import Coordinator\n"
        "one = Coordinator(sys.argv[1])\n"
        "with one.leased({'name': 'two'}, 60, print, lambda: False):\n"
        "    os.kill(os.getpid(), signal.SIGKILL)\n"
    )
    killed = subprocess.run([sys.executable, "-c", script, labgrid.address], check=False)
    assert killed.returncode == -9
    said: list[str] = []
    with (
        pytest.raises(BootError),
        coordinator.leased({"name": "two"}, 0, said.append, _never),
    ):
        pass
    assert "labgrid-client -p two release" in said[0]
    labgrid.client("-p", "two", "release", "--kick")


def test_a_coordinator_that_restarts_finds_the_lease_again(tmp_path: Path) -> None:
    with running_labgrid(tmp_path, {"one": SERVICE}, {"one": {}}) as labgrid:
        coordinator = Coordinator(labgrid.address)
        with coordinator.leased({"name": "one"}, 10, _silent, _never) as lease:
            labgrid.stop()
            labgrid.start()
            until = time.monotonic() + 60
            while not labgrid.holder("one"):
                assert time.monotonic() < until
            assert not lease.lost
        assert not labgrid.holder("one")
        coordinator.close()


def test_a_lease_that_somebody_else_got_at_the_restart_is_lost_and_stays_theirs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Coordinator, "_acquire_again", lambda self, place: None)
    with running_labgrid(tmp_path, {"one": SERVICE}, {"one": {}}) as labgrid:
        coordinator = Coordinator(labgrid.address)
        with coordinator.leased({"name": "one"}, 10, _silent, _never) as lease:
            labgrid.stop()
            labgrid.start()
            labgrid.client("-p", "one", "acquire")
            _await_lost(lease)
            assert lease.lost == "elsewhere/other"
        assert "other" in labgrid.holder("one")
        coordinator.close()


def test_no_coordinator_is_a_sentence() -> None:
    with pytest.raises(RtscopeError, match=r"127\.0\.0\.1:9 cannot be reached"):
        Coordinator("127.0.0.1:9")


def _await_lost(lease: Lease) -> None:
    until = time.monotonic() + 60
    while not lease.lost:
        assert time.monotonic() < until
        time.sleep(0.1)
