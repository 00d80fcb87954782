# SPDX-License-Identifier: GPL-2.0-only
"""The cells of a plan with their verdicts."""

from collections.abc import Sequence

import msgspec

from rtscope.model.run import Run
from rtscope.statistics.verdict import Judgement


class CellResult(msgspec.Struct, frozen=True):
    """The result of one cell of a plan."""

    name: str
    run: Run | None = None
    judgements: Sequence[Judgement] = ()
    failure: str = ""
    """the reason why it could not be measured; without a run and a reason it was not begun"""
    boot_failed: bool = False
    """that is because its system did not boot, or cannot be reached"""

    @property
    def verdict(self) -> str:
        """One word or two: pass, inconclusive, fail, measured, an unfinished run's end, ..."""
        if self.run is None:
            return "failed" if self.failure else "not begun"
        outcomes = {judgement.outcome for judgement in self.judgements}
        if "fail" in outcomes:
            return "fail"
        if self.run.status != "complete":
            return self.run.status
        if "inconclusive" in outcomes:
            return "inconclusive"
        return "pass" if outcomes else "measured"

    @property
    def is_bad(self) -> bool:
        """True where the cell was not measured to its end, or a limit does not pass."""
        return self.verdict not in ("pass", "measured")


def not_passed(results: Sequence[CellResult]) -> list[tuple[str, Judgement]]:
    """Each limit that fails or is inconclusive, with its cell's name."""
    return [
        (result.name, judgement)
        for result in results
        for judgement in result.judgements
        if judgement.outcome != "pass"
    ]
