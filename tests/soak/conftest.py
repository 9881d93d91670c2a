"""Mounts that are tried for long."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from support import fuse_mounts
from support.mounts import Mount, new_mount
from support.repository import ROOT
from support.s3_servers import S3Server, place_in
from support.servers import short_folder
from support.soaking import Where

TOOLS = ROOT / ".cache" / "soak" / "bin"


@pytest.fixture(params=["seaweed", "versity", "folder"])
def kind(request: pytest.FixtureRequest) -> str:
    """What lies behind the mount."""
    if fuse_mounts.missing():
        pytest.skip(fuse_mounts.missing())
    return str(request.param)


@pytest.fixture
def where(kind: str, request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Where]:
    """An empty place of that kind."""
    folder = short_folder()
    folder.chmod(0o755)
    if kind == "folder":
        yield Where(f"local://{folder}", {})
    else:
        server: S3Server = request.getfixturevalue(f"{kind}_server")
        yield Where(*place_in(server, f"soak-{tmp_path.name}"))
    shutil.rmtree(folder)


@pytest.fixture
def soaked(where: Where) -> Iterator[Mount]:
    """A mount of it."""
    with new_mount() as mount:
        mount.begin(*where)
        yield mount
        with suppress(FileNotFoundError):
            # Seen where the test failed.
            sys.stdout.write(mount.log[-4000:])


@pytest.fixture
def tools() -> Path:
    """Where `tests/soak/install.sh` puts programs."""
    return TOOLS
