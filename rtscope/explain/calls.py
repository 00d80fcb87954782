# SPDX-License-Identifier: GPL-2.0-only
"""Calls from a list of executed blocks: the stack pointer identifies the caller of each."""

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


class Piece(msgspec.Struct, frozen=True):
    """A part of a call: another task ran before and after it, or it is all of the call."""

    call: Call
    invocation: int
    """the same number for all pieces of one call"""


class _Open(msgspec.Struct):
    start_ns: int
    depth: int
    function: str
    invocation: int
    end_ns: int = -1


class _Frame(msgspec.Struct):
    function: str
    stack_pointer: int
    """where it began; for one whose beginning was not seen, the highest so far"""
    seen: bool
    """began within the trace"""
    invocation: int
    pieces: list[_Open] = []
    runs: bool = False
    """its task runs: the last of its pieces has no end yet"""


class _Stack(msgspec.Struct):
    """The frames of one task, outermost first."""

    frames: list[_Frame] = []
    pieces: list[_Open] = []
    """of all frames since the outermost one began"""


def calls_of(steps: Sequence[Step], end_ns: int) -> list[Piece]:
    """All calls, each caller before its callees. A task switch divides them.

    A frame is gone when the stack pointer is above where it began, or when the function below it
    goes on. A function that goes on where the outermost frame was had called it, or was
    interrupted by it: it ran all that time.
    """
    pieces: list[_Open] = []
    stacks: dict[int, _Stack] = {}
    stack = _Stack()
    task: int | None = None
    invocations = 0
    for step in steps:
        if step.task != task:
            _close(stack.frames, step.at_ns)
            task = step.task
            stack = stacks.setdefault(task, _Stack())
        frames = stack.frames
        kept = _frames_kept(frames, step)
        outermost = frames[0] if frames and not kept else None
        _close(frames[kept:], step.at_ns)
        del frames[kept:]
        if step.begins or not frames or frames[-1].function != step.function:
            seen = step.begins and step.function != USER_SPACE
            frame = _Frame(step.function, step.stack_pointer, seen, invocations)
            invocations += 1
            if outermost and _goes_on_around(step, outermost):
                pieces += _put_around(frame, outermost, stack)
            elif not frames:
                stack.pieces = []
            frames.append(frame)
        for depth, frame in enumerate(frames):
            if not frame.runs:
                piece = _Open(step.at_ns, depth, frame.function, frame.invocation)
                frame.runs = True
                for known in (pieces, stack.pieces, frame.pieces):
                    known.append(piece)
    _close(stack.frames, end_ns)
    return [
        Piece(
            Call(piece.start_ns, piece.end_ns - piece.start_ns, piece.depth, piece.function),
            piece.invocation,
        )
        for piece in sorted(pieces, key=lambda piece: (piece.start_ns, piece.depth))
    ]


def _close(frames: list[_Frame], at_ns: int) -> None:
    """End the running calls of these frames."""
    for frame in frames:
        if frame.runs:
            frame.pieces[-1].end_ns = at_ns
            frame.runs = False


def _goes_on_around(step: Step, outermost: _Frame) -> bool:
    """Whether the function that goes on in this step was there before the outermost one."""
    return not step.begins and USER_SPACE not in {step.function, outermost.function}


def _put_around(caller: _Frame, outermost: _Frame, stack: _Stack) -> list[_Open]:
    """Give the caller the pieces of its callee; the last one continues."""
    for piece in stack.pieces:
        piece.depth += 1
    caller.pieces = [
        _Open(piece.start_ns, 0, caller.function, caller.invocation, piece.end_ns)
        for piece in outermost.pieces
    ]
    caller.runs = True
    stack.pieces += caller.pieces
    return caller.pieces


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
    # What was called on the step's own stack may be over; a function that is interrupted or called
    # on another stack is not over by that.
    caller = kept - 1
    while (
        caller >= 0
        and _same_stack(frames[caller], step)
        and _returned(frames[caller], step, here=False)
    ):
        caller -= 1
    for place in range(len(frames) - 1, -1, -1):
        frame = frames[place]
        if frame.function == step.function and (
            not frame.seen
            or step.stack_pointer <= frame.stack_pointer
            or (place == caller and not _same_stack(frame, step))
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
