"""A small HTTP port for Prometheus: `/metrics`, and nothing else."""

from __future__ import annotations

import logging
import re
import socket
import time
from collections.abc import Callable
from contextlib import suppress

from pf_fuse.metrics.exposition import CONTENT
from pf_fuse.threads import started

log = logging.getLogger(__name__)

_ADDRESS = re.compile(r"(?:(?P<host>\[[0-9A-Fa-f:.]+\]|[^\s:/\[\]]+):)?(?P<port>[0-9]{1,5})", re.ASCII)
_LOOPBACK = "127.0.0.1"
_MOST_PORT = 65_535
_PATIENCE = 5.0
"""Seconds in which a request must have come, and its answer gone."""
_AGAIN = 1.0
"""Seconds until somebody is listened to again after that could not be done."""
_HEAD_MOST = 8192


def parse_address(text: str) -> tuple[str, int]:
    """Of ``[HOST:]PORT``; nobody but this machine unless a host is named. ValueError if it is none."""
    match = _ADDRESS.fullmatch(text)
    if match is None or int(match["port"]) > _MOST_PORT:
        raise ValueError(f"metrics: {text!r} is not PORT or HOST:PORT, as in 9567 or 127.0.0.1:9567")
    return (match["host"] or _LOOPBACK).strip("[]"), int(match["port"])


def listen(address: tuple[str, int]) -> socket.socket:
    """OSError if somebody listens there."""
    family = socket.AF_INET6 if ":" in address[0] else socket.AF_INET
    return socket.create_server(address, family=family, backlog=8)


def serve(listening: socket.socket, metrics: Callable[[], str]) -> None:
    """Answers one after the other, until the process ends."""
    started("metrics", _serve, listening, metrics)


def _serve(listening: socket.socket, metrics: Callable[[], str]) -> None:
    while True:
        try:
            caller, _ = listening.accept()
        except OSError as error:
            # As when too many files are open: there may be room again.
            log.warning("nobody can ask for metrics: %s", error.strerror)
            time.sleep(_AGAIN)
            continue
        try:
            _speak(caller, metrics)
        except Exception:
            # One answer fails, and the next one may not.
            log.exception("the metrics cannot be told")


def _speak(caller: socket.socket, metrics: Callable[[], str]) -> None:
    # Whoever does not ask properly, or leaves early, gets nothing.
    with caller, suppress(OSError):
        caller.settimeout(_PATIENCE)
        caller.sendall(_answer(_head(caller), metrics))


def _head(caller: socket.socket) -> bytes:
    head = b""
    while b"\r\n\r\n" not in head and len(head) < _HEAD_MOST:
        piece = caller.recv(_HEAD_MOST)
        if not piece:
            break
        head += piece
    return head


def _answer(asked: bytes, metrics: Callable[[], str]) -> bytes:
    method, _, rest = asked.partition(b" ")
    path = rest.partition(b" ")[0].partition(b"?")[0]
    if method != b"GET" or path != b"/metrics":
        return b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
    body = metrics().encode()
    head = f"Content-Type: {CONTENT}\r\nContent-Length: {len(body)}\r\nConnection: close\r\n\r\n"
    return b"HTTP/1.1 200 OK\r\n" + head.encode() + body
