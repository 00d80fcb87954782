# SPDX-License-Identifier: GPL-2.0-only
"""An agent's lines from the standard output of a process: the agent, ssh or QEMU."""

import math
import os
import re
import selectors
import signal
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Final

import msgspec

from rtscope.model.description import Description
from rtscope.model.errors import OptionsRefusedError, RtscopeError
from rtscope.model.run import Lab
from rtscope.target.bounds import (
    DESCRIBE_S,
    ENDING_S,
    INTERRUPTED_S,
    LONGEST_STEP_S,
    MOST_STDERR,
    PROMPT_S,
    SLOWEST_BYTES_PER_S,
    Allowance,
    Span,
    check_length,
)
from rtscope.target.protocol import (
    UNKNOWN_LINE,
    AgentWarning,
    AnyLine,
    End,
    Refusal,
    Start,
    check_hello,
    decode_line,
)

_CHUNK = 1 << 20
_LEAST_WAIT_S = 0.05
_LONGEST_WAIT_S = 2.0
_LONGEST_END_S = 20.0
_DESCRIBE_S = 20.0
BAD_USE: Final = 2
"""exit status of an agent that refuses options or a command"""
_OLD_REFUSAL: Final = re.compile(r"rtscope-agent [a-z]+: (.*)", re.DOTALL)
_OPTION: Final = re.compile(r"--([a-z][a-z-]*)")


