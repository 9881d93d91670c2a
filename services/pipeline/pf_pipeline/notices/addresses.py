"""Where webhooks lead."""

from __future__ import annotations

from dataclasses import dataclass
from urllib.parse import urlsplit

LONGEST = 2048
_PORTS = {"http": 80, "https": 443}


class NoWebhook(ValueError):
    """A webhook cannot, or may not, be called; the message says why."""


@dataclass(frozen=True, slots=True)
class Endpoint:
    """What is called."""

    secure: bool
    host: str
    port: int
    target: str
    """Path and query."""

    @property
    def authority(self) -> str:
        """Host and port, as the header Host has them."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return host if self.port == _PORTS["https" if self.secure else "http"] else f"{host}:{self.port}"


def endpoint_of(url: str) -> Endpoint:
    """Where a webhook leads. Raises NoWebhook."""
    if len(url) > LONGEST or not url.isascii() or not url.isprintable() or " " in url:
        raise NoWebhook(f"the URL must be at most {LONGEST} ASCII characters without spaces; write others as %XX")
    try:
        parts = urlsplit(url)
        host, port = parts.hostname or "", parts.port
    except ValueError as error:
        raise NoWebhook(f"the URL cannot be read: {error}") from None
    if parts.scheme not in _PORTS or not host:
        raise NoWebhook("the URL must begin with https:// or http://, and a host")
    if "@" in parts.netloc:
        raise NoWebhook("the URL must not have a user or a password in it; sign notices with a secret")
    target = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
    return Endpoint(parts.scheme == "https", host.rstrip("."), port or _PORTS[parts.scheme], target)
