"""Calls from a list of executed blocks: who called whom is told by the stack pointer."""

from collections.abc import Sequence
from typing import Final

import msgspec

from rtscope.explain.symbols import USER_SPACE
from rtscope.model.timeline import Call

_STACK: Final = 14
"""log2 of the size of a kernel's stack, to which it is aligned"""


class Step(msgspec.Struct, frozen=True):
    """From here on, until the next step, one function of one task ran."""

    at_ns: int
    function: str
    begins: bool
    """at the function's first instruction: it was called or jumped to, not returned to"""
    task: int
    stack_pointer: int


class _Frame(msgspec.Struct):
    function: str
    stack_pointer: int
    """where it began; for one whose beginning was not seen, the highest so far"""
    seen: bool
    """began within what was witnessed"""
    call: int = -1
    """its place among the calls; -1 while another task runs"""


class _Open(msgspec.Struct):
    start_ns: int
    depth: int
    function: str
    end_ns: int = -1


def calls_of(steps: Sequence[Step], end_ns: int) -> list[Call]:
    """All calls, a caller before what it calls. A switch of tasks ends them, and begins them anew.

    A frame is gone when the stack pointer is above where it began, or when the function below it
    goes on.
    """
    calls: list[_Open] = []
    stacks: dict[int, list[_Frame]] = {}
    running: list[_Frame] = []
    task: int | None = None
    for step in steps:
        if step.task != task:
            _close(running, 0, calls, step.at_ns, keep=True)
            task = step.task
            running = stacks.setdefault(task, [])
        kept = _frames_kept(running, step)
        _close(running, kept, calls, step.at_ns, keep=False)
        if step.begins or not running or running[-1].function != step.function:
            seen = step.begins and step.function != USER_SPACE
            running.append(_Frame(step.function, step.stack_pointer, seen))
        for depth, frame in enumerate(running):
            if frame.call < 0:
                frame.call = len(calls)
                calls.append(_Open(step.at_ns, depth, frame.function))
    _close(running, 0, calls, end_ns, keep=True)
    return [
        Call(call.start_ns, call.end_ns - call.start_ns, call.depth, call.function)
        for call in calls
    ]


def _close(frames: list[_Frame], kept: int, calls: list[_Open], at_ns: int, *, keep: bool) -> None:
    """End the calls of frames beyond the first `kept`; `keep` those for when the task returns."""
    for frame in frames[kept:]:
        if frame.call >= 0:
            calls[frame.call].end_ns = at_ns
            frame.call = -1
    if not keep:
        del frames[kept:]


def _frames_kept(frames: list[_Frame], step: Step) -> int:
    """How many of the frames are still there when `step` is taken; moves the last one's beginning
    where it has changed stacks or had begun before all this."""
    user = step.function == USER_SPACE
    if frames and (frames[0].function == USER_SPACE) != user:
        return 0
    kept = len(frames)
    if step.begins and not user:
        while kept and _returned(frames[kept - 1], step, here=True):
            kept -= 1
        return kept
    for place in range(len(frames) - 1, -1, -1):
        frame = frames[place]
        if frame.function == step.function and (
            not frame.seen
            or step.stack_pointer <= frame.stack_pointer
            or (place == kept - 1 and not _same_stack(frame, step))
        ):
            if not frame.seen or not _same_stack(frame, step):
                frame.stack_pointer = max(frame.stack_pointer, step.stack_pointer)
            return place + 1
    while kept and _returned(frames[kept - 1], step, here=False):
        kept -= 1
    return kept


def _same_stack(frame: _Frame, step: Step) -> bool:
    return frame.stack_pointer >> _STACK == step.stack_pointer >> _STACK


def _returned(frame: _Frame, step: Step, *, here: bool) -> bool:
    """Whether the frame is gone when a function begins (`here`), or another goes on."""
    if not _same_stack(frame, step):
        return not here
    return frame.stack_pointer <= step.stack_pointer
