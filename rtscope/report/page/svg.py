# SPDX-License-Identifier: GPL-2.0-only
"""Draws a chart as HTML: its lines in an SVG that stretches, its texts around it, which do not.

Every panel's SVG has SPAN units across and down, whatever its size on the screen; strokes keep
their width. So one drawing fits a telephone, a screen and paper, and `chart.js` zooms by changing
the viewBox alone. Coordinates are whole units: a thousandth of an axis is 20 of them. Texts are in
SVGs without a viewBox, placed in percent. Nothing has a style attribute, which a strict
Content-Security-Policy refuses.
"""

import json
from collections.abc import Iterable, Sequence
from html import escape
from itertools import pairwise
from typing import Final

import numpy as np
from markupsafe import Markup
from numpy.typing import NDArray

from rtscope.report.page.chart import Axis, Bars, Cells, Chart, Heat, Mark, Note, Panel
from rtscope.report.page.scale import Tick, number_text
from rtscope.wording.plain import plain

SPAN: Final = 20_000
_COLOURS: Final = 8
_DASHES: Final = 6
_BAR_SHARE: Final = 0.7
"""of its slot that a bar fills"""
_TEXT_INSIDE: Final = 0.8
"""share of the axis from which on a bar's label stands left of its end"""
_COLUMNS_WITH_TEXT: Final = 24
SHADES: Final = 20
"""of a matrix's cells; chart.css has a colour for each"""

Integers = NDArray[np.int64]


def figure(chart: Chart) -> Markup:
    """The whole figure with its legend."""
    entries = _legend(chart)
    panels = "".join(_panel(panel, chart, entries) for panel in chart.panels)
    if chart.heat:
        panels += _heat(chart.heat)
    several = " several" if sum(not panel.choice for panel in chart.panels) > 1 else ""
    # Every text that a machine or a file gave went through _text.
    return Markup(  # noqa: S704
        f'<figure class="chart{several}" id="{chart.id}" aria-label="{_text(chart.title)}">'
        f'<div class="all-panels">{panels}</div>{_keys(entries)}</figure>'
    )


def _text(text: str) -> str:
    return escape(plain(text))


def _legend(chart: Chart) -> dict[str, list[Mark | Bars]]:
    entries: dict[str, list[Mark | Bars]] = {}
    parts: list[Mark | Bars] = [*chart.marks, *chart.bars]
    for part in parts:
        entries.setdefault(part.name, []).append(part)
    return {
        name: parts
        for name, parts in entries.items()
        if any(isinstance(part, Bars) or part.legend for part in parts)
    }


def _keys(entries: dict[str, list[Mark | Bars]]) -> str:
    if len(entries) < 2:
        return ""
    items = []
    for key, (name, parts) in enumerate(entries.items()):
        first = parts[0]
        if isinstance(first, Bars):
            shown, swatch = "", f'<rect width="22" height="10" y="1" class="{_colour(first)}"/>'
        else:
            shown = first.shown if len({_shown(part) for part in parts}) == 1 else ""
            kind = "M11 6h0" if first.shape == "dots" else "M0 6h22"
            swatch = f'<path class="{_classes(first)}" d="{kind}"/>'
        items.append(
            f'<li{_class(shown)}><button type="button" data-k="{key}" aria-pressed="true">'
            f'<svg width="22" height="12" aria-hidden="true">{swatch}</svg>{_text(name)}'
            "</button></li>"
        )
    return f'<ul class="keys">{"".join(items)}</ul>'


def _shown(part: Mark | Bars) -> str:
    return part.shown if isinstance(part, Mark) else ""


def _class(name: str) -> str:
    return f' class="{name}"' if name else ""


def _colour(part: Mark | Bars) -> str:
    return "grey" if part.colour < 0 else f"c{part.colour % _COLOURS}"


def _classes(mark: Mark) -> str:
    parts = [_colour(mark), mark.shown, "soft" if mark.soft else ""]
    parts.append("dots" if mark.shape == "dots" else f"d{mark.dash % _DASHES}")
    return " ".join(part for part in parts if part)


