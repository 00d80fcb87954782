# SPDX-License-Identifier: GPL-2.0-only
"""The pages in Chromium. Each test also fails where the browser reported any error."""

from datetime import UTC, datetime
from urllib.parse import quote

import pytest
from playwright.sync_api import Dialog, Page, expect

from rtscope.model.farm import Activity, Board, BoardState, RunProgress
from rtscope.store.activity import write_activity
from tests.serve.conftest import Open, Served
from tests.serve.stores import ATTACK, EXPLAINED, HOSTILE, WORSE_FROM, nightly

# Chromium alone takes longer than all other tests of the pages.
pytestmark = pytest.mark.kernels

BEFORE, AFTER = (nightly("board1", night).id for night in (WORSE_FROM - 1, WORSE_FROM))
PAGES = {
    "worse": "/",
    "machines": "/machines",
    "machine": "/machine?name=board1",
    "runs": "/runs",
    "run": f"/run/{EXPLAINED}",
    "compare": f"/compare?run={BEFORE}&run={AFTER}",
    "farm": "/farm",
}


def fits(page: Page) -> bool:
    """Whether the page is not scrolled sideways."""
    return bool(page.evaluate("document.documentElement.scrollWidth <= innerWidth"))


def background(page: Page) -> str:
    """The colour of the page."""
    return str(page.evaluate("getComputedStyle(document.body).backgroundColor"))


def test_every_page_fits_a_telephone(open_page: Open) -> None:
    """360 px wide, with its heading, its permalink, its data and no inline style."""
    page = open_page("/", width=360)
    for path in PAGES.values():
        page.goto(path)
        expect(page.locator("h1")).to_be_visible()
        assert fits(page), path
        assert page.locator("[style]").count() == 0
        expect(page.get_by_role("link", name="Permalink")).to_be_visible()
        expect(page.get_by_role("link", name="JSON")).to_be_visible()


@pytest.mark.parametrize("name", PAGES)
def test_every_page_is_readable_in_light_and_dark(open_page: Open, name: str) -> None:
    """In both widths; the two have other colours, and text has contrast in each."""
    colours = set()
    for dark in (False, True):
        for width in (360, 1400):
            page = open_page(PAGES[name], dark=dark, width=width)
            expect(page.locator("h1")).to_be_visible()
            assert fits(page)
            colours.add(background(page))
            assert page.evaluate(CONTRAST) >= 4.5
    assert len(colours) == 2


CONTRAST = """() => {
  const light = (colour) => colour.match(/[\\d.]+/g).slice(0, 3).map((part) => part / 255)
    .map((part) => part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4)
    .reduce((sum, part, index) => sum + part * [0.2126, 0.7152, 0.0722][index], 0);
  const page = light(getComputedStyle(document.body).backgroundColor);
  return Math.min(...[...document.querySelectorAll("main p, main a, main td, main th, main li")]
    .filter((one) => one.textContent.trim())
    .map((one) => light(getComputedStyle(one).color))
    .map((text) => (Math.max(text, page) + 0.05) / (Math.min(text, page) + 0.05)));
}"""


def test_what_got_worse_leads_to_the_comparison(open_page: Open) -> None:
    """The size, what differs, the command; the charts have the same axes."""
    page = open_page("/")
    change = page.locator("article.change").first
    expect(change).to_contain_text("p99 × 1.4")
    expect(change).to_contain_text("kernel: 6.12.43-rt → 6.18.2-rt")
    expect(change.locator("pre")).to_contain_text("rtscope measure --load mixed:2")
    change.get_by_role("link", name="compare them").click()
    expect(page.locator("h1")).to_have_text("B is worse than A")
    expect(page.locator("aside table")).to_contain_text("6.18.2-rt")
    lines = page.locator("#exceedance path[data-k]:not(.limits):not(.band)")
    assert lines.count() >= 2
    assert page.locator("#exceedance path.band").count() == 2


