"""A figure as plotly draws it."""

from typing import Any, TypedDict


class Chart(TypedDict):
    """One figure."""

    id: str
    title: str
    note: str
    traces: list[dict[str, Any]]
    layout: dict[str, Any]
