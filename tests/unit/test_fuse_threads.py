"""Threads on a machine that has room for no more."""

from __future__ import annotations

import errno
import threading

import pytest

from pf_fuse.threads import started
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
