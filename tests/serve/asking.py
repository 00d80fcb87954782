# SPDX-License-Identifier: GPL-2.0-only
"""A request to the app without a server."""

import asyncio
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from urllib.parse import unquote

from starlette.types import ASGIApp, Message


@dataclass
class Answer:
    """What the app answered."""

    status: int
    headers: dict[str, str]
    body: bytes


def ask(
    app: ASGIApp,
    path: str,
    given: Mapping[str, str] | None = None,
    *,
    method: str = "GET",
    body: bytes = b"",
) -> Answer:
    """The app's answer to a request with these headers too."""
    headers = {"host": "localhost:8047", "accept": "text/html", **(given or {})}
    address, _, query = path.partition("?")
    scope = {
        "type": "http", "http_version": "1.1", "method": method, "scheme": "http",
        "path": unquote(address), "raw_path": address.encode(), "query_string": query.encode(),
        "headers": [(name.encode(), value.encode()) for name, value in headers.items()],
        "server": ("127.0.0.1", 8047), "client": ("127.0.0.1", 1), "root_path": "",
    }  # fmt: skip
    sent: list[Message] = []
    received = [{"type": "http.request", "body": body, "more_body": False}]

    async def receive() -> Message:
        return received.pop() if received else {"type": "http.disconnect"}

    async def send(message: Message) -> None:
        sent.append(message)

    async def answer() -> None:
        await app(scope, receive, send)

    # In a thread of its own: the browser's tests leave a running loop in this one.
    with ThreadPoolExecutor(1) as thread:
        thread.submit(asyncio.run, answer()).result()
    start = sent[0]
    return Answer(
        start["status"],
        {name.decode(): value.decode() for name, value in start["headers"]},
        b"".join(message.get("body", b"") for message in sent[1:]),
    )
