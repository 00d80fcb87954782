# SPDX-License-Identifier: GPL-2.0-only
"""Who gets the pages, and how they are told to be shown."""

from pathlib import Path
from urllib.parse import urlencode

import pytest
from starlette.types import ASGIApp

from rtscope.model.errors import RtscopeError
from rtscope.serve.app import make_app
from rtscope.serve.site import Site
from rtscope.serve.token import Token, read_token
from tests.serve.asking import ask

SECRET = "0123456789abcdef0123456789abcdef"
BAD = [b"", b"short\n", b"0123456789 abcdef\n", "0123456789abcdé\n".encode(), b"x" * 1001]


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Site:
    """An empty store."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return Site(tmp_path / "runs.sqlite")


@pytest.fixture
def local(site: Site) -> ASGIApp:
    """The app on the loopback address."""
    return make_app(site, hosts=frozenset({"localhost", "127.0.0.1", "[::1]"}))


@pytest.fixture
def guarded(site: Site) -> ASGIApp:
    """The app with a token."""
    return make_app(site, token=Token(SECRET))


@pytest.mark.parametrize("host", ["evil.example", "localhost.evil.example:8047", "", "[::2]:8047"])
def test_on_loopback_other_host_names_are_refused(local: ASGIApp, host: str) -> None:
    """A page of evil.example that resolves to 127.0.0.1 gets nothing."""
    assert ask(local, "/worse.json", {"host": host}).status == 421


@pytest.mark.parametrize("host", ["localhost", "LOCALHOST:8047", "127.0.0.1:1", "[::1]:8047"])
def test_on_loopback_its_own_names_are_served(local: ASGIApp, host: str) -> None:
    """With any port: a tunnel has another."""
    assert ask(local, "/", {"host": host}).status == 200


def test_each_answer_has_the_policy_and_nothing_is_written(local: ASGIApp, site: Site) -> None:
    """No inline script or style, no frame; no method but GET and HEAD."""
    for path in ("/", "/nothing", "/metrics", "/farm.json"):
        answer = ask(local, path)
        policy = answer.headers["content-security-policy"]
        assert "default-src 'none'" in policy
        assert "unsafe" not in policy
        assert answer.headers["x-content-type-options"] == "nosniff"
    for method in ("POST", "PUT", "DELETE", "OPTIONS", "PATCH"):
        assert ask(local, "/runs", method=method).status == 405
    assert not Path(str(site.place)).exists(), "an absent store stays absent"


def test_pages_have_no_inline_script_or_style(local: ASGIApp) -> None:
    """They would not be executed; each would be reported as a breach."""
    for path in ("/", "/machines", "/runs", "/farm", "/nothing"):
        body = ask(local, path).body
        assert b" style=" not in body
        assert b"<style" not in body
        assert body.count(b"<script") == body.count(b'.js" defer></script>') == 1


def test_a_token_is_asked_for_once(guarded: ASGIApp) -> None:
    """A form gives a browser its cookie, which does not hold the token."""
    asked = ask(guarded, "/machine?name=a%26b")
    assert asked.status == 401
    assert b'value="/machine?name=a%26b"' in asked.body
    form = urlencode({"token": SECRET, "next": "/machine?name=a%26b"}).encode()
    entered = ask(guarded, "/login", method="POST", body=form)
    assert (entered.status, entered.headers["location"]) == (303, "/machine?name=a%26b")
    cookie, *attributes = entered.headers["set-cookie"].split("; ")
    assert {"httponly", "samesite=strict"} <= {one.lower() for one in attributes}
    assert SECRET not in cookie
    assert ask(guarded, "/farm", {"cookie": cookie}).status == 200
    wrong = ask(guarded, "/login", method="POST", body=b"token=wrong&next=/")
    assert (wrong.status, "set-cookie" in wrong.headers) == (401, False)


@pytest.mark.parametrize("path", ["/", "/runs.json", "/metrics", "/farm/events", "/run/x"])
def test_without_the_token_there_is_nothing(guarded: ASGIApp, path: str) -> None:
    """Whatever is sent instead; scripts send it as Authorization."""
    cookies = [{"cookie": "rtscope=x"}, {"cookie": f"rtscope={SECRET}"}]
    headers = [{"authorization": f"{kind} {SECRET}"} for kind in ("Basic", "Bearer x")]
    nothing: dict[str, str] = {}
    for given in (nothing, *cookies, *headers):
        assert ask(guarded, path, {"accept": "*/*"} | given).status == 401
    if path == "/metrics":
        assert ask(guarded, path, {"authorization": f"Bearer {SECRET}"}).status == 200


def test_a_token_in_the_address_is_exchanged_for_the_cookie(guarded: ASGIApp) -> None:
    """So that it does not stay in the address line; never to another site."""
    answer = ask(guarded, f"/runs?token={SECRET}&page=2")
    assert (answer.status, answer.headers["location"]) == (303, "/runs?page=2")
    assert "set-cookie" in answer.headers
    for target in ("https://evil.example/", "//evil.example", "/\\evil.example"):
        form = urlencode({"token": SECRET, "next": target}).encode()
        location = ask(guarded, "/login", method="POST", body=form).headers["location"]
        assert location == "/"


def test_a_link_on_another_site_is_asked_again_by_the_page(guarded: ASGIApp) -> None:
    """A browser keeps a strict cookie back from such a request, but not from the next."""
    answer = ask(guarded, "/run/1", {"sec-fetch-site": "cross-site"})
    assert b'http-equiv="refresh"' in answer.body
    assert b"<form" in ask(guarded, "/run/1", {"sec-fetch-site": "same-origin"}).body


@pytest.mark.parametrize("mode", [0o644, 0o640, 0o604, 0o660])
def test_a_token_file_that_others_may_use_is_refused(tmp_path: Path, mode: int) -> None:
    """Whether they may read or write it."""
    path = tmp_path / "token"
    path.write_text(SECRET)
    path.chmod(mode)
    with pytest.raises(RtscopeError, match=f"{mode:04o}"):
        read_token(path)
    path.chmod(0o400)
    assert read_token(path).is_token(SECRET)


@pytest.mark.parametrize("content", BAD)
def test_a_token_that_can_be_guessed_or_not_sent_is_refused(tmp_path: Path, content: bytes) -> None:
    """Also none at all."""
    path = tmp_path / "token"
    path.write_bytes(content)
    path.chmod(0o600)
    with pytest.raises(RtscopeError, match="--token-file"):
        read_token(path)


def test_a_token_file_that_is_none_is_refused(tmp_path: Path) -> None:
    """A directory, a pipe without a writer, an absent file."""
    import os

    os.mkfifo(tmp_path / "pipe", 0o600)
    for name in ("", "pipe", "absent"):
        with pytest.raises(RtscopeError, match="--token-file"):
            read_token(tmp_path / name)
