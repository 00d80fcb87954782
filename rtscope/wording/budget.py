# SPDX-License-Identifier: GPL-2.0-only
"""Sentences about limits: pass, fail or inconclusive, and why."""

from rtscope.model.units import counted, format_ns
from rtscope.statistics.verdict import Judgement
from rtscope.wording.reason import reason_text, stalls_text
from rtscope.wording.values import span_text


def judgement_sentence(one: Judgement) -> str:
    """max<50us: fail, max is 61.20 us (on CPU 3, 12,001 samples)."""
    return f"{one.limit.text}: {one.outcome}{judgement_evidence(one)}"


def judgement_evidence(one: Judgement) -> str:
    """The part of the sentence behind the outcome."""
    reason = reason_text(one.reason) if one.reason else ""
    if one.more_ns:
        reason += f": {span_text(one.more_ns)} more at this rate"
    text = ", ".join(["", "; ".join(part for part in (_value(one), reason) if part)])
    if one.thread is not None:
        text += f" ({_place(one)}, {counted(one.samples, 'sample')})"
    return f"{text}; {stalls_text(one.stalls)}" if one.stalls else text


def _value(one: Judgement) -> str:
    if one.value is None:
        return ""
    plain = f"{one.value:,.0f}" if one.value % 1 == 0 else f"{one.value:,.4g}"
    number = format_ns(one.value) if one.limit.in_ns else plain
    if one.limit.is_rate:
        number += "/h"
    return f"{one.limit.metric} is {'at least ' if one.at_least else ''}{number}"


def _place(one: Judgement) -> str:
    thread = f"thread {one.thread}" if one.cpu is None else f"CPU {one.cpu}"
    name = f"{one.series} on " if one.series else ""
    return f"{'worst on' if one.outcome == 'pass' else 'on'} {name}{thread}"