def _panel(panel: Panel, chart: Chart, entries: dict[str, list[Mark | Bars]]) -> str:
    keys = {name: key for key, name in enumerate(entries)}
    height = f'height="{panel.height:g}rem"'
    axes = f'data-x="{_axis_data(panel.x)}" data-y="{_axis_data(panel.y)}"'
    title = f"<h4>{_text(panel.title)}</h4>" if panel.title else ""
    y_title = f'<div class="y-title">{_text(panel.y.title)}</div>' if panel.y.title else ""
    drawn = _cells(panel.cells, panel) if panel.cells else ""
    drawn += "".join(_bars(bars, panel, keys) for bars in panel.bars)
    drawn += "".join(_mark(mark, panel, keys) for mark in panel.marks)
    return (
        f'<div class="panel {panel.choice}">{title}{y_title}<div class="plot" {axes}>'
        f"{_y_axis(panel.y, height)}"
        f'<div class="area"><svg class="drawn" {height} viewBox="0 0 {SPAN} {SPAN}" '
        'preserveAspectRatio="none" role="img" '
        f'aria-label="{_text(panel.title or chart.title)}">{_grid(panel)}{drawn}</svg>'
        f"{_texts(panel)}</div>"
        f'<svg class="x" height="1.4rem">{_x_ticks(panel.x)}</svg>'
        f'<div class="x-title">{_text(panel.x.title)}</div></div></div>'
    )


def _axis_data(axis: Axis) -> str:
    scale = axis.scale
    data = {"log": scale.log, "low": scale.low, "high": scale.high, "unit": axis.unit}
    return escape(json.dumps(data | ({"rows": True} if axis.rows else {}), separators=(",", ":")))


def _inside(axis: Axis) -> list[tuple[Tick, float]]:
    """The ticks with their share of the axis."""
    shares = axis.scale.share([tick.at for tick in axis.ticks]).tolist()
    pairs = zip(axis.ticks, shares, strict=True)
    return [(tick, share) for tick, share in pairs if -1e-6 <= share <= 1 + 1e-6]


def _x_ticks(axis: Axis) -> str:
    return "".join(
        f'<text{_class("fine" if tick.fine else "")} x="{share * 100:.2f}%" y="1rem">'
        f"{_text(tick.text)}</text>"
        for tick, share in _inside(axis)
    )


def _y_axis(axis: Axis, height: str) -> str:
    """Numbers at their places, or names in rows of equal height, which may be cut."""
    if axis.rows:
        names = (_text(tick.text) for tick, _ in _inside(axis))
        return f'<div class="y rows">{"".join(_row(name) for name in names)}</div>'
    widest = max((len(tick.text) for tick in axis.ticks), default=1)
    marked = "".join(
        f'<text x="100%" y="{100 - share * 100:.2f}%">{_text(tick.text)}</text>'
        for tick, share in _inside(axis)
    )
    return f'<svg class="y" width="{widest + 1}ch" {height}>{marked}</svg>'


def _row(name: str) -> str:
    return f'<span title="{name}">{name}</span>'


def _grid(panel: Panel) -> str:
    upright = "".join(f"M{round(share * SPAN)} 0V{SPAN}" for _, share in _inside(panel.x))
    level = "".join(f"M0 {round((1 - share) * SPAN)}H{SPAN}" for _, share in _inside(panel.y))
    return f'<path class="mesh" d="{upright}{"" if panel.y.rows else level}"/>'


def _across(axis: Axis, values: Sequence[float] | NDArray[np.float64]) -> Integers:
    return _units(axis.scale.share(values))


def _down(axis: Axis, values: Sequence[float] | NDArray[np.float64]) -> Integers:
    return _units(1 - axis.scale.share(values))


def _units(share: NDArray[np.float64]) -> Integers:
    return np.rint(np.clip(np.nan_to_num(share), -1, 2) * SPAN).astype(np.int64)


def _mark(mark: Mark, panel: Panel, keys: dict[str, int]) -> str:
    known = np.isfinite(mark.x) & np.isfinite(mark.y)
    if not known.any():
        return ""
    x, y = _across(panel.x, mark.x), _down(panel.y, mark.y)
    if mark.shape == "band":
        band = _stretch(x, y, "line")
        return f'<path class="band {_colour(mark)}" d="{band}z"/>'
    which = f'data-k="{keys[mark.name]}"' if mark.name in keys else ""
    if len(keys) < 2 or mark.name not in keys:
        which += f' data-n="{_text(mark.name)}"'
    if mark.texts:
        which += f' data-t="{_text(json.dumps(mark.texts))}"'
    if mark.links:
        return _linked(mark, which.partition(" data-t")[0], x, y)
    found = f'<path class="{_classes(mark)}" {which} d="{_path(x, y, known, mark.shape)}"/>'
    if mark.low:
        found += (
            f'<path class="limits {_colour(mark)}" {which.partition(" data-t")[0]} '
            f'd="{_limits(mark, panel, x, y)}"/>'
        )
    return found


