# SPDX-License-Identifier: GPL-2.0-only
"""The site builds without a warning, needs no network, and works from its files in a browser."""

import html
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Final

import pytest

pytestmark = pytest.mark.kernels  # half a minute

ROOT: Final = Path(__file__).parents[2]
KINDS: Final = ("tutorial", "how-to", "coming-from", "reference", "explanation", "results")
WIDTH: Final = 360
WIDTH_PROBE: Final = """<!DOCTYPE html><title>width</title><pre id="wide"></pre>
<iframe id="page" style="width:{width}px;height:800px;border:0" src="{page}"></iframe><script>
addEventListener("load", () => {{
  const root = document.getElementById("page").contentDocument.scrollingElement;
  document.getElementById("wide").textContent = root.scrollWidth;
}});
</script>"""


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The built site. Sphinx ends in an error for a link that leads nowhere, or a lost page."""
    folder = tmp_path_factory.mktemp("site")
    subprocess.run(
        [sys.executable, "-m", "sphinx", "-q", "-W", "-b", "html", ROOT / "docs", folder],
        check=True,
    )
    return folder


def dom(address: str, profile: Path) -> str:
    """The document after its scripts have run, without a network."""
    browser = shutil.which("chromium") or shutil.which("chromium-browser")
    assert browser, "install chromium"
    done = subprocess.run(
        [
            browser, "--headless", "--no-sandbox", "--disable-gpu", "--no-first-run",
            "--disable-background-networking", "--disable-dev-shm-usage",
            "--host-resolver-rules=MAP * ~NOTFOUND", "--allow-file-access-from-files",
            f"--user-data-dir={profile}", "--virtual-time-budget=10000", "--dump-dom", address,
        ],
        capture_output=True, timeout=240, check=True,
    )  # fmt: skip
    return done.stdout.decode()


def test_every_page_is_there_and_loads_nothing_from_elsewhere(site: Path) -> None:
    pages = {path.relative_to(site) for path in site.rglob("*.html")}
    for kind in KINDS:
        for source in (ROOT / "docs" / kind).rglob("*.md"):
            assert source.relative_to(ROOT / "docs").with_suffix(".html") in pages
    for page in pages:
        text = (site / page).read_text()
        loaded = re.findall(r'<(?:script|img|iframe)\b[^>]*\bsrc="([^"]+)"', text)
        loaded += re.findall(r'<link\b[^>]*rel="(?:stylesheet|icon)"[^>]*href="([^"]+)"', text)
        assert not [name for name in loaded if re.match("(?:https?:)?//", name)], page


def test_a_search_works_from_the_files(site: Path, tmp_path: Path) -> None:
    address = (site / "search.html").as_uri() + "?q=mlockall"
    found = dom(address, tmp_path)
    results = re.search(r'<div id="search-results">.*', found, re.DOTALL)
    assert results
    assert "coming-from/cyclictest.html" in results[0]


@pytest.mark.parametrize("page", ["index", "tutorial/your-board", "reference/probe/event"])
def test_a_page_is_no_wider_than_a_telephone(site: Path, tmp_path: Path, page: str) -> None:
    """Blocks and tables scroll in themselves."""
    frame = site / f"width-{page.replace('/', '-')}.html"
    frame.write_text(WIDTH_PROBE.format(width=WIDTH, page=f"{page}.html"))
    found = re.search(r'<pre id="wide">(\d+)</pre>', html.unescape(dom(frame.as_uri(), tmp_path)))
    frame.unlink()
    assert found
    assert int(found[1]) <= WIDTH
