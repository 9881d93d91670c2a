"""What asking a mount comes to when whoever serves it is slow, says what is wrong, or goes."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from paddleflow.mounted import NotMounted, SlowToAnswer, Unanswered, ask_whoever_serves


@pytest.fixture
def listener(tmp_path: Path) -> Iterator[socket.socket]:
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as listening:
        listening.bind(str(tmp_path / "control"))
        listening.listen(1)
        yield listening


def answering(listener: socket.socket, answer: bytes) -> threading.Thread:
    def answered() -> None:
        caller, _ = listener.accept()
        with closing(caller):
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
    [(b'{"error": "the disk is gone"}\n', Unanswered, "the disk is gone"), (b'{"up": 1', NotMounted, "just ended")],
)
def test_what_is_wrong_is_a_problem(
    listener: socket.socket, tmp_path: Path, answer: bytes, kind: type[Exception], words: str
) -> None:
    thread = answering(listener, answer)
    with pytest.raises(kind, match=words):
        ask_whoever_serves(tmp_path, Path("/somewhere"), "stats")
    thread.join()
