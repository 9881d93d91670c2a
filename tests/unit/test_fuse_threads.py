"""Threads on a machine that has room for no more."""

from __future__ import annotations

import errno
import threading

import pytest

from pf_fuse.threads import crew, started
from support.full_machine import no_more_threads
from support.vfs_site import fails


def test_a_thread_does_its_work_and_holds_nobody_up() -> None:
    done = threading.Event()
    thread = started("work", done.set)
    assert done.wait(10.0)
    assert thread.daemon
    assert thread.name == "work"


def test_who_cannot_start_one_is_told_so(monkeypatch: pytest.MonkeyPatch) -> None:
    with no_more_threads(monkeypatch) as refused, fails(errno.EAGAIN):
        started("work", print)
    assert refused == ["work"]
    started("work", print).join(10.0)


def test_a_crew_is_there_before_it_is_needed(monkeypatch: pytest.MonkeyPatch) -> None:
    """All of them work at once, though no more can be started by then."""
    all_of_them = threading.Barrier(5)
    with crew(4, "ask") as workers, no_more_threads(monkeypatch):
        done = [workers.submit(all_of_them.wait, 10.0) for _ in range(4)]
        all_of_them.wait(10.0)
    assert len({each.result() for each in done}) == 4


def test_who_cannot_have_all_of_a_crew_has_none(monkeypatch: pytest.MonkeyPatch) -> None:
    start, started_ones = threading.Thread.start, list[threading.Thread]()

    def start_some(thread: threading.Thread) -> None:
        if len(started_ones) == 2:
            raise RuntimeError("can't start new thread")
        started_ones.append(thread)
        start(thread)

    with monkeypatch.context() as patch, fails(errno.EAGAIN):
        patch.setattr(threading.Thread, "start", start_some)
        crew(4, "ask")
    for each in started_ones:
        each.join(10.0)
        assert not each.is_alive()
