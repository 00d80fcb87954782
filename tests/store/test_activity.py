# SPDX-License-Identifier: GPL-2.0-only
"""States of programs that measure, as other processes read them."""

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from rtscope.model.errors import StoreError
from rtscope.model.farm import Activity, Board, RunProgress
from rtscope.store.activity import (
    SILENT,
    activities,
    activity_folder,
    activity_path,
    activity_stamp,
    is_silent,
    remove_activity,
    write_activity,
)


@pytest.fixture(autouse=True)
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A state directory of each test's own."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))


def an_activity(written: datetime, *, ended: bool = False) -> Activity:
    """The activity of a farm."""
    return Activity("farm", "lab.toml", written.isoformat(), written.isoformat(), ended, 1)


BOARD = Board(
    "beagle", "labgrid:beagle", "measuring", "2026-11-24T06:00:00+00:00",
    RunProgress("cyclic under idle", 10**9, 10**10, 1000, 2, 35_000), 1, 4, "pass", "ab12", "x\ny",
)  # fmt: skip


def test_boards_are_read_as_written_newest_activity_first() -> None:
    """Each activity has its boards; one that is written again is replaced."""
    now = datetime.now(UTC)
    write_activity("farm-old", an_activity(now - timedelta(hours=1), ended=True), [])
    write_activity("farm-lab", an_activity(now - timedelta(hours=2)), [])
    before = activity_stamp()
    write_activity("farm-lab", an_activity(now), [BOARD, BOARD])
    assert activity_stamp() != before
    assert [boards for _, boards in activities()] == [[BOARD, BOARD], []]
    remove_activity("farm-lab")
    assert [one.ended for one, _ in activities()] == [True]


def test_damaged_files_are_left_out_and_names_stay_in_the_folder() -> None:
    """A file that is cut, of another program or huge hides no other; a name is no path."""
    write_activity("../../farm", an_activity(datetime.now(UTC)), [BOARD])
    assert activity_path("../../farm").parent == activity_folder()
    for name, data in (("cut", b'{"kind":"farm"'), ("empty", b""), ("huge", b"x" * 4_000_001)):
        activity_path(name).write_bytes(data)
    assert [boards for _, boards in activities()] == [[BOARD]]


def test_an_activity_is_silent_once_its_program_is_gone() -> None:
    """Unless it has ended."""
    now = datetime.now(UTC)
    assert not is_silent(an_activity(now))
    assert is_silent(an_activity(now - 2 * SILENT))
    assert not is_silent(an_activity(now - 2 * SILENT, ended=True))


def test_a_folder_that_cannot_be_written_is_an_error(tmp_path: Path) -> None:
    """The caller decides; no file is half there."""
    (tmp_path / "rtscope").write_text("a file")
    with pytest.raises(StoreError):
        write_activity("farm", an_activity(datetime.now(UTC)), [])
    assert activities() == []
