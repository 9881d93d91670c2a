"""Where webhooks may lead."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pf_pipeline.notices.addresses import Endpoint, NoWebhook, endpoint_of


@pytest.mark.parametrize(
    ("url", "endpoint", "authority"),
    [
        ("https://example.com", Endpoint(True, "example.com", 443, "/"), "example.com"),
        ("http://Example.com./a/b?c=d#e", Endpoint(False, "example.com", 80, "/a/b?c=d"), "example.com"),
        ("https://example.com:8443/x", Endpoint(True, "example.com", 8443, "/x"), "example.com:8443"),
        ("http://[2001:db8::1]:81/", Endpoint(False, "2001:db8::1", 81, "/"), "[2001:db8::1]:81"),
    ],
)
def test_a_url_is_read(url: str, endpoint: Endpoint, authority: str) -> None:
    assert endpoint_of(url) == endpoint
    assert endpoint.authority == authority


@pytest.mark.parametrize(
    "url",
    [
        "",
        "example.com/hook",
        "ftp://example.com",
        "file:///etc/passwd",
        "https://",
        "https:///path",
        "https://user:word@example.com",
        "https://example.com:99999",
        "https://example.com:x",
        "https://[::1",
        "https://example.com/a b",
        "https://example.com/\r\nHost: other",
        "https://exämple.com",
        "https://example.com/" + "x" * 2048,
    ],
)
def test_what_cannot_be_called_is_refused(url: str) -> None:
    with pytest.raises(NoWebhook):
        endpoint_of(url)


@given(st.text(max_size=40))
def test_any_text_is_a_url_or_refused(text: str) -> None:
    for url in (text, f"https://{text}", f"http://example.com/{text}"):
        try:
            endpoint = endpoint_of(url)
        except NoWebhook:
            continue
        assert endpoint.host
        assert (endpoint.target + endpoint.authority).isprintable()
