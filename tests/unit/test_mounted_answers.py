"""What asking a mount comes to when whoever serves it is slow, says what is wrong, or goes."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Iterator
from contextlib import closing, suppress
from pathlib import Path

import pytest

from paddleflow.mounted import NotMounted, SlowToAnswer, Unanswered, ask_whoever_serves, follow
from paddleflow.mounting import state_folder


@pytest.fixture
def listener(tmp_path: Path) -> Iterator[socket.socket]:
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as listening:
        listening.bind(str(tmp_path / "control"))
        listening.listen(1)
        yield listening


def answering(listener: socket.socket, answer: bytes) -> threading.Thread:
    def answered() -> None:
        caller, _ = listener.accept()
        with closing(caller), suppress(ConnectionError):
            caller.recv(100)
            caller.sendall(answer)

    thread = threading.Thread(target=answered)
    thread.start()
    return thread


def test_who_says_nothing_is_slow(listener: socket.socket, tmp_path: Path) -> None:
    assert listener.fileno()
    with pytest.raises(SlowToAnswer, match="ask again"):
        ask_whoever_serves(tmp_path, Path("/somewhere"), "stats", patience=0.05)


@pytest.mark.parametrize(
    ("answer", "kind", "words"),
    [
        (b'{"error": "the disk is gone"}\n', Unanswered, "the disk is gone"),
        (b'{"up": 1', NotMounted, "just ended"),
        (b"{up: 1}\n", Unanswered, "no answer"),
        (b"\xff\n", Unanswered, "no answer"),
        (b"[1]\n", Unanswered, "no answer"),
        (b"7\n", Unanswered, "no answer"),
        (b"[" * 100_000 + b"\n", Unanswered, "no answer"),
        (b" " * (5 << 20) + b"{}\n", Unanswered, "too long"),
    ],
    ids=["problem", "broken off", "no JSON", "no text", "list", "number", "deep", "long"],
)
def test_what_is_wrong_is_a_problem(
    listener: socket.socket, tmp_path: Path, answer: bytes, kind: type[Exception], words: str
) -> None:
    thread = answering(listener, answer)
    with pytest.raises(kind, match=words):
        ask_whoever_serves(tmp_path, Path("/somewhere"), "stats")
    thread.join()


def test_who_says_little_by_little_is_slow(listener: socket.socket, tmp_path: Path) -> None:
    over = threading.Event()

    def dribble() -> None:
        caller, _ = listener.accept()
        with closing(caller), suppress(ConnectionError):
            until = time.monotonic() + 5.0
            while not over.wait(0.02) and time.monotonic() < until:
                caller.sendall(b" ")

    thread = threading.Thread(target=dribble)
    thread.start()
    begun = time.monotonic()
    try:
        with pytest.raises(SlowToAnswer):
            ask_whoever_serves(tmp_path, Path("/somewhere"), "stats", patience=0.2)
    finally:
        over.set()
        thread.join()
    assert time.monotonic() - begun < 5.0


def test_answers_are_told_one_after_the_other(listener: socket.socket, tmp_path: Path) -> None:
    place, environ = tmp_path / "place", {"XDG_CACHE_HOME": str(tmp_path)}
    state = state_folder(place, environ)
    state.parent.mkdir(parents=True)
    state.symlink_to(tmp_path)
    thread = answering(listener, b'{"first": 1}\n{"second": 2}\n{"cut off')
    assert list(follow(place, environ, "profile")) == [{"first": 1}, {"second": 2}]
    thread.join()