def _linked(mark: Mark, which: str, x: Integers, y: Integers) -> str:
    """Dots that open an address each. The page has the same links as text, for the keyboard."""
    texts = mark.texts or [mark.name] * len(x)
    return "".join(
        f'<a href="{escape(link)}" tabindex="-1"><title>{_text(text)}</title>'
        f'<path class="{_classes(mark)}" {which} data-t="{_text(json.dumps([text]))}" '
        f'd="M{a} {b}h0"/></a>'
        for link, text, a, b in zip(mark.links, texts, x.tolist(), y.tolist(), strict=True)
    )


def _limits(mark: Mark, panel: Panel, x: Integers, y: Integers) -> str:
    if panel.y.rows:
        ends = _across(panel.x, mark.low), _across(panel.x, mark.high)
        return "".join(f"M{a} {at}H{b}" for a, b, at in zip(*map(_ints, (*ends, y)), strict=True))
    ends = _down(panel.y, mark.low), _down(panel.y, mark.high)
    return "".join(f"M{at} {a}V{b}" for a, b, at in zip(*map(_ints, (*ends, x)), strict=True))


def _ints(values: Integers) -> list[int]:
    found: list[int] = values.tolist()
    return found


def _path(x: Integers, y: Integers, known: NDArray[np.bool_], shape: str) -> str:
    """The `d` of a path; unknown values separate its parts."""
    if shape == "dots":
        pairs = zip(x[known].tolist(), y[known].tolist(), strict=True)
        return "".join(f"M{a} {b}h0" for a, b in pairs)
    if known.all():
        return _stretch(x, y, shape)
    edges = np.flatnonzero(np.diff(np.r_[False, known, False].astype(np.int8)))
    stretches = zip(edges[::2].tolist(), edges[1::2].tolist(), strict=True)
    return "".join(_stretch(x[start:end], y[start:end], shape) for start, end in stretches)


def _stretch(x: Integers, y: Integers, shape: str) -> str:
    steps: Iterable[tuple[int, int]] = zip(np.diff(x).tolist(), np.diff(y).tolist(), strict=True)
    if shape == "line":
        text = " ".join(f"{dx} {dy}" for dx, dy in steps).replace(" -", "-")
        return f"M{x[0]} {y[0]}l{text}" if text else f"M{x[0]} {y[0]}h0"
    if shape == "hv":
        return f"M{x[0]} {y[0]}" + "".join([f"h{dx}v{dy}" for dx, dy in steps])
    return f"M{x[0]} {y[0]}" + "".join([f"v{dy}h{dx}" for dx, dy in steps])


def _bars(bars: Bars, panel: Panel, keys: dict[str, int]) -> str:
    start, end = _across(panel.x, bars.start), _across(panel.x, bars.end)
    middle = np.asarray(bars.rows) + (bars.slot + 0.5) / bars.slots * _BAR_SHARE
    middle += (1 - _BAR_SHARE) / 2
    y = _down(panel.y, middle)
    high = max(1, round(SPAN / max(1, len(panel.y.rows)) * _BAR_SHARE / bars.slots))
    parts = [f'<g class="bars {_colour(bars)}" data-k="{keys[bars.name]}">']
    several = f"{_text(bars.name)}: " if len(keys) > 1 else ""
    for number, (row, a, b, at) in enumerate(
        zip(bars.rows, start.tolist(), end.tolist(), y.tolist(), strict=True)
    ):
        value = bars.labels[number] if bars.labels else _value(bars, number, panel.x.unit)
        parts.append(
            f'<rect x="{min(a, b)}" y="{at - high // 2}" width="{abs(b - a)}" height="{high}">'
            f"<title>{_text(panel.y.rows[row])}: {several}{_text(value)}</title></rect>"
        )
    if bars.low:
        ends = _across(panel.x, bars.low).tolist(), _across(panel.x, bars.high).tolist()
        lines = "".join(
            f"M{a} {at}H{b}" for a, b, at in zip(*ends, y.tolist(), strict=True) if a != b
        )
        parts.append(f'<path class="limits" d="{lines}"/>')
    return "".join([*parts, "</g>"])


