"""What a porter tells of the files that it has brought."""

from __future__ import annotations

import errno
import os
import socket
from collections.abc import Sequence
from pathlib import Path

import pytest

from pf_backends.memory.backend import MemoryBackend
from pf_fuse.pages.cache import CacheSettings, PageCache
from pf_fuse.porters import porter
from pf_fuse.porters.messages import order, report_of
from pf_fuse.porters.porter import Porter


def test_a_file_is_told_without_a_descriptor_where_too_many_are_under_way(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Who may have any number under way cannot have the kernel say so."""
    backend, cache = MemoryBackend(), PageCache(CacheSettings([str(tmp_path)]))
    found = backend.put("f", b"some")

    def refuse(line: socket.socket, packets: Sequence[bytes], descriptors: Sequence[int]) -> int:
        if descriptors:
            raise OSError(errno.ETOOMANYREFS, os.strerror(errno.ETOOMANYREFS))
        return socket.send_fds(line, packets, descriptors)

    monkeypatch.setattr(porter, "send_fds", refuse)
    line, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    with line, theirs:
        Porter(backend, cache, theirs).fetch(order(1, 0, found, here=False))
        report = report_of(line.recv(1 << 16))
        assert (report.number, report.error) == (1, 0)
        assert report.kept
    cache.end()
