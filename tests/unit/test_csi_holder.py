"""What the holder of volumes does for a long time: it keeps nothing of who has gone, and buries what has ended."""

from __future__ import annotations

import asyncio
import errno
import json
import os
import threading
from collections import Counter
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from paddleflow.sockets import listening
from pf_csi.held import State
from pf_csi.holder import reaping, server
from pf_csi.holder.app import until_asked
from pf_csi.holder.keepers import Keeper
from pf_csi.holder.lanes import MOST, Lanes
from pf_csi.holder.places import KeyFolder
from pf_csi.holder.server import HolderServer
from pf_csi.holder.supervisor import Patience, Supervisor
from pf_kit.lifecycle import Stop
from support.csi_parts import NoClients
from support.full_machine import no_more_threads
from support.vfs_site import fails
from support.waiting import until

TIMES = 20


def descriptors() -> int:
    return len(list(Path("/proc/self/fd").iterdir()))


async def test_who_asks_for_changes_and_goes_is_not_waited_for(tmp_path: Path, monkeypatch: Any) -> None:
    monkeypatch.setattr(server, "_LONGEST", 0.2)
    supervisor = Supervisor(NoClients(), lambda key: "/" + key, Lanes(), Patience())
    serving = await HolderServer(supervisor).serve(listening(tmp_path / "socket"))
    before = descriptors()
    for _ in range(TIMES):
        _, writer = await asyncio.open_unix_connection(tmp_path / "socket")
        writer.write(json.dumps({"do": "changed", "since": 0}).encode() + b"\n")
        await writer.drain()
        writer.close()
        await writer.wait_closed()
    await until(lambda: descriptors() <= before)
    serving.close()


class OneIsSlow(NoClients):
    """Two mounts are served, and the client of one takes its time to answer."""

    def __init__(self) -> None:
        self.asked = Counter[str]()
        self.over = threading.Event()

    def known(self) -> Mapping[str, Mapping[str, Any]]:
        return {"slow": {}, "quick": {}}

    def found(self, key: str) -> Keeper:
        return Keeper(0, os.eventfd(0))

    def left_for(self, key: str) -> None:
        return None

    def waits(self, key: str) -> bool:
        return True

    def answers(self, key: str) -> bool:
        self.asked[key] += 1
        return self.over.wait(60) if key == "slow" else True


async def test_no_mount_waits_until_the_client_of_another_answers() -> None:
    clients = OneIsSlow()
    supervisor = Supervisor(clients, lambda key: "/" + key, Lanes(), Patience())
    try:
        await supervisor.find()
        async with asyncio.timeout(10):
            while clients.asked["quick"] < 3:
                await supervisor.look_after()
                await asyncio.sleep(0.005)
        assert clients.asked["slow"] == 1
    finally:
        clients.over.set()
        supervisor.close()


class OneUploads(NoClients):
    """A mount was left, and nobody keeps it any more; its client still uploads what was written."""

    def __init__(self) -> None:
        self.uploads = True
        self.asked_to_end = 0
        self.cleared_while_it_uploads: list[bool] = []

    def known(self) -> Mapping[str, Mapping[str, Any]]:
        return {"key": {}}

    def found(self, key: str) -> None:
        return None

    def left_for(self, key: str) -> float:
        return 1.0

    def leave(self, key: str) -> None:
        return None

    def unmount(self, key: str) -> None:
        return None

    def is_taken(self, key: str) -> bool:
        return self.uploads

    def end(self, key: str, waited: float) -> None:
        self.asked_to_end += 1

    def clear(self, key: str) -> bool:
        self.cleared_while_it_uploads.append(self.uploads)
        return True


async def test_a_mount_that_was_left_is_cleared_away_once_its_client_has_ended() -> None:
    clients = OneUploads()
    supervisor = Supervisor(clients, lambda key: "/" + key, Lanes(), Patience())
    try:
        await supervisor.find()
        await until(lambda: clients.asked_to_end >= 2 or bool(clients.cleared_while_it_uploads))
        clients.uploads = False
        await until(lambda: not supervisor.held())
        assert clients.cleared_while_it_uploads == [False]
    finally:
        supervisor.close()


