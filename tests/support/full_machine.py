"""A machine on which no thread can be started for a while."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager

import pytest


@contextmanager
def no_more_threads(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[str]]:
    """What the kernel says where the tasks of a group of processes are bounded; gives the names of those refused."""
    refused: list[str] = []

    def refuse(thread: threading.Thread) -> None:
        refused.append(thread.name)
        raise RuntimeError("can't start new thread")

    with monkeypatch.context() as patch:
        patch.setattr(threading.Thread, "start", refuse)
        yield refused
