"""Lists of mounts are read as the kernel writes them, whatever others have mounted."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from paddleflow.mountinfo import read_mounts
from pf_fuse.kernel.libc import Mounting, mount
from support.fuse_mounts import detach


@pytest.fixture(params=["a b", "a\nb", "a\rb", "a\x0bb", "a\x1cb", "a\u2028b", "a\\040b"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Path]:
    """Where a file system in memory is mounted."""
    made = tmp_path / request.param
    made.mkdir()
    mount("none", str(made), "tmpfs", Mounting.NO_SETUID, "")
    yield made
    detach(made)


def test_a_mount_is_found_wherever_it_is(place: Path) -> None:
    assert read_mounts().top(str(place)) is not None
