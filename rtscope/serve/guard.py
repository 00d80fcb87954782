# SPDX-License-Identifier: GPL-2.0-only
"""What each request has to pass before a page is made, and the headers of each answer.

On the loopback address the Host header must be of this computer: otherwise a web page could make a
browser ask this server under a name of its own (DNS rebinding). With a token, the pages are for
those who have it. There are no scripts, styles or frames but the server's own.
"""

from http.cookies import CookieError, SimpleCookie
from typing import Final
from urllib.parse import parse_qsl, urlencode

from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import Request
from starlette.responses import HTMLResponse, PlainTextResponse, RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from rtscope.serve.pages import Pages
from rtscope.serve.token import COOKIE, Token

_HEADERS: Final = {
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; "
        "connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
    ),
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=()",
}
_METHODS: Final = frozenset({"GET", "HEAD"})
_PUBLIC: Final = ("/static/", "/login")
_MOST_FORM: Final = 10_000
"""bytes"""


class Guard:
    """The outermost layer of the server."""

    def __init__(
        self, app: ASGIApp, pages: Pages, token: Token | None, hosts: frozenset[str] | None
    ) -> None:
        """Guard the app. `hosts` are the names by which it is asked; None: any."""
        self._app, self._pages, self._token, self._hosts = app, pages, token, hosts

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer, or let the app answer."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return

        async def send_guarded(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                headers.update(_HEADERS)
                headers.setdefault("Cache-Control", "private, no-cache")
            await send(message)

        answer = await self._refusal(Request(scope, receive))
        await (answer or self._app)(scope, receive, send_guarded)

    async def _refusal(self, request: Request) -> Response | None:
        """The answer to a request that the app must not see."""
        if self._hosts is not None and _host_of(request.headers) not in self._hosts:
            names = ", ".join(sorted(self._hosts))
            return PlainTextResponse(f"this server is asked as one of: {names}\n", 421)
        if request.url.path == "/login" and request.method == "POST" and self._token:
            return await self._login(request, self._token)
        if request.method not in _METHODS:
            return PlainTextResponse("these pages are only read\n", 405, {"Allow": "GET, HEAD"})
        if self._token is None or request.url.path.startswith(_PUBLIC):
            return None
        return self._unless_known(request, self._token)

    def _unless_known(self, request: Request, token: Token) -> Response | None:
        kind, _, given = request.headers.get("authorization", "").partition(" ")
        if kind.lower() == "bearer" and token.is_token(given.strip()):
            return None
        if token.is_proof(_cookie(request.headers)):
            return None
        query = parse_qsl(request.url.query, keep_blank_values=True)
        if any(name == "token" and token.is_token(value) for name, value in query):
            rest = urlencode([pair for pair in query if pair[0] != "token"])
            return _entered(request, token, request.url.path, rest)
        if "text/html" not in request.headers.get("accept", ""):
            return PlainTextResponse(
                "this server needs its token: Authorization: Bearer TOKEN\n",
                401,
                {"WWW-Authenticate": 'Bearer realm="rtscope"'},
            )
        if request.headers.get("sec-fetch-site") in ("cross-site", "same-site"):
            # A link on another site: the browser keeps its SameSite cookie back until the next
            # request, which this page makes.
            return HTMLResponse(self._pages.render("again.html.jinja"), 401)
        target = f"{request.url.path}?{request.url.query}".removesuffix("?")
        return HTMLResponse(self._pages.render("login.html.jinja", next=target, wrong=False), 401)

    async def _login(self, request: Request, token: Token) -> Response:
        body = b""
        async for chunk in request.stream():
            body += chunk
            if len(body) > _MOST_FORM:
                return PlainTextResponse("this form is too long\n", 413)
        form = dict(parse_qsl(body.decode(errors="replace")))
        target = form.get("next", "/")
        path, _, query = target.partition("?")
        if token.is_token(form.get("token", "").strip()):
            return _entered(request, token, path, query)
        page = self._pages.render("login.html.jinja", next=target, wrong=True)
        return HTMLResponse(page, 401)


def _entered(request: Request, token: Token, path: str, query: str) -> Response:
    """Give the browser its cookie, and send it to a page of this server."""
    is_ours = path.startswith("/") and not path.startswith(("//", "/\\"))
    target = (path if is_ours else "/") + (f"?{query}" if query and is_ours else "")
    answer = RedirectResponse(target, 303)
    answer.set_cookie(
        COOKIE, token.proof, httponly=True, samesite="strict", secure=request.url.scheme == "https"
    )
    return answer


def _cookie(headers: Headers) -> str:
    try:
        found = SimpleCookie(headers.get("cookie", "")).get(COOKIE)
    except CookieError:
        return ""
    return found.value if found else ""


def _host_of(headers: Headers) -> str:
    """The name or address in the Host header, without its port."""
    host = headers.get("host", "").lower()
    if host.startswith("["):
        return host.partition("]")[0] + "]"
    return host.partition(":")[0].removesuffix(".")
