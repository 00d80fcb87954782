# SPDX-License-Identifier: GPL-2.0-only
"""The causes of a run's explained samples, by the time that each took."""

from collections.abc import Sequence

import msgspec

from rtscope.model.timeline import Explanation, LedgerTerm, TermKind


class Cause(msgspec.Struct, frozen=True):
    """One cause over all explained samples."""

    kind: TermKind
    name: str
    """handler, program or idle state; threads of one program count together"""
    first: int
    """samples in which it took more time than any other"""
    samples: int
    """samples that it took time of"""
    total_ns: int
    share: float
    """of the latency of all explained samples, from 0 to 1"""
    largest_without_ns: int
    """latency of the largest explained sample if this cause took no time"""


def causes(explanations: Sequence[Explanation]) -> list[Cause]:
    """Return the causes, most time first; empty if no sample has a ledger."""
    explained = [one for one in explanations if one.ledger]
    latency_ns = sum(one.latency_ns for one in explained)
    keys = dict.fromkeys(_key(term) for one in explained for term in one.ledger)
    found = []
    for key in keys:
        times = [sum(term.ns for term in one.ledger if _key(term) == key) for one in explained]
        found.append(
            Cause(
                kind=key[0],
                name=key[1],
                first=sum(_key(one.ledger[0]) == key for one in explained),
                samples=sum(ns > 0 for ns in times),
                total_ns=sum(times),
                share=sum(times) / latency_ns if latency_ns else 0.0,
                largest_without_ns=max(
                    one.latency_ns - ns for one, ns in zip(explained, times, strict=True)
                ),
            )
        )
    return sorted(found, key=lambda cause: (-cause.total_ns, cause.kind, cause.name))


def _key(term: LedgerTerm) -> tuple[TermKind, str]:
    name, slash, tid = term.name.rpartition("/")
    return term.kind, name if slash and tid.isdigit() else term.name
