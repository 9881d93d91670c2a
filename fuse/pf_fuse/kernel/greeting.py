"""The first message of a mount: the kernel says what it can do and is told what of it is used."""

from __future__ import annotations

import errno
import os

from pf_fuse.kernel.features import Agreement, Feature, agree, decode_offer, encode_agreement
from pf_fuse.kernel.wire import BODY, HEAD, REPLY, Ask

ROOM = 65536
"""The kernel refuses a buffer of less than 8 KiB."""
GONE = {errno.ENODEV, errno.ECONNABORTED, errno.ENOTCONN}
"""There is no mount any more."""
AGAIN = {errno.EINTR, errno.ENOENT, errno.EAGAIN}
"""There is no request after all: it was interrupted before anybody saw it."""


class NotAgreed(OSError):
    """The kernel ended the mount before anything was agreed on."""


def greet(device: int, wanted: Feature, newest: int | None = None) -> Agreement:
    """Answers the kernel's first message. `newest`: as one would that speaks this minor version of the protocol."""
    message = _first_message(device)
    _, ask, unique, _ = HEAD.unpack_from(message)
    if ask != Ask.INIT:
        raise NotAgreed(errno.EPROTO, f"the kernel began with request {ask} instead of a greeting")
    offer = decode_offer(message[BODY:])
    agreement = agree(offer if newest is None else offer.as_of(newest), wanted)
    body = encode_agreement(agreement)
    os.writev(device, (REPLY.pack(REPLY.size + len(body), 0, unique), body))
    return agreement


def _first_message(device: int) -> bytes:
    while True:
        try:
            return os.read(device, ROOM)
        except OSError as failure:
            if failure.errno not in AGAIN:
                raise NotAgreed(failure.errno, "the mount ended before the kernel greeted") from failure
