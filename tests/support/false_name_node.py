"""A name node of Hadoop that tells of folders what a test wants it to, also what none should."""

from __future__ import annotations

import socket
import socketserver
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

from pf_backends.hdfs import hadoop_pb2 as hadoop
from pf_backends.hdfs.lines import told

Tell = Callable[[str, bytes], hadoop.GetListing.Listing]
"""What is in a folder after a name."""
_GREETING = 7
"""Bytes."""


def status(name: bytes, *, kind: int = 2) -> hadoop.Status:
    mode = hadoop.Mode(bits=0o644)
    return hadoop.Status(kind=kind, name=name, size=1, mode=mode, owner="o", group="g", modified=1, id=16_386)


def listing(*entries: hadoop.Status, left: int = 0) -> hadoop.GetListing.Listing:
    return hadoop.GetListing.Listing(entries=entries, left=left)


@contextmanager
def name_node(tell: Tell) -> Iterator[int]:
    """Its port on the loopback."""

    class Caller(socketserver.BaseRequestHandler):
        def handle(self) -> None:
            _take(self.request, _GREETING)
            _frame(self.request)
            while words := _frame(self.request):
                head, _, ask = _messages(words)
                wanted = hadoop.GetListing.FromString(ask)
                reply = hadoop.GetListing.Reply(listing=tell(wanted.path, wanted.after))
                call = hadoop.CallHead.FromString(head).call
                answer = told(hadoop.AnswerHead(call=call, status=0)) + told(reply)
                self.request.sendall(len(answer).to_bytes(4, "big") + answer)

    with socketserver.ThreadingTCPServer(("127.0.0.1", 0), Caller) as server:
        server.daemon_threads = True
        threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True).start()
        try:
            yield server.server_address[1]
        finally:
            server.shutdown()


def _frame(caller: socket.socket) -> bytes:
    return _take(caller, int.from_bytes(_take(caller, 4), "big"))


def _take(caller: socket.socket, size: int) -> bytes:
    """Nothing at the end."""
    found = b""
    while len(found) < size and (more := caller.recv(size - len(found))):
        found += more
    return found


def _messages(words: bytes) -> Sequence[bytes]:
    """Each comes after its length, a number of seven bits a byte."""
    found, at = list[bytes](), 0
    while at < len(words):
        size = shift = 0
        while True:
            byte, at = words[at], at + 1
            size |= (byte & 0x7F) << shift
            shift += 7
            if byte < 0x80:
                break
        found.append(words[at : at + size])
        at += size
    return found
