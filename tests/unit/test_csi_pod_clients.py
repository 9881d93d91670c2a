"""What the holder does about clients that are pods, where one of them or a keeper fails."""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

import pytest

from paddleflow.sockets import listening
from pf_csi.holder import pods as pods_module
from pf_csi.holder.door import Door
from pf_csi.holder.keepers import Keeper
from pf_csi.holder.places import Folders
from pf_csi.holder.pods import PodClients
from pf_csi.holder.processes import LocalProcesses, Patience
from pf_csi.refusals import Refusal, Why

KEY = "0" * 16
MOUNT = {"source": "volume", "properties": {}}


class Listened(Door):
    """Remembers who was to end."""

    def __init__(self) -> None:
        super().__init__(os.geteuid())
        self.ends: list[str] = []

    def end(self, key: str) -> None:
        self.ends.append(key)
        super().end(key)


@dataclass
class Keepers:
    """Of one mount."""

    keeper: Keeper | None = None
    """None: none can be begun."""
    patience: Patience = field(default_factory=lambda: Patience(0.1, 0.1))

    def begin(self, key: str, mount: Mapping[str, Any]) -> Keeper:
        if self.keeper is None:
            raise Refusal(Why.PENDING, "no keeper")
        return self.keeper

    def settings(self, folder: object, mount: object) -> Mapping[str, Any]:
        return {}


def pods_with(keepers: Keepers, door: Door, folder: Path) -> PodClients:
    (folder / "told").mkdir()
    folders = Folders(folder / "mounts", folder / "secrets", folder / "states")
    return PodClients(folders, cast("LocalProcesses", keepers), door, folder / "told", os.geteuid())


@pytest.mark.parametrize("serves", [True, False])
async def test_who_serves_well_goes_on_where_no_keeper_can_be_begun(
    serves: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pods_module, "is_served", lambda folder: serves)
    door = Listened()
    clients = pods_with(Keepers(), door, tmp_path)
    with pytest.raises(Refusal, match="no keeper"):
        await asyncio.to_thread(clients.begin, KEY, MOUNT)
    assert door.ends == ([] if serves else [KEY])


async def test_a_keeper_to_which_nobody_comes_ends(tmp_path: Path) -> None:
    process = await asyncio.create_subprocess_exec("sleep", "1000")
    try:
        keeper = Keeper(process.pid, os.pidfd_open(process.pid))
        clients = pods_with(Keepers(keeper), Listened(), tmp_path)
        with pytest.raises(Refusal, match="no client has come"):
            await asyncio.to_thread(clients.begin, KEY, MOUNT)
        assert await asyncio.wait_for(process.wait(), 10) < 0
    finally:
        with suppress(ProcessLookupError):
            process.kill()


async def test_nobody_is_sent_to_a_mount_that_is_forgotten(tmp_path: Path) -> None:
    """It may have been found a moment ago."""
    door = Door(os.geteuid())
    server = await door.serve(listening(tmp_path / "door"))
    for key in ("gone", "there"):
        door.expect(key, "volume")
    door.forget("gone")
    door.want("gone")
    door.want("there")
    reader, writer = await asyncio.open_unix_connection(tmp_path / "door")
    writer.write(json.dumps({"name": "client", "key": "", "leaving": False}).encode() + b"\n")
    assert json.loads(await reader.readline()) == {"serve": "there"}
    writer.close()
    server.close()