def _value(bars: Bars, number: int, unit: str) -> str:
    value = f"{bars.end[number] - bars.start[number]:.4g}"
    return f"{number_text(float(value))} {unit}".strip()


def _texts(panel: Panel) -> str:
    """Texts over the drawing."""
    texts = _labels(panel) + "".join(_note(note, panel) for note in panel.notes)
    return f'<svg class="texts">{texts}</svg>' if texts else ""


def _labels(panel: Panel) -> str:
    """Texts at the ends of bars."""
    found = []
    for bars in panel.bars:
        shares = panel.x.scale.share(bars.end).tolist()
        for row, share, label in zip(bars.rows, shares, bars.labels, strict=False):
            top = panel.y.scale.share([row + (bars.slot + 0.5) / bars.slots]).tolist()[0]
            inside = share > _TEXT_INSIDE
            found.append(
                f'<text class="bar-text{" inside" if inside else ""}" x="{share * 100:.2f}%" '
                f'y="{100 - top * 100:.2f}%" dx="{"-" if inside else ""}.3rem">'
                f"{_text(label)}</text>"
            )
    return "".join(found)


def _note(note: Note, panel: Panel) -> str:
    share = float(panel.x.scale.share([note.x])[0])
    before = share > 0.5
    at, away = f"{share * 100:.2f}%", "-.35rem" if before else ".35rem"
    classes = " ".join(name for name in ("pointer", "before" if before else "", note.shown) if name)
    return (
        f'<g class="{classes}"><line x1="{at}" x2="{at}" y1="1.6rem" y2="100%"/>'
        f'<text x="{at}" y="1.1rem" dx="{away}">{_text(note.text)}</text></g>'
    )


def _cells(cells: Cells, panel: Panel) -> str:
    """A path for each level of darkness, with the cells of a column that touch as one."""
    left, right = _across(panel.x, cells.start).tolist(), _across(panel.x, cells.end).tolist()
    edges = _down(panel.y, cells.edges).tolist()
    paths: dict[int, list[str]] = {}
    for column, levels in enumerate(cells.levels):
        changes = np.flatnonzero(np.diff(levels, prepend=-1, append=-1)).tolist()
        for first, after in pairwise(changes):
            if level := int(levels[first]):
                x, width = left[column], max(1, right[column] - left[column])
                y, high = edges[after], edges[first] - edges[after]
                paths.setdefault(level, []).append(f"M{x} {y}h{width}v{high}h-{width}z")
    return "".join(
        f'<path class="cells q{level}" d="{"".join(parts)}"/>'
        for level, parts in sorted(paths.items())
    )


def _heat(heat: Heat) -> str:
    dense = " dense" if len(heat.columns) > _COLUMNS_WITH_TEXT else ""
    head = "".join(f'<th scope="col">{_text(name)}</th>' for name in heat.columns)
    rows = []
    for number, name in enumerate(heat.rows):
        cells = []
        for place, column in enumerate(heat.columns):
            share, text = heat.shares[number][place], heat.texts[number][place]
            hint = heat.hints[number][place] if heat.hints else ""
            said = f"{name}, {column}: {text}{f' ({hint})' if hint else ''}" if text else ""
            colour = "" if share is None else f' class="s{round(min(max(share, 0), 1) * SHADES)}"'
            shown = "" if dense else _text(text)
            cells.append(f'<td title="{_text(said)}"{colour}>{shown}</td>')
        rows.append(f'<tr><th scope="row">{_text(name)}</th>{"".join(cells)}</tr>')
    corner = f"{_text(heat.down)} ↓ {_text(heat.across)} →" if heat.across else ""
    return (
        f'<div class="wide"><table class="heat{dense}"><thead><tr><th>{corner}</th>{head}</tr>'
        f"</thead><tbody>{''.join(rows)}</tbody></table></div>"
    )
