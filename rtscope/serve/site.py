# SPDX-License-Identifier: GPL-2.0-only
"""What the views share: the store and its index, and what a view returns."""

from typing import Any, Final

import msgspec
from starlette.requests import Request

from rtscope.model.errors import RtscopeError, StoreError
from rtscope.model.run import Run
from rtscope.serve.index import Index, index_path
from rtscope.store.address import Place
from rtscope.store.database import opened
from rtscope.store.search import Search

ROWS: Final = 50
"""of a page of a list"""
_MOST_PAGES: Final = 100_000


class NotFoundError(RtscopeError):
    """There is no such page: status 404."""


class Site:
    """A store and its index."""

    def __init__(self, place: Place) -> None:
        """Open the store so that it cannot be written. Raises RtscopeError."""
        self.place = place
        self.store = opened(place, read_only=True)
        self.index = Index(index_path(place))

    def check(self) -> None:
        """Refuse a store that cannot be read. Raises RtscopeError."""
        self.store.found(Search(limit=1))

    def run(self, name: str) -> Run:
        """A run by its id or the beginning of it, as commands take it. Raises RtscopeError."""
        try:
            return self.store.load(name)
        except StoreError:
            raise
        except RtscopeError as error:
            if self.index.entry(name):  # it is there, and damaged
                raise
            raise NotFoundError(str(error)) from None


class Page(msgspec.Struct, frozen=True):
    """A page before it is written as HTML or JSON."""

    template: str
    title: str
    section: str
    """of the navigation that it belongs to"""
    values: dict[str, Any]
    data: Any
    """of the JSON"""


class Paging(msgspec.Struct, frozen=True):
    """Where in a list a page is."""

    number: int
    """from 1"""
    pages: int
    rows: int
    before: str
    """address of the page before; "" on the first"""
    after: str


def page_number(request: Request) -> int:
    """The page of a list that is asked for, from 1. Raises RtscopeError."""
    text = request.query_params.get("page", "1")
    if not (text.isascii() and text.isdecimal() and 1 <= int(text[:9]) <= _MOST_PAGES):
        raise NotFoundError(f"there is no page '{text[:20]}' of this list: pages count from 1")
    return int(text)


def paging(request: Request, number: int, rows: int) -> Paging:
    """The paging of a list of so many rows."""
    pages = max(1, -(-rows // ROWS))
    url = request.url.remove_query_params("page")

    def at(other: int) -> str:
        there = url if other == 1 else url.include_query_params(page=other)
        return f"{there.path}?{there.query}".removesuffix("?")

    return Paging(
        number,
        pages,
        rows,
        at(min(number - 1, pages)) if number > 1 else "",
        at(number + 1) if number < pages else "",
    )
