"""What begins threads when it needs them goes on when none could be begun for a while."""

from __future__ import annotations

import errno
import os
import socket
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future
from pathlib import Path

import pytest

from pf_backends.entries import Entry, Kind
from pf_fuse.control import SOCKET, Control
from pf_fuse.fetching.fetcher import Fetcher
from pf_fuse.fetching.fetches import Wait
from pf_fuse.fetching.settings import MIB, FetchSettings
from pf_fuse.fetching.watching import Watch
from pf_fuse.kernel import dying
from pf_fuse.kernel.dying import Signalled
from pf_fuse.kernel.notices import Notices, node_notice
from pf_fuse.metrics import port
from pf_fuse.pages.cache import CacheSettings, PageCache
from pf_fuse.porters import team
from pf_fuse.porters.team import Team
from pf_fuse.settings import CacheSettings as CacheAsked
from pf_fuse.settings import CarrySettings, SourceSettings
from support.fake_place import FakeNeighbours, FakePlace, content
from support.full_machine import no_more_threads
from support.vfs_site import fails
from support.waiting import wait_until


@pytest.fixture
def cache(tmp_path: Path) -> PageCache:
    return PageCache(CacheSettings([str(tmp_path / "cache")]))


def test_who_waits_too_long_is_told_so_after_that(monkeypatch: pytest.MonkeyPatch) -> None:
    lock = threading.Lock()
    watch = Watch(lock, time.monotonic)
    waits = [Wait("f", 0, 1, watch.after(0.01)) for _ in range(2)]
    answers = [wait.answer for wait in waits]
    with no_more_threads(monkeypatch) as refused, lock:
        watch.add(waits[0])
    with lock:
        watch.add(waits[1])
    assert refused == ["pf-fetch-watch"]
    for answer in answers:
        assert answer
        with pytest.raises(OSError, match="not answered in time"):
            answer.result(10)
    with lock:
        watch.end()


def test_the_kernel_is_told_later_what_could_not_be_told_then(monkeypatch: pytest.MonkeyPatch) -> None:
    read, write = os.pipe()
    notices = Notices(write)
    with no_more_threads(monkeypatch):
        notices.tell(node_notice(5))
        notices.settle()
    notices.tell(node_notice(6))
    notices.settle()
    assert os.read(read, 4096) == node_notice(5) + node_notice(6)
    notices.end()
    os.close(read)
    os.close(write)


def test_programs_that_are_killed_are_given_up_after_that(monkeypatch: pytest.MonkeyPatch) -> None:
    dead, waiting = threading.Event(), {1, 2}
    monkeypatch.setattr(dying, "is_dying", lambda _: dead.is_set())
    signalled = Signalled(waiting.__contains__, waiting.discard)
    with no_more_threads(monkeypatch):
        signalled.note(1, 100)
    signalled.note(2, 200)
    dead.set()
    wait_until(lambda: not waiting)


class Deaf:
    def watch(self, descriptor: int, heard: Callable[[], None]) -> None: ...

    def unwatch(self, descriptor: int) -> None: ...


def test_a_porter_is_begun_after_that(cache: PageCache, monkeypatch: pytest.MonkeyPatch) -> None:
    begun = threading.Event()

    def begin() -> team.Porter:
        begun.set()
        raise OSError(errno.ENOEXEC, os.strerror(errno.ENOEXEC))

    monkeypatch.setattr(team, "_AGAIN", 0.0)
    monkeypatch.setattr(team, "_started", begin)
    settings = CarrySettings(SourceSettings("memory://x", CacheAsked([]), {}, [], read_only=True), None)
    made = Team(settings, "memory://x", cache, 1)
    made.begin(Deaf())
    with no_more_threads(monkeypatch) as refused:
        for number in range(100):
            assert made.carry(Entry(f"{number}", Kind.FILE, 10, 0, "v")) is None
        assert set(refused) == {"porter"}
    wait_until(lambda: made.carry(Entry("more", Kind.FILE, 10, 0, "v")) is None and begun.is_set())
    made.end()


def test_who_asks_about_a_mount_is_answered_after_that(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    control = Control(tmp_path, {"stats": lambda _: {"up": 1}})
    control.begin()
    try:
        with no_more_threads(monkeypatch) as refused:
            for number in range(100):
                with socket.socket(socket.AF_UNIX) as asking:
                    asking.connect(str(tmp_path / SOCKET))
                    asking.settimeout(10.0)
                    assert asking.recv(100) == b"", f"the {number}th is told by the end of what he hears"
            assert set(refused) == {"control-answer"}
        with socket.socket(socket.AF_UNIX) as asking:
            asking.connect(str(tmp_path / SOCKET))
            asking.settimeout(10.0)
            asking.sendall(b'{"ask": "stats"}\n')
            assert asking.recv(100) == b'{"up": 1}\n'
    finally:
        control.end()


def test_metrics_are_told_after_a_fault(caplog: pytest.LogCaptureFixture) -> None:
    faults = [RuntimeError("dictionary changed size during iteration")]

    def metrics() -> str:
        if faults:
            raise faults.pop()
        return "up 1\n"

    listening = port.listen(("127.0.0.1", 0))
    port.serve(listening, metrics)
    for told in (b"", b"HTTP/1.1 200 OK"):
        with socket.create_connection(listening.getsockname(), timeout=10.0) as asking:
            asking.sendall(b"GET /metrics HTTP/1.1\r\n\r\n")
            assert asking.recv(15) == told
    assert "the metrics cannot be told" in caplog.text


def test_files_are_opened_and_read_by_the_workers_that_there_are(
    cache: PageCache, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = FakePlace()
    data = {f"{number:02}": content(str(number), 1000) for number in range(30)}
    entries = [place.put(path, each) for path, each in data.items()]
    fetcher = Fetcher(place, cache, FetchSettings(memory=32 * MIB, workers=4), FakeNeighbours(entries))
    with no_more_threads(monkeypatch) as refused:
        for entry in entries[:10]:
            fetcher.open(entry).close()
        with fails(errno.EAGAIN):
            fetcher.open(entries[0]).read(0, 10)
        assert set(refused) == {"pf-fetch"}
    first = fetcher.open(entries[0])
    answer = first.read(0, 10)
    assert bytes(answer.result(10) if isinstance(answer, Future) else answer) == data["00"][:10]
    first.close()
    fetcher.end()
