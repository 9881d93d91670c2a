"""Reads the properties of a backend, and says at once all that is wrong with them."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from difflib import get_close_matches

from pf_backends.errors import Malformed
from pf_backends.wire.messages import Endpoint

_FLAGS = {"true": True, "false": False, "1": True, "0": False}
_MOST_PORT = 65535


class Properties:
    """What was told of a backend. A question notes what is wrong with its answer, and goes on with one that is not."""

    def __init__(self, url: str, told: Mapping[str, str], known: Collection[str]) -> None:
        self._url = url
        self._told = told
        self._wrong = [_unknown(name, known) for name in told if name not in known]

    def text(self, name: str, default: str = "") -> str:
        return self._told.get(name) or default

    def needed(self, name: str) -> str:
        value = self._told.get(name, "")
        if not value:
            self.wrong(name, "must be given")
        return value

    def flag(self, name: str, *, default: bool) -> bool:
        value = self._told.get(name) or str(default).lower()
        if value.lower() not in _FLAGS:
            self.wrong(name, "must be true or false")
        return _FLAGS.get(value.lower(), default)

    def whole(self, name: str, default: int, least: int, most: int) -> int:
        value = self._told.get(name) or str(default)
        if not (value.isascii() and value.isdigit() and len(value) < 20 and least <= int(value) <= most):
            self.wrong(name, f"must be a whole number from {least} to {most}")
            return default
        return int(value)

    def together(self, *names: str) -> bool:
        """True if all of these were given; none may be missing then."""
        given = [name for name in names if self._told.get(name)]
        for name in names:
            if given and name not in given:
                self.wrong(name, f"must be given, because {given[0]} is")
        return len(given) == len(names)

    def endpoint(self, name: str, default: str = "") -> Endpoint:
        """A host with or without a port, or a URL of http or https with nothing after them. TLS unless it says http."""
        value = self.text(name, default)
        scheme, marks, rest = value.partition("://") if "://" in value else ("https", "", value)
        found = host_of(rest.removesuffix("/") if marks else rest, 80 if scheme == "http" else 443)
        if scheme not in ("http", "https") or found is None:
            self.wrong(name, "must be a host, host:port, or these after http:// or https://")
            return Endpoint("", 0, tls=True)
        return Endpoint(*found, tls=scheme == "https")

    def wrong(self, name: str, why: str) -> None:
        """Notes what is wrong. Values are never told: they may be secrets."""
        self._wrong.append(f"{name} {why}")

    def finish(self) -> None:
        """Raises Malformed with all that was noted."""
        if self._wrong:
            raise Malformed(f"{self._url}: {'; '.join(self._wrong)}")


def host_of(text: str, port: int) -> tuple[str, int] | None:
    """The host and the port of ``host``, ``host:port`` or ``[address]:port``; None if it is nothing such."""
    if text.startswith("["):
        host, bracket, rest = text[1:].partition("]")
        digits = rest.removeprefix(":")
        if not bracket or (rest and not rest.startswith(":")) or not set(host) <= set("0123456789abcdefABCDEF:."):
            return None
    else:
        host, _, digits = text.partition(":")
        if not all(letter.isalnum() or letter in "-._" for letter in host):
            return None
    if not host or (text.endswith(":")) or (digits and not (digits.isascii() and digits.isdigit() and len(digits) < 6)):
        return None
    number = int(digits) if digits else port
    return (host, number) if 0 < number <= _MOST_PORT else None


def _unknown(name: str, known: Collection[str]) -> str:
    near = get_close_matches(name.lower(), [each.lower() for each in known], n=1, cutoff=0.6)
    meant = next((each for each in known if near and each.lower() == near[0]), "")
    hint = f"did you mean {meant}?" if meant else f"there are {', '.join(sorted(known)) or 'none'}"
    return f"{name[:80]!r} is no property; {hint}"
