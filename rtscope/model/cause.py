# SPDX-License-Identifier: GPL-2.0-only
"""The causes of late samples, ranked: findings over all explained samples of a run."""

from typing import Literal

import msgspec

from rtscope.model.timeline import Remote, TermKind

Scope = Literal["explained", "tail"]
"""explained: all samples with a ledger; tail: those of them above the run's p99"""


class Cause(msgspec.Struct, frozen=True):
    """One cause over the samples of a ranking."""

    kind: TermKind
    name: str
    """handler, program or idle state; threads of one program count together"""
    first: int
    """samples in which it took more time than any other"""
    samples: int
    """samples that it took time of"""
    total_ns: int
    share: float
    """of the latency of the samples, from 0 to 1"""
    share_low: float | None
    """limits of the share, of 95 % confidence; None: too few samples"""
    share_high: float | None
    cpus: list[int]
    max_without_ns: int
    """the run's maximum if this cause took no time, at most: unexplained samples keep theirs"""
    p9999_without_ns: int | None
    """the run's p99.99 likewise; None: too few samples"""
    function: str = ""
    """the work item, call or site that took the most of it; empty: not recorded"""
    remote: Remote | None = None
    """who sent, queued or held the most of it"""


class Ranking(msgspec.Struct, frozen=True):
    """The causes of some late samples, most time first."""

    scope: Scope
    explained: int
    """samples that the causes are of"""
    samples: int
    """all samples of the run in this scope, explained or not"""
    above_ns: int | None
    """they are longer than this; None: the scope has no limit"""
    max_ns: int
    """of the run"""
    p9999_ns: int | None
    causes: list[Cause]
