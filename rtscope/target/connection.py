# SPDX-License-Identifier: GPL-2.0-only
"""One connection to a board through the OpenSSH client, shared by all commands on the board."""

import atexit
import os
import re
import secrets
import shlex
import shutil
import signal
import stat
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from typing import IO, Final

import msgspec

from rtscope.model.errors import BootError, RtscopeError
from rtscope.target.process import AgentProcess

ANSWER: Final = b"rtscope: "
"""prefix of lines from rtscope's scripts; a user's shell profile may print others"""
LOST: Final = 255
"""the exit status of ssh if ssh itself fails"""
_OPTIONS: Final = (
    *("-T", "-a", "-x", "-oControlMaster=auto", "-oControlPersist=5", "-oConnectTimeout=20"),
    *("-oServerAliveInterval=2", "-oServerAliveCountMax=3", "-oClearAllForwardings=yes"),
    *("-oRemoteCommand=none", "-oPermitLocalCommand=no", "-oLogLevel=ERROR"),
)
_SILENCE_S: Final = 120.0
"""more than an agent takes over a serial line"""
_END_S: Final = 10.0
_FOLLOWS_S: Final = 1.0
"""until all commands have ended with the connection that they share"""
_MOST_LINES: Final = 10_000
_LONGEST_SHOWN: Final = 400
_DESTINATION: Final = re.compile(r"(?!-)[^\s\x00-\x1f\x7f]+")
_WITH_PORT: Final = re.compile(
    r"(?P<host>[^:\[\]]+|(?:[^:\[\]@]+@)?\[[0-9A-Fa-f:.%\w]+\])(?::(?P<port>[0-9]{1,5}))?"
)
_SILENT: Final = "it does not answer: check that it is on and in this network"
_MEANINGS: Final = (
    ("Could not resolve hostname", "unknown host name: check the spelling"),
    (
        "REMOTE HOST IDENTIFICATION HAS CHANGED",
        "its host key has changed: another computer may answer in its place. If it was "
        "reinstalled, remove the old key with `ssh-keygen -R HOST`",
    ),
    (
        "Host key verification failed",
        "its host key is not known here: `{ssh}` shows the key and asks",
    ),
    (
        "Permission denied",
        "it refused the login: `{ssh}` must work without a prompt; install your key with "
        "ssh-copy-id, and load a key with a passphrase with ssh-add",
    ),
    ("Connection refused", "nothing listens on that port: check that sshd runs there"),
    ("timed out", _SILENT),
    ("No route to host", _SILENT),
)
"""ssh's messages, and their explanations"""


class Destination(msgspec.Struct, frozen=True):
    """The address of a board in ssh's syntax: user@host, a Host of ~/.ssh/config, ssh://..."""

    host: str
    port: str | None = None
    options: tuple[str, ...] = ()
    """more options of ssh"""

    @property
    def words(self) -> list[str]:
        """Its arguments on ssh's command line."""
        return [*self.options, *([f"-p{self.port}"] if self.port else []), "--", self.host]


class Said(msgspec.Struct, frozen=True):
    """The result of a script on the board."""

    status: int
    answers: list[str]
    """the lines with the prefix ANSWER, without it"""
    complaint: str
    """its standard error, in one line"""


def destination_of(text: str) -> Destination:
    """Parse the text after ssh: in a target's name. Raises RtscopeError."""
    if not _DESTINATION.fullmatch(text):
        raise RtscopeError(
            f"'ssh:{text}' names no board: write ssh:USER@HOST, ssh:USER@HOST:PORT or ssh:NAME, a "
            "Host of ~/.ssh/config"
        )
    found = None if text.startswith("ssh://") else _WITH_PORT.fullmatch(text)
    return (
        Destination(re.sub(r"[\[\]]", "", found["host"]), found["port"])
        if found
        else Destination(text)
    )


def printable(said: str) -> str:
    """A board's text on one line, bounded, without control characters."""
    lines = [" ".join(line.split()) for line in said.splitlines()]
    text = "; ".join(line for line in lines if line)[:_LONGEST_SHOWN]
    return "".join(character if character.isprintable() else "\ufffd" for character in text)


class _Script(AgentProcess):
    """An ssh that runs a script on the board."""

    def said(self) -> Said:
        """Wait for its result. Raises RtscopeError if it does not end in time."""
        self._silence_limit_s = _SILENCE_S
        answers = []
        for count, line in enumerate(self._raw_lines()):
            if line.startswith(ANSWER):
                answers.append(line.removeprefix(ANSWER).decode(errors="replace").strip())
            if count == _MOST_LINES:
                raise RtscopeError(
                    f"it wrote more than {_MOST_LINES} lines: check that it is a board"
                )
        status, complaint = self.outcome()
        return Said(status, answers, printable(complaint))


