"""A read that several requests serve, which end at the same moment."""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from unittest.mock import sentinel

import pytest

from pf_fuse.fetching.fetches import Fetch, Wait
from pf_fuse.pages.keys import PAGE, Extent

BLOCK = 4 * PAGE
COUNT = 4


@pytest.fixture
def switching() -> Iterator[None]:
    """Threads take turns as often as they can."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(before)


@pytest.mark.usefixtures("switching")
def test_what_several_requests_bring_at_once_is_all_there() -> None:
    body = os.urandom(COUNT * BLOCK)
    with ThreadPoolExecutor(COUNT) as threads:
        for _ in range(500):
            wait = Wait("f", 1, len(body) - 1, 0.0)
            answer = wait.answer
            assert answer
            fetches = [
                Fetch(sentinel.reading, Extent(start, start + BLOCK), whole=False)
                for start in range(0, len(body), BLOCK)
            ]
            wait.lacks.update(fetches)
            ready = threading.Barrier(COUNT)

            def bring(fetch: Fetch, wait: Wait = wait, ready: threading.Barrier = ready) -> None:
                ready.wait()
                wait.arrived(fetch, memoryview(body)[fetch.extent.start : fetch.extent.end])

            list(threads.map(bring, fetches))
            assert bytes(answer.result(timeout=10)) == body[1:-1]
