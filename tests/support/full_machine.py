"""A machine on which no thread can be started, or no file opened, for a while."""

from __future__ import annotations

import os
import resource
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


@contextmanager
def no_more_files() -> Iterator[None]:
    """Nothing more can be opened by this process, as where too much is open already."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    lowest = os.dup(0)
    os.close(lowest)
    resource.setrlimit(resource.RLIMIT_NOFILE, (lowest, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
