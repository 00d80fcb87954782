# SPDX-License-Identifier: GPL-2.0-only
"""A run begins where a boot ended: the same for everybody, whoever made the snapshot and when."""

import threading
from pathlib import Path

import msgspec
import pytest

from rtscope.engine.measure import measure
from rtscope.lab.kernels import Kernel, kernel_file
from rtscope.lab.verify import repeat
from rtscope.lab.vm import VmTarget, vm_target
from rtscope.model.errors import RtscopeError
from rtscope.model.machine import Machine
from rtscope.model.request import Request

ASKED = Request(samples=200, load="process:1")


@pytest.fixture
def cache(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """Another cache, without a snapshot."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return tmp_path / "cache" / "rtscope"


@pytest.fixture
def target(arm64_kernel: Kernel, tmp_path: Path, request: pytest.FixtureRequest) -> VmTarget:
    """An arm64 machine, whose boot is the shortest of Debian's kernels, in a cache of its own."""
    folder = kernel_file(arm64_kernel).parent
    cache: Path = request.getfixturevalue("cache")
    (cache / "kernels").mkdir(parents=True)
    (cache / "kernels" / arm64_kernel.name).symlink_to(folder)
    return vm_target(f"vm:{arm64_kernel.name}")


def ignore(_: object) -> None:
    """Nobody interrupts here."""


def kept(cache: Path) -> list[Path]:
    return [path for path in (cache / "snapshots").iterdir() if not path.name.startswith(".")]


def test_a_damaged_snapshot_is_made_again_and_runs_are_the_same(
    target: VmTarget, cache: Path
) -> None:
    # The second is beside a busy host, which makes its snapshot beside it too.
    runs = repeat(target, ASKED, 2, ignore)
    one = next(runs)
    (place,) = kept(cache)
    assert {path.name for path in place.iterdir()} == {"snapshot", "boot.txt", "snapshot.json"}
    with (place / "snapshot").open("r+b") as file:
        file.seek((place / "snapshot").stat().st_size // 2)
        file.write(b"damaged")
    other = next(runs)

    assert len(one.lines) == 200
    assert one.lines == other.lines
    assert b"damaged" not in (place / "snapshot").read_bytes()

    # Another seed is another run from the same snapshot.
    seeded = msgspec.structs.replace(target, spec=msgspec.structs.replace(target.spec, seed=2))
    (varied,) = repeat(seeded, ASKED, 1, ignore)
    assert varied.lines != one.lines
    assert kept(cache) == [place]


def test_a_run_says_whether_it_was_restored_or_booted(arm64_kernel: Kernel) -> None:
    restored = vm_target(f"vm:{arm64_kernel.name}")
    booted = vm_target(f"vm:{arm64_kernel.name},start=booted")
    run = measure(Request(samples=20), Machine(), ignore, ignore, restored)

    assert run.lab is not None
    assert run.lab.restored
    assert "-incoming" in run.lab.command
    assert not booted.restores


def test_an_interrupt_while_the_snapshot_is_made_leaves_nothing(
    target: VmTarget, cache: Path
) -> None:
    with target.started_agent(ASKED) as agent:
        soon = threading.Timer(1.0, agent.interrupt)
        soon.start()
        with pytest.raises(RtscopeError, match="interrupted while the guest was booting"):
            list(agent.lines(60))
        soon.join()
    assert [path.suffix for path in (cache / "snapshots").iterdir()] == [".lock"]