class AgentProcess:
    """A started agent. Its lines are read once, in order, until its end line."""

    def __init__(
        self,
        command: list[str],
        *,
        directory: Path | None = None,
        stdin: int | IO[bytes] = subprocess.DEVNULL,
    ) -> None:
        """Start `command` in `directory`. Raises RtscopeError."""
        try:
            self._process = subprocess.Popen(
                command,
                cwd=directory,
                bufsize=0,
                stdin=stdin,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                start_new_session=True,
            )
        except OSError as error:
            raise RtscopeError(f"cannot start {command[0]}: {error.strerror}") from error
        self._stderr = bytearray()
        self._was_killed = False
        self._silence_limit_s = 0.0
        self._allowance = Allowance()
        self._lasted_s = 0.0
        self._end_by_s = Span().answer_s
        """on the clock of _lasted_s"""
        self._prompt_by_s = math.inf
        """likewise, of an answer; each byte moves it"""
        self._interrupted = False
        self._ending_s = ENDING_S

    def interrupt(self) -> None:
        """Ask the agent to end early and still say what it measured."""
        self._interrupted = True
        if self._process.poll() is None:
            self._process.send_signal(signal.SIGINT)

    def kill(self) -> None:
        """End the agent at once; what it measured is lost."""
        if self._process.poll() is None:
            self._process.kill()

    def close(self) -> None:
        """End the agent if it still runs, first by a signal that it can handle, and reap it."""
        self.interrupt()
        try:
            self._process.wait(timeout=5)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        for pipe in (self._process.stdin, self._process.stdout, self._process.stderr):
            if pipe:
                pipe.close()

    def lab(self) -> Lab | None:
        """The emulation parameters of its VM; None on real hardware."""
        return None

    def lines(self, silence_limit_s: float, span: Span = Span()) -> Iterator[AnyLine]:
        """Yield the agent's lines, hello first, end last; of UNKNOWN_LINE warnings the first only.

        Raises RtscopeError where the agent refuses, dies, breaks the protocol, sends nothing for
        `silence_limit_s` seconds, takes longer than its `span`, or sends too much.
        """
        self._silence_limit_s = silence_limit_s
        self._end_by_s = self._lasted_s + span.answer_s
        self._prompt_by_s = self._lasted_s + PROMPT_S if span.prompt else math.inf
        hello = started = warned = ended = False
        refusal: Refusal | None = None
        for raw in self._raw_lines():
            self._allowance.take_line(raw, self._lasted_s)
            line = decode_line(raw)
            self._allowance.keep(line, raw)
            if not hello:
                check_hello(line)
                hello = True
            if isinstance(line, AgentWarning) and line.code == UNKNOWN_LINE:
                if warned:
                    continue
                warned = True
            if isinstance(line, Refusal):
                refusal = line
                continue
            if isinstance(line, Start) and not started:
                started = True
                self._bound_measuring(line, span)
            yield line
            if isinstance(line, End):
                ended = True
                break
        if ended:
            return
        message = self.why_it_ended()
        if refusal:
            raise OptionsRefusedError(message, refusal.options, refusal.text)
        if reason := self._old_refusal():
            raise OptionsRefusedError(message, _OPTION.findall(reason), reason)
        raise RtscopeError(message)

    def _old_refusal(self) -> str:
        """Return the sentence of an agent older than the line `refusal`; "" if there is none."""
        status, said = self.outcome()
        found = _OLD_REFUSAL.fullmatch(said) if status == BAD_USE else None
        return found[1] if found else ""

    def description(self) -> Description | None:
        """Return the answer of `describe`; None of an agent too old for that. Raises RtscopeError.

        The bounds are those of `lines`, but for the time.
        """
        self._silence_limit_s = _DESCRIBE_S
        self._end_by_s = self._lasted_s + DESCRIBE_S
        try:
            answer = next(self._raw_lines(), b"")
            return msgspec.json.decode(answer, type=Description)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            return None

    def _bound_measuring(self, start: Start, span: Span) -> None:
        """Measuring begins: allow the requested duration, and a margin to end."""
        duration_s = span.duration_s or start.duration_ns / 1e9 or math.inf
        if not self._interrupted:
            longest_s = self.measuring_s(duration_s + span.repeat_s)
            self._end_by_s = self._lasted_s + longest_s + self._ending_s

    def _raw_lines(self) -> Iterator[bytes]:
        out, err = self._process.stdout, self._process.stderr
        assert out is not None
        assert err is not None
        pending = bytearray()
        received_s = polled_s = self.spent_s()
        interrupted = False
        with selectors.DefaultSelector() as selector:
            selector.register(out, selectors.EVENT_READ)
            selector.register(err, selectors.EVENT_READ)
            while True:
                left_s = received_s + self._silence_limit_s - self.spent_s()
                ready = selector.select(min(max(_LEAST_WAIT_S, left_s), _LONGEST_WAIT_S))
                before_s, polled_s = polled_s, self.spent_s()
                self._lasted_s += min(polled_s - before_s, LONGEST_STEP_S)
                if self._interrupted and not interrupted:
                    interrupted = True
                    ending_s = INTERRUPTED_S / ENDING_S * self._ending_s
                    self._end_by_s = min(self._end_by_s, self._lasted_s + ending_s)
                if not ready and self.is_beyond_hope():
                    self.kill()
                    return
                silent = all(key.fileobj is not out for key, _ in ready)
                if silent and polled_s >= received_s + self._silence_limit_s:
                    self.kill()
                    raise RtscopeError(self.why_it_was_given_up())
                if self._lasted_s > min(self._end_by_s, self._prompt_by_s):
                    self.kill()
                    raise RtscopeError(self.why_it_took_too_long())
                for key, _ in ready:
                    data = os.read(key.fd, _CHUNK)
                    self._allowance.take_bytes(len(data), self._lasted_s)
                    self._prompt_by_s += len(data) / SLOWEST_BYTES_PER_S
                    if key.fileobj is err:
                        self._stderr += data[: MOST_STDERR - len(self._stderr)]
                        if not data:
                            selector.unregister(err)
                        continue
                    if not data:
                        return
                    received_s = self.spent_s()
                    pending += data
                    check_length(len(pending))
                    if b"\n" in data:
                        *whole, rest = bytes(pending).split(b"\n")
                        pending = bytearray(rest)
                        yield from whole

    def spent_s(self) -> float:
        """Seconds on the clock that measures silence."""
        return time.monotonic()

    def is_beyond_hope(self) -> bool:
        """Whether a silent agent cannot send more."""
        return False

    def measuring_s(self, duration_s: float) -> float:
        """Seconds of `spent_s` that a measurement of this duration may take."""
        return duration_s

    def why_it_took_too_long(self) -> str:
        """The message for an agent that did not end in time."""
        return f"the agent had not ended after {self._lasted_s:.0f} s and was ended"

    def why_it_was_given_up(self) -> str:
        """The message for an agent that was silent for too long."""
        return f"the agent was silent for {self._silence_limit_s:.0f} s and was ended"

    def why_it_ended(self) -> str:
        """The message for an agent that ended before its last line."""
        status, said = self.outcome()
        if status < 0:
            said = f"{said} (ended by {signal.Signals(-status).name})".strip()
        return said or f"the agent ended with status {status} before its last line"

    def outcome(self) -> tuple[int, str]:
        """The exit status, once it has ended, and its standard error. A process that closed its
        output but does not end is killed.
        """
        try:
            status = self._process.wait(_LONGEST_END_S)
        except subprocess.TimeoutExpired:
            self._was_killed = True
            self._process.kill()
            status = self._process.wait()
        err = self._process.stderr
        if err and not err.closed and len(self._stderr) < MOST_STDERR:
            os.set_blocking(err.fileno(), False)
            self._stderr += err.read(MOST_STDERR - len(self._stderr)) or b""
        return status, self._stderr.decode(errors="replace").strip()
