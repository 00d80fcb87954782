# SPDX-License-Identifier: GPL-2.0-only
"""The addresses of the pages, and how a view becomes an answer."""

from collections.abc import Awaitable, Callable
from typing import Final

import msgspec
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import HTMLResponse, PlainTextResponse, Response, StreamingResponse
from starlette.routing import Route
from starlette.types import ASGIApp

from rtscope.model.errors import RtscopeError, StoreError
from rtscope.serve import exporter, farm, lists, machine, run
from rtscope.serve.guard import Guard
from rtscope.serve.pages import Pages
from rtscope.serve.site import NotFoundError, Page, Site
from rtscope.serve.token import Token
from rtscope.wording.plain import plain

View = Callable[[Site, Request], Page]
Endpoint = Callable[[Request], Awaitable[Response]]

_VIEWS: Final[dict[str, View]] = {
    "/worse": lists.worse,
    "/machines": lists.machines,
    "/machine": machine.machine,
    "/runs": lists.runs,
    "/run/{run}": run.run,
    "/compare": run.compared,
    "/farm": farm.farm,
}
_FOR_EVER: Final = {"Cache-Control": "public, max-age=31536000, immutable"}


def make_app(
    site: Site,
    *,
    token: Token | None = None,
    hosts: frozenset[str] | None = None,
    stopping: Callable[[], bool] = lambda: False,
) -> ASGIApp:
    """The server's app. It ends its streams once `stopping` is true."""
    pages = Pages(str(site.place))

    def endpoint(view: View) -> Endpoint:
        async def answer(request: Request) -> Response:
            return await run_in_threadpool(_answer, site, pages, view, request)

        return answer

    async def stream(_: Request) -> Response:
        return StreamingResponse(farm.events(pages, stopping), media_type="text/event-stream")

    async def metrics(_: Request) -> Response:
        text = await run_in_threadpool(exporter.exported, site.index)
        return Response(text, media_type="text/plain; version=0.0.4; charset=utf-8")

    async def static(request: Request) -> Response:
        found = pages.files.get(request.path_params["name"])
        if found is None or request.path_params["version"] != pages.version:
            return PlainTextResponse("there is no such file\n", 404)
        return Response(found[1], media_type=found[0], headers=_FOR_EVER)

    routes = [Route("/", endpoint(lists.worse))]
    for path, view in _VIEWS.items():
        routes += [Route(f"{path}.json", endpoint(view)), Route(path, endpoint(view))]
    routes += [
        Route("/farm/events", stream),
        Route("/metrics", metrics),
        Route("/static/{version}/{name}", static),
        Route("/{other:path}", endpoint(_missing)),
    ]
    return Guard(Starlette(routes=routes), pages, token, hosts)


def _missing(site: Site, request: Request) -> Page:
    raise NotFoundError(f"there is no page {request.url.path[:80]}")


def _answer(site: Site, pages: Pages, view: View, request: Request) -> Response:
    as_json = _wants_json(request)
    try:
        page = view(site, request)
    except RtscopeError as error:
        return _error(pages, error, as_json=as_json)
    if as_json:
        return Response(_encoded(page.data), media_type="application/json")
    text = pages.render(
        page.template,
        **page.values,
        title=page.title,
        section=page.section,
        permalink=_address(request),
        json=_address(request, ".json"),
        state=site.index.state(),
    )
    return HTMLResponse(text)


def _error(pages: Pages, error: RtscopeError, *, as_json: bool) -> Response:
    unusable = isinstance(error, StoreError)
    status = 404 if isinstance(error, NotFoundError) else 503 if unusable else 400
    text = plain(str(error))
    if as_json:
        return Response(_encoded({"error": text}), status, media_type="application/json")
    title = "The store cannot be read" if unusable else "Not found" if status == 404 else "Error"
    page = pages.render("error.html.jinja", title=title, section="", text=text, json="", state=None)
    return HTMLResponse(page, status)


def _encoded(data: object) -> bytes:
    return msgspec.json.encode(data)


def _wants_json(request: Request) -> bool:
    """Whether the address ends in .json, or the client names JSON before HTML."""
    if request.url.path.endswith(".json"):
        return True
    accepted = [
        kind.partition(";")[0].strip() for kind in request.headers.get("accept", "").split(",")
    ]
    asked = [kind for kind in accepted if kind in ("application/json", "text/html")]
    return asked[:1] == ["application/json"]


def _address(request: Request, suffix: str = "") -> str:
    path = "/worse" if request.url.path == "/" else request.url.path
    url = request.url.replace(path=f"{path}{suffix}")
    return f"{url.path}?{url.query}".removesuffix("?")
