# SPDX-License-Identifier: GPL-2.0-only
"""rtscope serve: the web pages of the store."""

from pathlib import Path
from typing import Annotated

import typer

from rtscope.model.errors import RtscopeError
from rtscope.store.address import user_place


def serve(
    address: Annotated[
        str,
        typer.Option(
            "--address",
            metavar="IP",
            help="Listen on this address; any but a loopback one needs --token-file.",
        ),
    ] = "127.0.0.1",
    port: Annotated[
        int, typer.Option("--port", "-p", min=0, max=65535, help="Listen on this port; 0: any.")
    ] = 8047,
    token_file: Annotated[
        Path | None,
        typer.Option(
            "--token-file",
            metavar="FILE",
            help="Require the token in the first line of FILE, which only its owner may read.",
        ),
    ] = None,
) -> None:
    """
    Pages: what got worse, each machine over time, each run, runs compared, and what boards measure
    now. Each has its data as JSON at the same address with .json. /metrics is for Prometheus.
    Nothing is ever written to the store; an index of it is kept in $XDG_CACHE_HOME/rtscope.

    Ctrl-C or SIGTERM ends it.

    \b
    rtscope serve
    rtscope serve --port 9000
    RTSCOPE_STORE=postgresql://db.example.org/rtscope rtscope serve
    umask 077; openssl rand -hex 32 > token; rtscope serve --address 0.0.0.0 --token-file token
    curl -H "Authorization: Bearer $(cat token)" http://board-server:8047/worse.json
    """
    # Its packages may be missing, and take long to import.
    try:
        from rtscope.serve import server
        from rtscope.serve.token import read_token
    except ModuleNotFoundError as error:
        raise RtscopeError(
            f"rtscope serve needs the Python package {error.name}: "
            "pip install 'rtscope[serve]' installs it"
        ) from None
    token = read_token(token_file) if token_file else None
    if token is None and not server.is_loopback(address):
        raise RtscopeError(
            f"--address {address} can be reached from other computers, so it needs --token-file: "
            "'umask 077; openssl rand -hex 32 > token' makes one"
        )
    listener = server.listening(address, port)
    server.serve(
        user_place(),
        listener,
        token,
        lambda url: typer.echo(f"{user_place()} is served at {url} (Ctrl-C ends it)", err=True),
    )
