# SPDX-License-Identifier: GPL-2.0-only
"""Runs the server until Ctrl-C or SIGTERM."""

import errno
import ipaddress
import signal
import socket
from collections.abc import Callable
from typing import Final

import uvicorn

from rtscope.model.errors import RtscopeError
from rtscope.serve import indexer
from rtscope.serve.app import make_app
from rtscope.serve.site import Site
from rtscope.serve.token import Token
from rtscope.store.address import Place

_LOOPBACK_NAMES: Final = frozenset({"localhost", "127.0.0.1", "[::1]"})
_END_SECONDS: Final = 3


def is_loopback(address: str) -> bool:
    """Whether only programs of this computer reach this address. Raises RtscopeError."""
    try:
        return ipaddress.ip_address(address).is_loopback
    except ValueError:
        raise RtscopeError(
            f"--address {address[:60]} is not an IP address: give 127.0.0.1, ::1, 0.0.0.0 for all "
            "of IPv4, or one of this computer's"
        ) from None


def listening(address: str, port: int) -> socket.socket:
    """A socket that listens. Raises RtscopeError."""
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    listener = socket.socket(family, socket.SOCK_STREAM)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind((address, port))
        listener.listen(128)
    except OSError as error:
        listener.close()
        raise RtscopeError(_why_not(error, address, port)) from None
    return listener


def _why_not(error: OSError, address: str, port: int) -> str:
    if error.errno == errno.EADDRINUSE:
        return (
            f"port {port} of {address} is in use by another program: choose another --port, or "
            f"find that program with 'ss -ltnp sport = :{port}'"
        )
    if error.errno == errno.EADDRNOTAVAIL:
        return f"--address {address} is not an address of this computer: see 'ip -brief address'"
    if error.errno == errno.EACCES:
        return f"port {port} is for root alone: choose a --port of 1024 or more"
    return f"cannot listen on {address}, port {port}: {error.strerror}"


def serve(
    place: Place, listener: socket.socket, token: Token | None, ready: Callable[[str], None]
) -> None:
    """Serve the pages of a store; `ready` is called with their address. Raises RtscopeError."""
    address, port = listener.getsockname()[:2]
    site = Site(place)
    site.check()
    name = f"[{address}]" if ":" in address else address
    # A token keeps out whoever has none, whatever name they ask by.
    hosts = None if token else _LOOPBACK_NAMES | {name}
    app = make_app(site, token=token, hosts=hosts, stopping=lambda: server.should_exit)
    config = uvicorn.Config(
        app,
        log_config=None,
        access_log=False,
        lifespan="off",
        server_header=False,
        timeout_graceful_shutdown=_END_SECONDS,
        proxy_headers=False,
    )
    server = uvicorn.Server(config)
    # uvicorn raises the signal that stopped it again, which then does nothing.
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: None)
    process = indexer.start(place)
    try:
        ready(f"http://{name}:{port}/")
        server.run(sockets=[listener])
    finally:
        process.terminate()
        process.join()
        listener.close()