class Connection:
    """Runs commands on a board; ends with this process."""

    def __init__(self, name: str, destination: Destination, *, may_ask: bool = True) -> None:
        """Connect; with `may_ask`, ssh prompts if there is a terminal. Raises RtscopeError."""
        if not shutil.which("ssh"):
            raise RtscopeError("ssh is not installed: install the package openssh-client")
        self._name = name
        self._destination = destination
        self._held: subprocess.Popen[bytes] | None = None
        self._socket = _socket_folder() / f"ssh-{secrets.token_hex(4)}"
        atexit.register(self.close)
        said = self._connect()
        if said.status == LOST and may_ask and _may_help_to_ask(said.complaint):
            _ask([*self._ssh(batch="no"), "exit 0"])
            said = self._connect()
        if said.status == LOST:
            raise BootError(f"{name} cannot be reached: {self._meaning(said.complaint)}")
        # Keeps the connection open between commands, and closes it with this process.
        self._held = subprocess.Popen(
            self.command("exec cat >/dev/null"),
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )

    def close(self) -> None:
        """End the connection and all commands started through it."""
        if self._held:
            self._held.kill()
            self._held.communicate()
        if self._socket.exists():
            with suppress(subprocess.TimeoutExpired):
                subprocess.run(
                    self._ssh("-Oexit"),
                    stdin=subprocess.DEVNULL,
                    capture_output=True,
                    check=False,
                    timeout=_END_S,
                )

    def is_lost(self) -> bool:
        """Whether the connection has ended by itself. Takes a second if it has not."""
        if self._held is None:
            return True
        try:
            self._held.wait(_FOLLOWS_S)
        except subprocess.TimeoutExpired:
            return False
        return True

    def command(self, script: str, *words: str) -> list[str]:
        """The command that runs a sh script on the board, with the words as $1 and on."""
        return [*self._ssh(), shlex.join(["exec", "sh", "-c", script, "sh", *words])]

    def run(self, script: str, *words: str, stdin: int | IO[bytes] = subprocess.DEVNULL) -> Said:
        """Run a script to its end. Raises RtscopeError if it does not end in time."""
        process = _Script(self.command(script, *words), stdin=stdin)
        try:
            return process.said()
        except RtscopeError as error:
            raise RtscopeError(f"{self._name}: {error}") from None
        finally:
            process.close()

    def _connect(self) -> Said:
        return self.run("exit 0")

    def _ssh(self, *more: str, batch: str = "yes") -> list[str]:
        own = (f"-oBatchMode={batch}", f"-oControlPath={self._socket}")
        return ["ssh", *_OPTIONS, *own, *more, *self._destination.words]

    def _meaning(self, complaint: str) -> str:
        by_hand = shlex.join(["ssh", *self._destination.words])
        for words, meaning in _MEANINGS:
            if words in complaint:
                return meaning.format(ssh=by_hand)
        return complaint or f"it stopped answering; `{by_hand} true` may show more"


def _socket_folder() -> Path:
    """A private directory of this user for sockets, with a short path without characters special
    to ssh. Raises RtscopeError.
    """
    runtime = os.environ.get("XDG_RUNTIME_DIR", "")
    short = re.fullmatch(r"/[\w./-]{1,60}", runtime) and os.access(runtime, os.W_OK)
    folder = Path(runtime if short else "/tmp", f"rtscope-{os.getuid()}")  # noqa: S108 - see below
    try:
        folder.mkdir(mode=0o700, exist_ok=True)
        status = folder.lstat()
    except OSError as error:
        raise RtscopeError(f"cannot create {folder} for ssh's sockets: {error.strerror}") from None
    if not stat.S_ISDIR(status.st_mode) or status.st_mode & 0o077 or status.st_uid != os.getuid():
        raise RtscopeError(f"{folder}, for ssh's sockets, is not private to you: remove it")
    return folder


def _ask(command: list[str]) -> None:
    """Run an ssh that may prompt on the terminal, where the user can answer or press Ctrl-C.
    Processes that remain, such as for a ProxyJump, are in another process group: a later
    Ctrl-C, which ends a run, must not end the connection.
    """
    terminal, asked_on = sys.stdin.fileno(), sys.stderr.fileno()
    before = signal.signal(signal.SIGTTOU, signal.SIG_IGN)
    try:
        with subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            process_group=0,
            # By the one that asks, or the answer to a quick question would go elsewhere; its own
            # standard input is no terminal any more.
            preexec_fn=lambda: os.tcsetpgrp(asked_on, os.getpid()),  # noqa: PLW1509
        ) as asking:
            try:
                asking.wait()
            except BaseException:
                asking.kill()
                raise
    finally:
        os.tcsetpgrp(terminal, os.getpgrp())
        signal.signal(signal.SIGTTOU, before)
    if asking.returncode == -signal.SIGINT:
        raise KeyboardInterrupt


def _may_help_to_ask(complaint: str) -> bool:
    """Whether ssh would prompt for a password or a host key, and there is a terminal."""
    asks = "Permission denied" in complaint or "Host key verification failed" in complaint
    changed = "IDENTIFICATION HAS CHANGED" in complaint
    return asks and not changed and _somebody_is_there()


def _somebody_is_there() -> bool:
    """Whether this process has a terminal and is in the foreground."""
    try:
        return sys.stderr.isatty() and os.tcgetpgrp(sys.stdin.fileno()) == os.getpgrp()
    except OSError:
        return False
