"""Backends for tests."""

from __future__ import annotations

import errno
from collections.abc import Iterator
from pathlib import Path

import pytest

from pf_backends.port import Backend
from support.backend_places import in_folder, in_memory, like_objects


def unable(*_: object) -> int:
    raise OSError(errno.ENOSYS, "the kernel is too old")


@pytest.fixture(params=["memory", "memory-objects", "local", "local-plain"])
def backend(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Backend]:
    """An empty backend of each kind."""
    match request.param:
        case "local-plain":
            # As on an old kernel, and on a disk that knows no files without a name.
            monkeypatch.setattr("pf_backends.local.beneath.open_beneath", unable)
            monkeypatch.setattr("pf_backends.local.writing._nameless", lambda _folder, _mode: None)
            place = in_folder(tmp_path)
        case "memory":
            place = in_memory()
        case "memory-objects":
            place = like_objects()
        case _:
            place = in_folder(tmp_path)
    with place as made:
        yield made