def test_a_machine_shows_its_histograms_and_changes(open_page: Open) -> None:
    """A dot opens its run; a kernel change has its name."""
    page = open_page("/machine?name=board1")
    chart = page.locator("#history")
    assert chart.locator("path.cells").count() > 3
    expect(chart.locator(".pointer")).to_contain_text("6.18.2-rt")
    expect(page.get_by_role("heading", name="Change points")).to_be_visible()
    chart.locator("a").last.dispatch_event("click")
    expect(page.locator("h1")).to_have_text("cyclic under mixed:2")


def test_an_outlier_opens_its_ledger(open_page: Open) -> None:
    """By its dot in the chart, and by its address."""
    page = open_page(f"/run/{EXPLAINED}")
    ledger = page.locator("#outlier-1 > details")
    assert ledger.get_attribute("open") is None
    page.locator('#time a[href="#outlier-1"]').dispatch_event("click")
    expect(ledger).to_have_attribute("open", "")
    expect(ledger).to_contain_text("kworker/0:1")
    assert page.locator("#exceedance path.grey").count() >= 2, "both budgets"
    page.get_by_label("each CPU").check()
    assert page.locator("#exceedance path.each:visible").count() == 2


def test_pages_are_used_with_the_keyboard(open_page: Open) -> None:
    """Skip the navigation, choose two runs, compare them."""
    page = open_page("/runs")
    page.keyboard.press("Tab")
    expect(page.locator(":focus")).to_have_text("Skip to the content")
    page.keyboard.press("Enter")
    for _ in range(2):
        page.keyboard.press("Tab")
        while page.locator(":focus").get_attribute("type") != "checkbox":
            page.keyboard.press("Tab")
        page.keyboard.press("Space")
    assert page.locator("input:checked").count() == 2
    page.keyboard.press("Enter")
    page.wait_for_url("**/compare?run=*")


def test_hostile_names_are_only_text(open_page: Open) -> None:
    """In lists, titles, charts, addresses and JSON."""
    page = open_page("/runs")
    asked: list[str] = []

    def note(dialog: Dialog) -> None:
        asked.append(dialog.message)
        dialog.dismiss()

    page.on("dialog", note)
    name = quote(ATTACK, safe="")
    paths = [f"/run/{HOSTILE}", f"/machine?name={name}", f"/compare?run={HOSTILE}&run={BEFORE}"]
    for path in (*paths, "/runs", "/machines", f"/runs?machine={name}", f"/run/{name}", f"/{name}"):
        response = page.goto(path)
        assert response
        expect(page.locator("h1")).to_be_visible()
        assert "owned" not in page.title().partition("document.title")[0]
        assert page.locator("main img, main script, main [onfocus]").count() == 0
        assert "\u202e" not in page.content()
    assert not asked
    page.goto(paths[0])
    expect(page.locator("h1")).to_contain_text("<img src=x")
    assert fits(page)


def test_the_farm_page_follows_what_boards_do(
    open_page: Open, served: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without being loaded again."""
    monkeypatch.setenv("XDG_STATE_HOME", served.environment["XDG_STATE_HOME"])

    def tell(state: BoardState, samples: int) -> None:
        now = datetime.now(UTC).isoformat()
        progress = RunProgress("cyclic under idle", 10**9, 4 * 10**9, samples, 1, 42_000)
        board = Board(
            ATTACK, "labgrid:a", state, now, progress, 1, 4, "fail", EXPLAINED, "no answer"
        )
        write_activity("farm-test", Activity("farm", "lab.toml", now, now), [board])

    tell("measuring", 1234)
    page = open_page("/farm")
    row = page.locator(".boards tbody tr")
    expect(row).to_contain_text("1,234")
    expect(row.locator("progress")).to_have_attribute("value", "0.250")
    expect(page.locator("#live.on")).to_be_visible()
    page.evaluate("window.kept = true")
    tell("recovering", 5678)
    expect(row).to_contain_text("5,678")
    expect(row).to_contain_text("recovering")
    assert page.evaluate("window.kept")
    row.get_by_role("link").click()
    expect(page.locator("h1")).to_have_text("cyclic under files:50")
