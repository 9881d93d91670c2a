"""Lists in pages: how large a page is, and the token of the next one."""

from __future__ import annotations

from hashlib import blake2b
from hmac import compare_digest

from google.protobuf.message import Message

from paddleflow.problems import InvalidArgument, PageTokenInvalid, Violation
from pf_kit.base64url import decoded, encoded

DEFAULT_SIZE = 50
MAX_SIZE = 1000
_MAC_BYTES = 16


def page_size(asked: int) -> int:
    """How many things to put on a page, if the caller asks for so many."""
    if asked < 0:
        raise InvalidArgument.of(Violation("page_size", "must not be negative"))
    return min(asked, MAX_SIZE) if asked else DEFAULT_SIZE


def list_scope(request: Message) -> bytes:
    """What must stay the same from page to page: the request without its size and token."""
    bare = type(request)()
    bare.CopyFrom(request)
    bare.ClearField("page_size")
    bare.ClearField("page_token")
    return request.DESCRIPTOR.full_name.encode() + b"\0" + bare.SerializeToString(deterministic=True)


class PageTokens:
    """Makes and checks page tokens.

    A token is the position after which the next page begins, with a keyed hash over it and the list's scope: callers
    can neither make one up nor use one with other filters.
    """

    def __init__(self, secret: bytes) -> None:
        self._key = blake2b(secret, digest_size=32, person=b"page tokens").digest()

    def encode(self, position: str, scope: bytes) -> str:
        """The token of a position; the empty position, which ends a list, has the empty token."""
        if not position:
            return ""
        place = position.encode()
        return encoded(self._mac(place, scope) + place)

    def decode(self, token: str, scope: bytes) -> str:
        """The position of a token; the empty token, which begins a list, has the empty position."""
        if not token:
            return ""
        try:
            raw = decoded(token)
        except ValueError:
            raise PageTokenInvalid from None
        mac, place = raw[:_MAC_BYTES], raw[_MAC_BYTES:]
        if not compare_digest(mac, self._mac(place, scope)):
            raise PageTokenInvalid
        return place.decode()

    def _mac(self, place: bytes, scope: bytes) -> bytes:
        hashed = blake2b(key=self._key, digest_size=_MAC_BYTES)
        hashed.update(len(place).to_bytes(4, "big") + place + scope)
        return hashed.digest()
