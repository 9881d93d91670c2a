"""What is counted of requests, and how they look in the log of accesses."""

from __future__ import annotations

import errno
import threading
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pf_fuse.kernel import accesses as accesses_module
from pf_fuse.kernel import wire
from pf_fuse.kernel.accesses import Accesses
from pf_fuse.kernel.describing import FIELDS, NAMES, describe, describe_end
from pf_fuse.kernel.figures import Figures
from pf_fuse.kernel.wire import ASKER, HEAD, Ask

times = st.lists(st.integers(1, 10**11), min_size=1, max_size=200)


@given(times, st.floats(0.01, 1))
def test_a_share_was_answered_within_twice_the_time_that_it_took(taken: list[int], share: float) -> None:
    figures = Figures()
    for took in taken:
        figures.serving.count(Ask.READ, took, 0)
    figure = figures.now()["read"]
    within = figure.within(share)
    assert sum(took < within for took in taken) >= share * len(taken)
    assert sum(took < within // 2 for took in taken) < share * len(taken)
    assert (figure.count, figure.total) == (len(taken), sum(taken))


def test_answers_of_all_threads_are_counted() -> None:
    figures = Figures()
    figures.serving.count(Ask.READ, 1000, 0)

    def count() -> None:
        for _ in range(1000):
            figures.count_late(Ask.READ, 3000, errno.EIO)

    threads = [threading.Thread(target=count) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    figure = figures.now()["read"]
    assert (figure.count, figure.failed, figure.total) == (4001, {errno.EIO: 4000}, 12_001_000)
    assert figure.within(0.5) == 4096
    assert list(figures.now()) == ["read"]


def request(ask: int, body: bytes) -> bytes:
    head = HEAD.pack(40 + len(body), ask, 7, 5)
    return head + ASKER.pack(1, 2, 3) + bytes(4) + body


@pytest.mark.parametrize(
    ("ask", "body", "words"),
    [
        pytest.param(Ask.LOOKUP, b"a name\0", "lookup node=5 'a name'", id="lookup"),
        pytest.param(Ask.LOOKUP, b"\xff\n\0", "lookup node=5 '\\udcff\\n'", id="bytes"),
        pytest.param(Ask.READ, wire.READ_IN.pack(0, 10, 20, 0, 0, 0, 0), "read node=5 offset=10 size=20", id="read"),
        pytest.param(
            Ask.RENAME2,
            wire.RENAME2_IN.pack(9, 1, 0) + b"a\0b\0",
            "rename2 node=5 new_folder=9 flags=1 'a' 'b'",
            id="two",
        ),
        pytest.param(Ask.GETATTR, bytes(16), "getattr node=5", id="getattr"),
        pytest.param(Ask.READ, b"short", "read node=5 cut short", id="cut"),
        pytest.param(4000, b"", "request_4000 node=5", id="unknown"),
    ],
)
def test_requests_are_told_in_words(ask: int, body: bytes, words: str) -> None:
    assert describe(request(ask, body)) == f"user=1 group=2 process=3 {words}"


def test_ends_are_told_in_words() -> None:
    assert describe_end(0, 1_500_000) == "ok 1.500 ms"
    assert describe_end(errno.ENOENT, 1000) == "ENOENT 0.001 ms"
    assert describe_end(400, 0) == "400 0.000 ms"


@given(st.sampled_from(list(Ask)), st.binary(max_size=200))
def test_whatever_is_asked_is_one_line(ask: Ask, body: bytes) -> None:
    assert "\n" not in describe(request(ask, body))


def test_no_more_fields_are_named_than_there_are() -> None:
    for layout, names in FIELDS.values():
        assert len(names.split()) <= len(layout.unpack(bytes(layout.size)))
    assert set(NAMES) <= set(Ask)


def test_a_log_that_is_forgotten_ends_by_itself(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(accesses_module, "LARGEST", 1000)
    log = Accesses()
    log.begin(str(tmp_path / "log"))
    for _ in range(100):
        log.note("words", 0, 1000)
    assert not log.on
    assert 1000 < (tmp_path / "log").stat().st_size < 1200
    log.begin(str(tmp_path / "log"))
    log.note("again", 0, 1000)
    log.end()
    assert (tmp_path / "log").read_text().endswith("again: ok 0.001 ms\n")
