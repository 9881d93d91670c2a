"""An object store that answers as a test says: for what real ones do not do, or not when asked to."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

from pf_backends.s3.backend import S3Backend
from pf_backends.s3.settings import Keys, Renew, S3Settings
from pf_backends.wire.messages import Endpoint


@dataclass(frozen=True)
class Asked:
    """A request."""

    method: str
    key: str
    query: Mapping[str, list[str]]
    headers: Mapping[str, str]
    body: bytes


@dataclass(frozen=True)
class Told:
    """An answer."""

    status: int = 200
    body: bytes = b""
    headers: Mapping[str, str] = field(default_factory=dict)


Script = Callable[[Asked], Told]


@contextmanager
def scripted(script: Script, *, renew: Renew | None = None, **settings: Any) -> Iterator[S3Backend]:
    """A backend on such a store."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(script))
    server.daemon_threads = True
    threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()
    endpoint = Endpoint("127.0.0.1", server.server_port, tls=False)
    told = {"keys": Keys("tester", "not-a-real-secret"), "deadline": 5.0, "attempts": 3, **settings}
    backend = S3Backend(S3Settings(endpoint, "bucket", **told), renew=renew)
    try:
        yield backend
    finally:
        backend.close()
        server.shutdown()
        server.server_close()


def error(code: str, status: int, words: str = "no", extra: str = "") -> Told:
    return Told(status, f"<Error><Code>{code}</Code><Message>{words}</Message>{extra}</Error>".encode())


def _handler(script: Script) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def answer(self) -> None:
            where = urlsplit(self.path)
            body = self.rfile.read(int(self.headers.get("content-length") or 0))
            headers = {name.lower(): value for name, value in self.headers.items()}
            query = parse_qs(where.query, keep_blank_values=True)
            told = script(Asked(self.command, unquote(where.path).removeprefix("/bucket/"), query, headers, body))
            self.send_response(told.status)
            for name, value in {"content-length": str(len(told.body)), **told.headers}.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(told.body if self.command != "HEAD" else b"")

        def log_message(self, *_: object) -> None:
            """Keeps quiet."""

    for method in ("GET", "PUT", "POST", "HEAD", "DELETE"):
        setattr(Handler, f"do_{method}", Handler.answer)
    return Handler
