"""A mount does what a tmpfs does, tried for long."""

from __future__ import annotations

import pytest

from support.soaking import Where, sized
from support.twins import opened_site, tried

pytestmark = [pytest.mark.soak, pytest.mark.timeout(3600)]


def test_a_mount_is_like_a_tmpfs_but_for_what_its_place_does_not_keep(kind: str, where: Where) -> None:
    with opened_site("folder" if kind == "folder" else "objects", where.url, where.properties) as site:
        tried(site, examples=sized(500))
