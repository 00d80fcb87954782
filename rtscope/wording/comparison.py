# SPDX-License-Identifier: GPL-2.0-only
"""What comparing a page's runs came to, for its title and its first lines."""

import re
from collections.abc import Sequence
from typing import Final

import msgspec

from rtscope.model.errors import RtscopeError
from rtscope.model.run import Run
from rtscope.statistics.comparison import Comparison, Outcome, compare_series
from rtscope.wording.run import REPEAT_BOTH
from rtscope.wording.values import plain

_GRAVEST_FIRST: Final[tuple[Outcome, ...]] = (
    "worse", "better", "no evidence", "too few", "not comparable",
)  # fmt: skip
_HEADLINES: Final[dict[Outcome, str]] = {
    "worse": "{} is worse than {}",
    "better": "{} is better than {}",
    "no evidence": "no evidence that {} differs from {}",
    "too few": "too few data to compare {} with {}",
    "not comparable": "{} cannot be compared with {}",
}


class Verdict(msgspec.Struct, frozen=True):
    """The first run against each of the others."""

    headline: str
    sentences: list[str]


def verdict_of(labels: Sequence[str], runs: Sequence[Run]) -> Verdict:
    """The verdict on each run but the first, which it is compared with."""
    headlines, sentences = [], []
    repeat = False
    for label, run in list(zip(labels, runs, strict=True))[1:]:
        try:
            compared = compare_series(runs[0], run)
        except RtscopeError as error:
            headlines.append(_HEADLINES["not comparable"].format(label, labels[0]))
            sentences.append(plain(str(error)))
            continue
        outcomes = {one.outcome for one in compared}
        gravest = next(outcome for outcome in _GRAVEST_FIRST if outcome in outcomes)
        repeat = repeat or gravest in ("better", "worse")
        headlines.append(_HEADLINES[gravest].format(label, labels[0]))
        sentences += [_sentence(one, label) for one in compared]
    text = "; ".join(headlines)
    return Verdict(text[:1].upper() + text[1:], sentences + [REPEAT_BOTH] * repeat)


def _sentence(comparison: Comparison, label: str) -> str:
    text = plain(comparison.sentence)
    if label != "B":
        text = re.sub(r"\bB\b", label, text)
    return f"{plain(comparison.series)}: {text}" if comparison.series else text
