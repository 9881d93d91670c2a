"""Mending goes on, whatever comes."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, cast

import pytest

from paddleflow.mountinfo import Mounts
from pf_csi.held import Held
from pf_csi.kernel.targets import Targets
from pf_csi.node import mending as mending_module
from pf_csi.node.filesystems import NoFilesystems
from pf_csi.node.journal import Journal
from pf_csi.node.mending import Mending
from pf_csi.node.ports import Holder
from pf_csi.node.service import Ground, Publishing
from pf_csi.places import Rules
from pf_csi.turns import Turns
from support.waiting import until


class FaultyHolder:
    """Says nonsense a few times, and is well afterwards."""

    def __init__(self, faults: int) -> None:
        self._faults = faults
        self.asked = 0

    async def held(self) -> Mapping[str, Held]:
        self.asked += 1
        if self.asked <= self._faults:
            raise KeyError("a fault")
        return {}

    async def changed(self) -> None:
        await asyncio.Event().wait()


def ground(folder: Path, holder: Any, workers: ThreadPoolExecutor) -> Ground:
    targets, journal = Targets(folder), Journal(folder / "journal")
    holding = cast("Holder", holder)
    return Ground(
        targets, journal, holding, NoFilesystems(), lambda: Mounts([]), workers, Rules(), b"salt", "boot", "driver"
    )


async def test_a_fault_ends_nothing_and_is_seen(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(mending_module, "_AGAIN", 0.2)
    holder = FaultyHolder(2)
    with ThreadPoolExecutor(1) as workers, caplog.at_level(logging.ERROR):
        stand = ground(tmp_path, holder, workers)
        mending = Mending(stand, Publishing(stand, Turns()), Turns())
        going_on = asyncio.ensure_future(mending.run())
        await until(lambda: not mending.works)
        await until(lambda: mending.works)
        assert not going_on.done()
        going_on.cancel()
    assert holder.asked == 3
    assert "could not be compared" in caplog.text


async def test_what_somebody_is_busy_with_is_looked_at_again_soon(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Who publishes binds the volume anew, and not the folders of it that containers have."""
    monkeypatch.setattr(mending_module, "_AGAIN", 0.05)
    holder, turns = FaultyHolder(0), Turns()
    published = asyncio.Event()
    with ThreadPoolExecutor(1) as workers:
        stand = ground(tmp_path, holder, workers)
        publishing = asyncio.ensure_future(turns.take("target", published.wait()))
        await until(lambda: bool(turns.under_way))
        going_on = asyncio.ensure_future(Mending(stand, Publishing(stand, turns), turns).run())
        await until(lambda: holder.asked >= 3)
        published.set()
        await publishing
        going_on.cancel()
