"""Bytes as text that can stand in a URL, in one way only."""

from __future__ import annotations

from base64 import urlsafe_b64decode, urlsafe_b64encode


def encoded(raw: bytes) -> str:
    return urlsafe_b64encode(raw).rstrip(b"=").decode()


def decoded(text: str) -> bytes:
    """The bytes of a text that `encoded` has made; ValueError for any other text."""
    raw = urlsafe_b64decode(text.encode("ascii") + b"=" * (-len(text) % 4))
    # Python's decoder passes over foreign characters, and over bits at the end that stand for nothing.
    if encoded(raw) != text:
        raise ValueError("not in base64url")
    return raw
