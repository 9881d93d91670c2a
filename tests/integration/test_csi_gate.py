"""The folder behind the door of a driver's socket: nobody else gets in, and kills leave no more than one."""

from __future__ import annotations

import asyncio
import tempfile
from pathlib import Path

import pytest

from pf_csi.gate import gated
from support.csi_site import Site


@pytest.fixture
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where this process makes its temporary folders."""
    made = tmp_path / "temporary"
    made.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(made))
    return made


async def test_what_is_behind_the_door_is_gone_with_it(tmp_path: Path, temporary: Path) -> None:
    path = tmp_path / "door.sock"
    async with gated(path) as inner:
        (folder,) = temporary.iterdir()
        assert inner == f"unix:{folder}/inner.sock"
        assert folder.stat().st_mode & 0o777 == 0o700
    assert not list(temporary.iterdir())
    assert not path.exists()


async def test_a_folder_that_others_can_enter_is_refused(tmp_path: Path, temporary: Path) -> None:
    path = tmp_path / "door.sock"
    async with gated(path):
        (folder,) = temporary.iterdir()
    folder.mkdir(mode=0o755)
    with pytest.raises(PermissionError, match=f"{folder} is another user's; remove it"):
        async with asyncio.timeout(5), gated(path):
            pass


def test_kills_leave_no_folders_behind(own_csi: Site) -> None:
    for _ in range(3):
        own_csi.kill("controller")
        own_csi.start("controller")
    own_csi.kill("controller")
    # Python tries out a folder for temporary files with another file, and may be killed amid it.
    assert len(list(own_csi.temporary.glob("pf-csi-*"))) <= 3  # one of each part
