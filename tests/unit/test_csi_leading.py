"""Who leads goes on only as long as nobody else may."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import cast

import pytest

from pf_csi.clients.leading import Leading, Pace
from pf_csi.kubernetes import Api, Kind, Thing
from pf_csi.settings import ClientPodsSettings
from pf_kit.start import CannotStart
from support.waiting import until


class Leases:
    """A lease, which answers nobody once it hangs."""

    def __init__(self) -> None:
        self.lease: Thing | None = None
        self.renewed = 0
        self.hangs = False
        self.over = threading.Event()

    def find(self, kind: Kind, name: str) -> Thing | None:
        if self.hangs:
            self.over.wait(60)
        return self.lease

    def create(self, kind: Kind, thing: Thing) -> Thing:
        self.lease = thing
        return thing

    def replace(self, kind: Kind, name: str, thing: Thing) -> Thing:
        self.lease = thing
        self.renewed += 1
        return thing


@pytest.fixture
def leases() -> Iterator[Leases]:
    found = Leases()
    yield found
    found.over.set()


async def test_who_waits_for_an_answer_leads_no_longer_than_the_lease_is_his(leases: Leases) -> None:
    pace = Pace(lasts=2.0, gives_up=1.5, every=0.05)
    leading = Leading(cast("Api", leases), "here", "lease", "me", pace, lambda: datetime.now(UTC))
    await leading.until_leading()
    keeping = asyncio.ensure_future(leading.keep())
    await until(lambda: leases.renewed >= 3)
    assert not keeping.done()
    leases.hangs, begun = True, time.monotonic()
    try:
        with pytest.raises(CannotStart, match="not renewed"):
            async with asyncio.timeout(10):
                await keeping
        assert time.monotonic() - begun < 5.0
    finally:
        leases.over.set()


def test_who_leads_gives_up_before_another_may_begin() -> None:
    with pytest.raises(ValueError, match="less than lease_seconds"):
        ClientPodsSettings(Path("template"), "pods", "own", lease_seconds=10.0, renewed_seconds=10.0)
