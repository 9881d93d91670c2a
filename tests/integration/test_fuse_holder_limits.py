"""Whoever keeps a mount bears that no more files can be open, and callers that say nothing."""

from __future__ import annotations

import os
import resource
import select
import signal
import socket
import time
from itertools import count
from pathlib import Path

from fixtures_fuse import Holdings
from pf_fuse.holder.client import take
from pf_fuse.holder.newcomers import NEWCOMERS
from support.fuse_holders import Holding, until_it_listens

LISTENS = 4.0
"""Seconds that a holder listens to who says nothing."""


def client_dies_without_room(holding: Holding, says: str) -> None:
    """While its holder can open nothing, which the holder says and survives."""
    client, pid = holding.served(1), holding.process.pid
    before = resource.prlimit(pid, resource.RLIMIT_NOFILE)
    resource.prlimit(pid, resource.RLIMIT_NOFILE, (3, before[1]))
    os.kill(client.pid, signal.SIGKILL)
    holding.says(says)
    assert holding.process.poll() is None
    resource.prlimit(pid, resource.RLIMIT_NOFILE, before)


def test_who_comes_when_no_more_files_can_be_open_is_turned_away_and_the_mount_stays(
    holdings: Holdings, tmp_path: Path
) -> None:
    holding = holdings()
    holding.served(1)
    (holding.root / "file").write_bytes(b"some")
    pid = holding.process.pid
    before = resource.prlimit(pid, resource.RLIMIT_NOFILE)
    used = {int(name) for name in os.listdir(f"/proc/{pid}/fd")}
    first_free = next(number for number in count() if number not in used)
    resource.prlimit(pid, resource.RLIMIT_NOFILE, (first_free, before[1]))
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as peer:
        peer.connect(str(tmp_path / "socket"))
        peer.settimeout(10)
        assert peer.recv(64) == b""
    holding.says("a client is turned away: Too many open files")
    assert (holding.place / "file").read_bytes() == b"some"
    resource.prlimit(pid, resource.RLIMIT_NOFILE, before)
    holding.kill_client()
    assert holding.served(2).resumed
    assert (holding.place / "file").read_bytes() == b"some"


def test_a_client_that_dies_when_no_more_files_can_be_open_is_replaced_once_they_can(holdings: Holdings) -> None:
    holding = holdings()
    holding.served(1)
    (holding.root / "file").write_bytes(b"some")
    client_dies_without_room(holding, "what is mounted cannot be looked at")
    assert holding.served(2).resumed
    assert (holding.place / "file").read_bytes() == b"some"


def test_who_comes_and_says_nothing_is_let_go(holdings: Holdings, tmp_path: Path) -> None:
    """The first of many at once, and one who is alone after a while."""
    holding = holdings(command=[], listens=LISTENS)
    until_it_listens(tmp_path / "socket")
    silent = [socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) for _ in range(NEWCOMERS + 1)]
    try:
        begun = time.monotonic()
        for peer in silent:
            peer.connect(str(tmp_path / "socket"))
            peer.settimeout(20)
        assert silent[0].recv(64) == b""
        assert not select.select(silent[1:], [], [], 0)[0], "there is room for all others"
        assert silent[-1].recv(64) == b""
        assert time.monotonic() - begun >= LISTENS
    finally:
        for peer in silent:
            peer.close()
    held = take(str(tmp_path / "socket"))
    try:
        assert not held.resumed
        assert holding.process.poll() is None
    finally:
        held.holder.ended()
        os.close(held.device)


def test_a_mount_that_cannot_be_made_anew_for_want_of_files_is_once_there_are_some(holdings: Holdings) -> None:
    holding = holdings(linux="6.1")
    holding.served(1)
    (holding.root / "file").write_bytes(b"some")
    client_dies_without_room(holding, "it cannot be mounted anew so far: [Errno 24]")
    assert not holding.served(2).resumed
    assert (holding.place / "file").read_bytes() == b"some"
    assert holding.process.poll() is None
