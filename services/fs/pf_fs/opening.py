"""Opens backends."""

from __future__ import annotations

from collections.abc import Mapping

from pf_backends.errors import Malformed
from pf_backends.port import Backend


def open_backend(url: str, _properties: Mapping[str, str]) -> Backend:
    """The backend of a URL."""
    raise Malformed(f"nothing opens {url.partition('://')[0]}")
