"""Run the agent on this machine, and stream its lines."""

import os
import selectors
import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from rtscope.model.errors import RtscopeError
from rtscope.target.protocol import AnyLine, End, check_hello, decode_line

_LONGEST_LINE = 64 * 1024 * 1024
_LONGEST_STDERR = 64 * 1024
_CHUNK = 1 << 20


def agent_path() -> Path:
    """The agent for this machine: $RTSCOPE_AGENT, the installed one, or the build tree's."""
    package = Path(__file__).resolve().parent.parent
    chosen = os.environ.get("RTSCOPE_AGENT")
    candidates = [
        package / "agents" / os.uname().machine / "rtscope-agent",
        package.parent / "build" / "native" / "rtscope-agent",
    ]
    if chosen:
        candidates = [Path(chosen)]
    for candidate in candidates:
        if os.access(candidate, os.X_OK) and candidate.is_file():
            return candidate
    raise RtscopeError(
        f"no rtscope-agent at {' or '.join(map(str, candidates))}: build it with `make agent`, "
        "or name one in RTSCOPE_AGENT"
    )


class AgentProcess:
    """A started agent. Its lines are read once, in order, until its end line."""

    def __init__(self, arguments: list[str]) -> None:
        """Start the agent with `arguments`. Raises RtscopeError where it cannot be started."""
        command = [str(agent_path()), *arguments]
        try:
            self._process = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                start_new_session=True,
            )
        except OSError as error:
            raise RtscopeError(f"cannot start {command[0]}: {error.strerror}") from error
        self._stderr = bytearray()

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
        for pipe in (self._process.stdout, self._process.stderr):
            if pipe:
                pipe.close()

    def lines(self, silence_limit_s: float) -> Iterator[AnyLine]:
        """Yield the agent's lines, hello first, end last.

        Raises RtscopeError where the agent refuses, dies, breaks the protocol, or says nothing
        for `silence_limit_s` seconds.
        """
        hello = ended = False
        for raw in self._raw_lines(silence_limit_s):
            line = decode_line(raw)
            if not hello:
                check_hello(line)
                hello = True
            yield line
            if isinstance(line, End):
                ended = True
                break
        if not ended:
            raise RtscopeError(self._why_it_ended())

    def _raw_lines(self, silence_limit_s: float) -> Iterator[bytes]:
        out, err = self._process.stdout, self._process.stderr
        assert out is not None
        assert err is not None
        pending = bytearray()
        deadline = time.monotonic() + silence_limit_s
        with selectors.DefaultSelector() as selector:
            selector.register(out, selectors.EVENT_READ)
            selector.register(err, selectors.EVENT_READ)
            while True:
                ready = selector.select(max(0.0, deadline - time.monotonic()))
                if not ready and time.monotonic() >= deadline:
                    self.kill()
                    raise RtscopeError(
                        f"the agent has said nothing for {silence_limit_s:.0f} s and was ended"
                    )
                for key, _ in ready:
                    data = os.read(key.fd, _CHUNK)
                    if key.fileobj is err:
                        self._stderr += data[: _LONGEST_STDERR - len(self._stderr)]
                        if not data:
                            selector.unregister(err)
                        continue
                    if not data:
                        return
                    deadline = time.monotonic() + silence_limit_s
                    pending += data
                    if len(pending) > _LONGEST_LINE:
                        raise RtscopeError("the agent sent a line of more than 64 MiB")
                    if b"\n" in data:
                        *whole, rest = bytes(pending).split(b"\n")
                        pending = bytearray(rest)
                        yield from whole

    def _why_it_ended(self) -> str:
        status = self._process.wait()
        err = self._process.stderr
        if err and not err.closed and len(self._stderr) < _LONGEST_STDERR:
            os.set_blocking(err.fileno(), False)
            self._stderr += err.read() or b""
        said = self._stderr.decode(errors="replace").strip()
        if status < 0:
            said = f"{said} (ended by {signal.Signals(-status).name})".strip()
        return said or f"the agent ended with status {status} before its last line"


@contextmanager
def started_agent(arguments: list[str]) -> Iterator[AgentProcess]:
    """An agent that surely ends with the block."""
    agent = AgentProcess(arguments)
    try:
        yield agent
    finally:
        agent.close()
