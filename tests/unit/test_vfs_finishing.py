"""A sync has files uploaded side by side: in an outage each of them fails only after its patience."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from pf_backends.errors import unreachable
from pf_backends.memory.backend import LIKE_OBJECTS, MemoryBackend
from pf_fuse.vfs.settling import AT_ONCE
from support.vfs_site import PATIENCE, Site

FILES = 3 * AT_ONCE


class Rounds(MemoryBackend):
    """Does not answer before as many wait as may be uploaded at once."""

    def __init__(self) -> None:
        super().__init__(capabilities=LIKE_OBJECTS)
        self.lock = threading.Lock()
        self.now = self.most = 0
        self.full = threading.Barrier(AT_ONCE)
        self.before = self._wait

    def _wait(self, operation: str, path: str) -> None:
        if operation != "put":
            return
        with self.lock:
            self.now += 1
            self.most = max(self.most, self.now)
        self.full.wait(PATIENCE)
        with self.lock:
            self.now -= 1
        raise unreachable(path, "no answer")


@pytest.fixture
def backend() -> Rounds:
    return Rounds()


@pytest.fixture
def site(backend: Rounds, tmp_path: Path) -> Iterator[Site]:
    site = Site(backend, tmp_path)
    yield site
    site.die()


def test_a_sync_tries_as_many_at_once_as_may_be_and_is_told_of_a_failure(site: Site, backend: Rounds) -> None:
    nodes = [site.create(f"f{number}") for number in range(FILES)]
    for node in nodes:
        site.put(node, b"some")
    with pytest.raises(OSError, match="no answer"):
        site.vfs.sync()
    assert backend.most == AT_ONCE
    backend.before = lambda *_: None
    site.vfs.sync()
    assert [backend.fetch(f"f{number}", limit=9)[1] for number in range(FILES)] == [b"some"] * FILES
