"""Mounts that are tried for long."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from support import fuse_mounts
from support.mounts import Mount, new_mount
from support.repository import ROOT
from support.s3_servers import S3Server, place_in
from support.servers import short_folder

TOOLS = ROOT / ".cache" / "soak" / "bin"


@pytest.fixture(params=["seaweed", "versity", "folder"])
def kind(request: pytest.FixtureRequest) -> str:
    """What lies behind the mount."""
    if fuse_mounts.missing():
        pytest.skip(fuse_mounts.missing())
    return str(request.param)


@pytest.fixture
def soaked(kind: str, request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Mount]:
    """An empty mount."""
    folder = short_folder()
    folder.chmod(0o755)
    with new_mount() as mount:
        if kind == "folder":
            mount.begin(f"local://{folder}", {})
        else:
            server: S3Server = request.getfixturevalue(f"{kind}_server")
            mount.begin(*place_in(server, f"soak-{tmp_path.name}"))
        yield mount
    shutil.rmtree(folder)


@pytest.fixture
def tools() -> Path:
    """Where `tests/soak/install.sh` puts programs."""
    return TOOLS
