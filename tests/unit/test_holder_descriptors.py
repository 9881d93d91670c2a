"""What a holder has open bears that the whole machine can open no more files."""

from __future__ import annotations

import errno
import os
import socket
from pathlib import Path

import pytest

from paddleflow.sockets import address
from pf_fuse.holder.descriptors import NONE, Spare, closed, listen


def refuse(*_: object, **__: object) -> int:
    raise OSError(errno.ENFILE, os.strerror(errno.ENFILE))


@pytest.fixture
def spare() -> Spare:
    return Spare()


def waiting(path: Path) -> socket.socket:
    peer = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    with address(path) as short:
        peer.connect(short)
    peer.settimeout(10)
    return peer


def test_who_waits_is_turned_away_though_the_spare_descriptor_cannot_be_had_again(
    spare: Spare, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with listen(str(tmp_path / "socket"), None) as listener:
        for _ in range(2):
            with monkeypatch.context() as patch, waiting(tmp_path / "socket") as peer:
                patch.setattr("pf_fuse.holder.descriptors.os.open", refuse)
                assert spare.turn_away(listener)
                assert peer.recv(64) == b""
    spare.close()


def test_it_is_told_when_nobody_can_even_be_turned_away(
    spare: Spare, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with listen(str(tmp_path / "socket"), None) as listener, waiting(tmp_path / "socket") as peer:
        with monkeypatch.context() as patch:
            patch.setattr(socket.socket, "accept", refuse)
            assert not spare.turn_away(listener)
        assert spare.turn_away(listener)
        assert peer.recv(64) == b""
    spare.close()


def test_a_descriptor_is_closed_once() -> None:
    one, other = os.pipe()
    assert closed(closed(one)) == closed(other) == NONE