class Plain(NoClients):
    """One mount may be begun and ended."""

    def __init__(self) -> None:
        self.ended = os.eventfd(0)
        self.faults: list[Exception] = []
        """Of looks whether somebody lives who serves it."""

    def known(self) -> Mapping[str, Mapping[str, Any]]:
        return {}

    def take_up(self, key: str) -> None:
        return None

    def begin(self, key: str, told: Mapping[str, Any]) -> Keeper:
        return Keeper(0, self.ended)

    def answers(self, key: str) -> bool:
        return True

    def leave(self, key: str) -> None:
        return None

    def unmount(self, key: str) -> None:
        os.eventfd_write(self.ended, 1)

    def end(self, key: str, waited: float) -> None:
        return None

    def is_taken(self, key: str) -> bool:
        if self.faults:
            raise self.faults.pop()
        return False

    def clear(self, key: str) -> bool:
        return True


async def test_who_cannot_begin_a_thread_takes_no_place_of_others(monkeypatch: pytest.MonkeyPatch) -> None:
    lanes = Lanes()
    with no_more_threads(monkeypatch):
        for _ in range(MOST + 1):
            with fails(errno.EAGAIN):
                await lanes.run("key", int)
    async with asyncio.timeout(10):
        assert await lanes.run("key", int) == 0


async def test_a_mount_that_cannot_be_begun_for_want_of_a_thread_can_be_later(monkeypatch: pytest.MonkeyPatch) -> None:
    supervisor = Supervisor(Plain(), lambda key: "/" + key, Lanes(), Patience())
    try:
        with no_more_threads(monkeypatch):
            failed = await supervisor.hold("key", {})
        assert failed.state is State.FAILED
        assert "no thread can be started" in failed.text
        assert (await supervisor.hold("key", {})).state is State.READY
    finally:
        await supervisor.release("key")
        supervisor.close()


@pytest.mark.parametrize("fault", [OSError(errno.EAGAIN, "no thread"), RuntimeError("unforeseen")])
async def test_a_mount_whose_end_failed_is_ended_again(fault: Exception) -> None:
    clients = Plain()
    supervisor = Supervisor(clients, lambda key: "/" + key, Lanes(), Patience())
    try:
        await supervisor.hold("key", {})
        clients.faults.append(fault)
        assert await supervisor.release("key") is None
        assert supervisor.held() == {}
    finally:
        supervisor.close()


async def test_a_fault_of_what_lasts_as_long_as_the_holder_ends_it() -> None:
    async def faulty() -> None:
        raise KeyError("a fault")

    async def well() -> None:
        await asyncio.Event().wait()

    going_on = asyncio.ensure_future(well())
    with pytest.raises(KeyError):
        async with asyncio.timeout(10):
            await until_asked(Stop(), [going_on, asyncio.ensure_future(faulty())])
    stop = Stop()
    stop.asked.set()
    await until_asked(stop, [going_on])
    going_on.cancel()


def test_threads_that_end_do_not_keep_the_dead_from_being_buried() -> None:
    stop = threading.Event()

    def churn() -> None:
        while not stop.is_set():
            threading.Thread(target=int).start()

    churning = threading.Thread(target=churn)
    churning.start()
    child = os.posix_spawn("/bin/true", ["true"], {})
    try:
        looks = [reaping.dead_children() for _ in range(300)]
    finally:
        stop.set()
        churning.join()
        os.waitpid(child, 0)
    assert child in looks[-1]


def test_keys_that_are_told_at_once_are_each_written_whole(tmp_path: Path) -> None:
    folder = KeyFolder(tmp_path / "key", tmp_path / "secrets" / "key.json")
    told = [{"properties": {"secretKey": str(number) * 5000}} for number in range(8)]
    with ThreadPoolExecutor(8) as writers:
        for _ in range(20):
            list(writers.map(folder.remember, told))
            assert folder.remembered() in told
    folder.forget()
    assert list(folder.secret.parent.iterdir()) == []
