# SPDX-License-Identifier: GPL-2.0-only
"""rtscope's commands as processes that begin with all packages imported.

The import is most of a short command's CPU time. One process does it, and forks for each command.
"""

import atexit
import importlib
import json
import os
import pkgutil
import signal
import socket
import subprocess
import sys
import tempfile
import traceback
from collections.abc import Mapping, Sequence
from pathlib import Path

import rtscope
from rtscope.__main__ import main

_REQUEST_BYTES = 1 << 17


class Preloaded:
    """The process that forks."""

    def __init__(self) -> None:
        """Start it; it ends with the socket."""
        self._socket, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tests.cli.preloaded", str(theirs.fileno())],
            pass_fds=[theirs.fileno()], stdin=subprocess.DEVNULL, start_new_session=True,
            cwd=Path(__file__).parents[2],
        )  # fmt: skip
        theirs.close()

    def run(
        self, words: Sequence[str], cwd: Path, env: Mapping[str, str], timeout_s: float = 120
    ) -> subprocess.CompletedProcess[str]:
        """The command `rtscope WORDS` after its end."""
        request = {"words": [*words], "cwd": str(cwd), "env": dict(env)}
        with tempfile.TemporaryFile("w+") as out, tempfile.TemporaryFile("w+") as err:
            descriptors = [out.fileno(), err.fileno()]
            socket.send_fds(self._socket, [json.dumps(request).encode()], descriptors)
            self._socket.settimeout(timeout_s)
            pid = int(self._socket.recv(64))
            try:
                status = int(self._socket.recv(64))
            except TimeoutError:
                os.kill(pid, signal.SIGKILL)
                raise
            out.seek(0)
            err.seek(0)
            return subprocess.CompletedProcess(words, status, out.read(), err.read())

    def close(self) -> None:
        """End it."""
        self._socket.close()
        self._process.wait()


def _become(request: bytes, descriptors: Sequence[int]) -> int:
    """Be the command; its exit status."""
    asked = json.loads(request)
    for number, descriptor in enumerate(descriptors, 1):
        os.dup2(descriptor, number)
        os.close(descriptor)
    os.environ.clear()
    os.environ.update(asked["env"])
    os.chdir(asked["cwd"])
    sys.argv = ["rtscope", *asked["words"]]
    try:
        main()
    except SystemExit as ended:
        return ended.code if isinstance(ended.code, int) else int(ended.code is not None)
    except BaseException:  # as Python itself shows what nobody caught
        traceback.print_exc()
        return 1
    return 0


def _serve(requests: socket.socket) -> None:
    signal.signal(signal.SIGINT, signal.default_int_handler)
    ours = [module.name for module in pkgutil.walk_packages(rtscope.__path__, "rtscope.")]
    for name in [*ours, "scipy.optimize", "scipy.special"]:  # some import these when called
        importlib.import_module(name)
    while True:
        request, descriptors, _, _ = socket.recv_fds(requests, _REQUEST_BYTES, 2)
        if not request:
            return
        pid = os.fork()
        if not pid:
            requests.close()
            status = _become(request, descriptors)
            atexit._run_exitfuncs()
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(status)
        for descriptor in descriptors:
            os.close(descriptor)
        requests.send(str(pid).encode())
        _, ended = os.waitpid(pid, 0)
        requests.send(str(os.waitstatus_to_exitcode(ended)).encode())


if __name__ == "__main__":
    _serve(socket.socket(fileno=int(sys.argv[1])))
