"""A cache may lie where the kernel reads no files by itself, such as on overlayfs."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest

from pf_backends.memory.backend import MemoryBackend
from pf_fuse.operations import Reach
from support.vfs_site import PlainKernel, Site, StraightContent


class StackedKernel(PlainKernel):
    """It would read files by itself, but not from where the cache is."""

    def register(self, descriptor: int) -> int:
        raise OSError(errno.ELOOP, "on a filesystem that is itself stacked", str(descriptor))


def test_a_file_that_the_kernel_cannot_read_by_itself_is_read_all_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    backend = MemoryBackend()
    backend.put("file", b"content")
    monkeypatch.setattr(StraightContent, "whole", lambda _: 0)
    site = Site(backend, tmp_path)
    site.vfs.begin(StackedKernel(passthrough=True))
    assert site.opened("file", os.O_RDONLY).reach & Reach.DIRECT
    assert site.read("file") == b"content"
    site.die()
