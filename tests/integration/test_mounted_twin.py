"""A mount does what a tmpfs does."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from support import fuse_mounts
from support.s3_servers import S3Server, place_in
from support.servers import short_folder
from support.twins import opened_site, tried

pytestmark = pytest.mark.skipif(bool(fuse_mounts.missing()), reason=fuse_mounts.missing())


def test_a_folder_is_like_a_tmpfs() -> None:
    folder = short_folder()
    with opened_site("folder", f"local://{folder}", {}) as site:
        tried(site, examples=20)
    shutil.rmtree(folder)


def test_a_bucket_is_like_a_tmpfs_but_for_what_it_does_not_keep(seaweed_server: S3Server, tmp_path: Path) -> None:
    with opened_site("objects", *place_in(seaweed_server, f"twin-{tmp_path.name}")) as site:
        tried(site, examples=5)
