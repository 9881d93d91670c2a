"""Whoever serves a mount is killed, and another process goes on with it at once."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from paddleflow.mounted import is_held
from paddleflow.mounting import state_folder
from support import fuse_mounts
from support.fuse_mounts import detach
from support.mounts import Mount, new_mount, parent_of
from support.stacks import wait_until

pytestmark = pytest.mark.skipif(bool(fuse_mounts.missing()), reason=fuse_mounts.missing())
TO_LOAD = 0.2
"""Seconds of a processor in which the program is not even loaded."""


@pytest.fixture
def mount(tmp_path: Path) -> Iterator[Mount]:
    with new_mount() as made:
        made.begin(f"local://{tmp_path}", {})
        yield made


def sockets(process: int) -> set[str]:
    """That it has open. Whoever began the mount may have given it some."""
    found = set[str]()
    for each in Path(f"/proc/{process}/fd").iterdir():
        # It opens and closes others meanwhile.
        with suppress(FileNotFoundError):
            found.add(str(each.readlink()))
    return {each for each in found if each.startswith("socket:")}


def test_whoever_follows_needs_not_be_loaded(mount: Mount) -> None:
    mount.kill()
    assert mount.stats()["process"]["processor"] < TO_LOAD


def test_whoever_follows_has_nothing_of_the_holder(mount: Mount) -> None:
    mount.kill()
    client = mount.server()
    assert sockets(client)
    assert sockets(parent_of(client))
    assert not sockets(client) & sockets(parent_of(client))


def test_whoever_is_asked_to_end_ends_alone(mount: Mount) -> None:
    """Signals of a client are its own."""
    mount.kill()
    client = mount.server()
    os.kill(client, 15)
    wait_until(lambda: mount.server_if_any() not in (0, client))
    assert is_held(state_folder(mount.place, mount.environ))


def test_a_client_of_a_holder_that_is_gone_serves_until_the_mount_is(mount: Mount) -> None:
    mount.kill()
    client = mount.server()
    state = state_folder(mount.place, mount.environ)
    os.kill(parent_of(client), 9)
    wait_until(lambda: not is_held(state))
    (mount.place / "file").write_text("hello")
    assert mount.server() == client
    detach(mount.place)
    # It was killed, and leaves its socket.
    (state / "holder").unlink()
    wait_until(lambda: not Path(f"/proc/{client}").exists() or "Z" in Path(f"/proc/{client}/stat").read_text())
