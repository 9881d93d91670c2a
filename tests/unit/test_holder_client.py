"""A client that asks its holder, whatever that one does."""

from __future__ import annotations

import os
import socket
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from pf_fuse.holder import client as asking
from pf_fuse.holder.adopting import Adopted, adopt
from pf_fuse.holder.client import HolderClient, HolderGone
from pf_fuse.holder.descriptors import listen
from pf_fuse.holder.messages import ROOM, Adopt, Register, Registered, Unregister, Welcome, receive, send
from pf_fuse.holder.returning import returns
from support.waiting import wait_until

MANY = 16_384
"""Files of which a client has the kernel read at most."""
AGREED = 45, 0, 4096


@pytest.fixture
def line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[HolderClient, socket.socket]]:
    """With the holder's end."""
    monkeypatch.setattr(asking, "AGAIN", 0.01)
    monkeypatch.setattr(asking, "PATIENCE", 0.05)
    theirs, ours = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    theirs.settimeout(10)
    with theirs, Path(os.devnull).open() as device:
        client = HolderClient(str(tmp_path / "s"), ours, device.fileno(), Welcome(*AGREED, False, True, ""))
        client.listen()
        monkeypatch.setattr(asking, "PATIENCE", 60.0)
        yield client, theirs
        client.ended()
        theirs.shutdown(socket.SHUT_RDWR)
        wait_until(lambda: all(thread.name != "fuse-holder" for thread in threading.enumerate()))


def asked(holder: socket.socket) -> int:
    """The number of the file on its disk that is to be registered."""
    message, descriptor = receive(holder)
    assert message == Register()
    assert descriptor is not None
    with os.fdopen(descriptor) as file:
        return os.fstat(file.fileno()).st_ino


def adopted(path: Path) -> Adopted:
    with listen(str(path), None) as listener:
        found = adopt(listener, 10.0)
    assert found is not None
    os.close(found.device)
    return found


def test_who_asks_a_holder_that_says_nothing_is_told_so_and_nobody_waits_for_it_again(
    line: tuple[HolderClient, socket.socket], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    client, holder = line
    monkeypatch.setattr(asking, "PATIENCE", 0.05)
    with (tmp_path / "file").open("w") as file, (tmp_path / "other").open("w") as other:
        with pytest.raises(HolderGone, match="does not answer"):
            client.register(file.fileno())
        monkeypatch.setattr(asking, "PATIENCE", 60.0)
        with pytest.raises(HolderGone, match="does not answer"):
            client.register(other.fileno())
        assert asked(holder) == os.fstat(file.fileno()).st_ino
        send(holder, Registered(5))
        assert receive(holder) == (Unregister(5), None), "nobody knows of what was answered too late"
        with ThreadPoolExecutor() as works:
            number = works.submit(client.register, other.fileno())
            assert asked(holder) == os.fstat(other.fileno()).st_ino
            send(holder, Registered(6))
            assert number.result(10) == 6


def test_what_a_holder_does_not_read_is_said_later_in_its_order(
    line: tuple[HolderClient, socket.socket],
) -> None:
    client, holder = line
    for number in range(2000):
        client.unregister(number)
    with Path(os.devnull).open() as file, pytest.raises(HolderGone, match="does not answer"):
        client.register(file.fileno())
    for number in range(2000):
        assert receive(holder) == (Unregister(number), None)
        client.keep(str(number))


def test_who_asks_while_the_next_holder_is_found_does_not_wait_for_the_answer_of_the_one_before(
    line: tuple[HolderClient, socket.socket], tmp_path: Path
) -> None:
    client, holder = line
    with ThreadPoolExecutor() as works, (tmp_path / "file").open("w") as file:
        number = works.submit(client.register, file.fileno())
        asked(holder)
        # The next one is there at once, and who has asked may not have noticed that there was none.
        with listen(str(tmp_path / "s"), None) as listener:
            holder.shutdown(socket.SHUT_RDWR)
            found = adopt(listener, 10.0)
        with pytest.raises(HolderGone):
            number.result(10)
    assert found is not None
    found.client.close()
    os.close(found.device)


def registered(client: HolderClient, holder: socket.socket, count: int) -> dict[tuple[int, int], int]:
    """So many files, each by its number."""
    found = {}
    with ThreadPoolExecutor() as works:
        for number in range(count):
            file = os.memfd_create("file")
            given = works.submit(client.register, file)
            asked(holder)
            send(holder, Registered(number))
            assert given.result(10) == number
            status = os.fstat(file)
            found[status.st_dev, status.st_ino] = number
            os.close(file)
    return found


@pytest.mark.parametrize("count", [0, 100, 8000])
def test_the_next_holder_is_told_of_all_files_and_of_what_is_closed_from_then_on(
    line: tuple[HolderClient, socket.socket], tmp_path: Path, count: int
) -> None:
    client, holder = line
    files = registered(client, holder, count)
    holder.shutdown(socket.SHUT_RDWR)
    found = adopted(tmp_path / "s")
    with found.client:
        assert found.registered == files
        client.unregister(7)
        found.client.settimeout(10)
        assert receive(found.client) == (Unregister(7), None)


def test_files_may_be_closed_while_the_next_holder_is_looked_for(
    line: tuple[HolderClient, socket.socket], tmp_path: Path
) -> None:
    client, holder = line
    left = set(registered(client, holder, 2000).values())
    holder.shutdown(socket.SHUT_RDWR)
    with ThreadPoolExecutor() as works:
        closed = works.map(client.unregister, left)
        found = adopted(tmp_path / "s")
        left = set(found.registered.values())
        with found.client:
            found.client.settimeout(10)
            while left:
                message, _ = receive(found.client)
                assert isinstance(message, Unregister)
                left.discard(message.backing)
            assert len(list(closed)) == 2000


def test_an_early_holder_takes_as_many_files_as_it_has_room_for() -> None:
    files = {number: (66306, 12_000_000 + number) for number in range(MANY)}
    first, *others = returns(AGREED, "k" * 1000, files)
    assert (first.kept, first.more) == ("k" * 1000, len(others))
    assert len(first.registered) > 3000
    assert [each.more for each in others] == list(reversed(range(len(others))))
    theirs, ours = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    with theirs, ours:
        for each in (first, *others):
            send(ours, each)
            message, _ = receive(theirs)
            assert isinstance(message, Adopt), f"it is cut off after {ROOM} bytes"
