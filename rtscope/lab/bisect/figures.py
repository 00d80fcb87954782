# SPDX-License-Identifier: GPL-2.0-only
"""The measured runs of a commit, stored seed by seed, so that none is measured twice."""

import hashlib
import shutil
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final

import msgspec

from rtscope.lab.kernels import cache_directory
from rtscope.model.errors import RtscopeError
from rtscope.model.run import Run
from rtscope.store.files import write_file
from rtscope.store.runfile import decode_run, encode_run

_UNTESTABLE: Final = "untestable"


class Figures:
    """The runs of one kernel and one measurement."""

    def __init__(self, content: object) -> None:
        """`content` is everything that determines the runs, besides the seed."""
        encoded = msgspec.json.encode(content, order="deterministic")
        key = hashlib.sha256(encoded).hexdigest()[:32]
        self._folder = figures_folder() / key

    def stored(self, seeds: Sequence[int]) -> dict[int, Run]:
        """The runs of these seeds that are stored."""
        found = {}
        for seed in seeds:
            # Another version of rtscope may have stored something else.
            with suppress(OSError, RtscopeError):
                found[seed] = decode_run((self._folder / f"{seed}.json").read_bytes())
        return found

    def store(self, seed: int, run: Run) -> None:
        """Store the run of a seed. Raises RtscopeError."""
        self._write(encode_run(run), f"{seed}.json")

    def reason(self) -> str | None:
        """Why the commit cannot be tested, if that is stored."""
        with suppress(OSError):
            return (self._folder / _UNTESTABLE).read_text()
        return None

    def store_reason(self, reason: str) -> None:
        """Store why the commit cannot be tested. Raises RtscopeError."""
        self._write(reason.encode(), _UNTESTABLE)

    def forget(self) -> None:
        """Remove everything that is stored."""
        shutil.rmtree(self._folder, ignore_errors=True)

    def _write(self, data: bytes, name: str) -> None:
        try:
            self._folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise RtscopeError(
                f"{self._folder} cannot be used for figures: {error.strerror}"
            ) from None
        write_file(data, self._folder / name, "the figures of a commit", overwrite=True)


def figures_folder() -> Path:
    """The directory of all figures."""
    return cache_directory() / "bisect" / "figures"
