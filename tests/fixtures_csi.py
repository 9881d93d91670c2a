"""The driver of storage for tests."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from support.csi_site import Site, new_site


@pytest.fixture
def own_csi() -> Iterator[Site]:
    """The driver on a machine of its own."""
    with new_site() as site:
        site.start()
        yield site


@pytest.fixture(scope="module")
def shared_csi() -> Iterator[Site]:
    with new_site() as site:
        site.start()
        yield site


@pytest.fixture
def csi(shared_csi: Site) -> Iterator[Site]:
    """The driver on a machine that others have used before, and of which nothing is left."""
    yield shared_csi
    shared_csi.clear()
