"""Connections over which a porter fetches, and stores that do not do as nearly all do."""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field

import pytest

from pf_backends.entries import Entry, Kind
from pf_fuse.porters.lanes import Lanes
from pf_fuse.porters.messages import Order, order, order_of, packet
from pf_fuse.porters.porter import taken
from support.stacks import wait_until

BODY = b"0123456789" * 1000


def answer(body: bytes = BODY, *lines: str, status: str = "200 OK") -> bytes:
    head = "\r\n".join([f"HTTP/1.1 {status}", f"Content-Length: {len(BODY)}", *lines])
    return head.encode() + b"\r\n\r\n" + body


class Store:
    """Answers each path as it is told, and may be told to hang up after it."""

    def __init__(self, answers: Mapping[str, bytes]) -> None:
        self.answers = answers
        self.asked: list[str] = []
        self.connections = 0
        self._listening = socket.create_server(("127.0.0.1", 0))
        threading.Thread(target=self._run, daemon=True).start()

    def dialled(self) -> socket.socket:
        return socket.create_connection(self._listening.getsockname(), timeout=5)

    def request(self, path: str) -> bytes:
        if path == "impossible":
            raise OSError("no such name")
        return f"GET /{path} HTTP/1.1\r\n\r\n".encode()

    def entry(self, path: str, headers: Mapping[str, str], body: memoryview) -> Entry | None:
        return Entry(path, Kind.FILE, len(body), version=headers.get("etag", "1"))

    def end(self) -> None:
        self._listening.close()

    def _run(self) -> None:
        with suppress(OSError):
            while True:
                caller, _ = self._listening.accept()
                self.connections += 1
                threading.Thread(target=self._serve, args=(caller,), daemon=True).start()

    def _serve(self, caller: socket.socket) -> None:
        with caller, suppress(OSError):
            while lines := caller.recv(4096):
                path = lines.split()[1].decode()[1:]
                self.asked.append(path)
                told = self.answers.get(path.partition(".")[0], answer())
                caller.sendall(told)
                if b"Connection: close" in told or len(told) < len(BODY):
                    return


@dataclass
class Run:
    """Lanes that run, and what becomes of what is ordered of them."""

    store: Store
    line: socket.socket
    came: dict[str, bytes] = field(default_factory=dict)
    otherwise: list[str] = field(default_factory=list)
    number: int = 0

    def fetch(self, *paths: str) -> None:
        for path in paths:
            self.number += 1
            entry = Entry(path, Kind.FILE, len(BODY), version="1")
            self.line.send(packet(order(self.number, 0, entry, here=False)))
        wait_until(lambda: {*self.came, *self.otherwise} >= set(paths))


Serve = Callable[..., Run]


@pytest.fixture
def serve() -> Iterator[Serve]:
    ends: list[Callable[[], object]] = []

    def begin(**answers: bytes) -> Run:
        store = Store(answers)
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        run = Run(store, ours)

        def orders() -> list[Order] | None:
            data = theirs.recv(65536)
            return [order_of(data)] if data else None

        def came(ordered: Order, entry: Entry, body: memoryview) -> None:
            run.came[entry.path] = bytes(body)

        lanes = Lanes(
            store,
            came,
            lambda ordered: run.otherwise.append(ordered.entry.path),
            lambda work: threading.Thread(target=work).start(),
        )
        thread = threading.Thread(target=lanes.run, args=(theirs, orders))
        thread.start()
        ends.extend([ours.close, thread.join, theirs.close, store.end])
        return run

    yield begin
    for end in ends:
        end()


def test_files_come_over_a_few_connections(serve: Serve) -> None:
    run = serve()
    names = [f"f.{number}" for number in range(200)]
    run.fetch(*names)
    assert all(run.came[name] == BODY for name in names)
    assert run.otherwise == []
    assert run.store.connections <= 8


def test_a_store_that_hangs_up_after_each_answer_is_asked_once_for_each_file(serve: Serve) -> None:
    run = serve(f=answer(BODY, "Connection: close"))
    names = [f"f.{number}" for number in range(30)]
    run.fetch(*names)
    assert (sorted(run.store.asked), run.otherwise) == (sorted(names), [])


@pytest.mark.parametrize(
    "told",
    [
        answer(BODY + b"more"),
        answer(b"{}", status="503 Slow Down"),
        answer(BODY[:100]),
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2710\r\n" + BODY,
        b"rubbish\r\n\r\n",
        answer(BODY, 'ETag: "2"'),
    ],
    ids=["more", "refusal", "less", "pieces", "rubbish", "another version"],
)
def test_what_is_not_as_usual_is_left_to_others(serve: Serve, told: bytes) -> None:
    run = serve(bad=told)
    run.fetch("f.1", "bad.1", "f.2", "impossible", "f.3")
    assert sorted(run.otherwise) == ["bad.1", "impossible"]
    assert sorted(run.came) == ["f.1", "f.2", "f.3"]
    assert all(body == BODY for body in run.came.values())


def test_a_store_that_is_never_as_usual_is_left_alone_for_a_while(serve: Serve) -> None:
    run = serve(bad=answer(b"{}", status="503 Slow Down"))
    for number in range(60):
        run.fetch(f"bad.{number}")
    assert len(run.otherwise) == 60
    assert len(run.store.asked) < 30


def test_where_nobody_answers_others_find_out_why(serve: Serve) -> None:
    run = serve()
    run.store.end()
    run.fetch("f.1", "f.2")
    assert sorted(run.otherwise) == ["f.1", "f.2"]


def test_what_is_checked_keeps_nothing_waiting_that_is_to_be_fetched() -> None:
    line, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    entry, checked = Entry("f", Kind.FILE, 1, version="1"), list[Order]()
    with line, theirs:
        for number in range(40):
            line.send(packet(order(number, 0, entry, here=number != 1)))
        assert [each.number for each in taken(theirs, checked.append) or ()] == [1]
        assert len(checked) < 20, "it is looked what has come meanwhile"
        while len(checked) < 39:
            assert taken(theirs, checked.append) == []
        line.shutdown(socket.SHUT_WR)
        assert taken(theirs, checked.append) is None
