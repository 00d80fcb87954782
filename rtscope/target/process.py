"""An agent's lines from the standard output of a process: the agent itself, or what carries it."""

import os
import selectors
import signal
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import IO

from rtscope.model.errors import RtscopeError
from rtscope.model.run import Lab
from rtscope.target.protocol import AnyLine, End, check_hello, decode_line

_LONGEST_LINE = 64 * 1024 * 1024
_LONGEST_STDERR = 64 * 1024
_CHUNK = 1 << 20
_LEAST_WAIT_S = 0.05
_LONGEST_WAIT_S = 2.0
_LONGEST_END_S = 20.0


class AgentProcess:
    """A started agent. Its lines are read once, in order, until its end line."""

    def __init__(
        self,
        command: list[str],
        *,
        directory: Path | None = None,
        stdin: int | IO[bytes] = subprocess.DEVNULL,
    ) -> None:
        """Start `command` in `directory`. Raises RtscopeError where it cannot be started."""
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

    def interrupt(self) -> None:
        """Ask the agent to end early and still say what it measured."""
        if self._process.poll() is None:
            self._process.send_signal(signal.SIGINT)

    def kill(self) -> None:
        """End the agent at once; what it measured is lost."""
        if self._process.poll() is None:
            self._process.kill()

    def close(self) -> None:
        """End the agent if it still runs, kindly first, and collect it."""
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
        """How the machine under it was emulated; None: it is real."""
        return None

    def lines(self, silence_limit_s: float) -> Iterator[AnyLine]:
        """Yield the agent's lines, hello first, end last.

        Raises RtscopeError where the agent refuses, dies, breaks the protocol, or says nothing
        for `silence_limit_s` seconds.
        """
        self._silence_limit_s = silence_limit_s
        hello = ended = False
        for raw in self._raw_lines():
            line = decode_line(raw)
            if not hello:
                check_hello(line)
                hello = True
            yield line
            if isinstance(line, End):
                ended = True
                break
        if not ended:
            raise RtscopeError(self.why_it_ended())

    def _raw_lines(self) -> Iterator[bytes]:
        out, err = self._process.stdout, self._process.stderr
        assert out is not None
        assert err is not None
        pending = bytearray()
        heard_s = self.spent_s()
        with selectors.DefaultSelector() as selector:
            selector.register(out, selectors.EVENT_READ)
            selector.register(err, selectors.EVENT_READ)
            while True:
                left_s = heard_s + self._silence_limit_s - self.spent_s()
                ready = selector.select(min(max(_LEAST_WAIT_S, left_s), _LONGEST_WAIT_S))
                if not ready and self.is_beyond_hope():
                    self.kill()
                    return
                if not ready and self.spent_s() >= heard_s + self._silence_limit_s:
                    self.kill()
                    raise RtscopeError(self.why_it_was_given_up())
                for key, _ in ready:
                    data = os.read(key.fd, _CHUNK)
                    if key.fileobj is err:
                        self._stderr += data[: _LONGEST_STDERR - len(self._stderr)]
                        if not data:
                            selector.unregister(err)
                        continue
                    if not data:
                        return
                    heard_s = self.spent_s()
                    pending += data
                    if len(pending) > _LONGEST_LINE:
                        raise RtscopeError("the agent sent a line of more than 64 MiB")
                    if b"\n" in data:
                        *whole, rest = bytes(pending).split(b"\n")
                        pending = bytearray(rest)
                        yield from whole

    def spent_s(self) -> float:
        """Seconds by the clock that a silence is measured with."""
        return time.monotonic()

    def is_beyond_hope(self) -> bool:
        """Whether a silent agent will surely say nothing more."""
        return False

    def why_it_was_given_up(self) -> str:
        """A sentence for an agent that said nothing for too long."""
        return f"the agent has said nothing for {self._silence_limit_s:.0f} s and was ended"

    def why_it_ended(self) -> str:
        """A sentence for an agent that ended before its last line."""
        status, said = self.outcome()
        if status < 0:
            said = f"{said} (ended by {signal.Signals(-status).name})".strip()
        return said or f"the agent ended with status {status} before its last line"

    def outcome(self) -> tuple[int, str]:
        """The exit status, once it has ended, and what it wrote to standard error.

        What does not end although it has nothing more to say is killed.
        """
        try:
            status = self._process.wait(_LONGEST_END_S)
        except subprocess.TimeoutExpired:
            self._was_killed = True
            self._process.kill()
            status = self._process.wait()
        err = self._process.stderr
        if err and not err.closed and len(self._stderr) < _LONGEST_STDERR:
            os.set_blocking(err.fileno(), False)
            self._stderr += err.read() or b""
        return status, self._stderr.decode(errors="replace").strip()
