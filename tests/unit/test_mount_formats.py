"""What a newer version has left is not taken for something else."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest

from pf_fuse.staging.format import FORMAT, begin_in, require_known


def test_what_this_version_and_those_before_have_left_is_known(tmp_path: Path) -> None:
    require_known(tmp_path)
    begin_in(tmp_path)
    begin_in(tmp_path)
    require_known(tmp_path)
    assert [each.name for each in tmp_path.iterdir()] == ["format"]


def test_what_a_newer_version_has_left_is_refused_and_stays(tmp_path: Path) -> None:
    begin_in(tmp_path)
    (tmp_path / "format").write_text(str(FORMAT + 1))
    with pytest.raises(OSError, match="a newer version has written what is left here") as caught:
        require_known(tmp_path)
    assert caught.value.errno == errno.EPROTO
    assert caught.value.filename == tmp_path


@pytest.mark.parametrize("text", ["", "\n", "\0"])
def test_a_mark_that_a_loss_of_power_has_emptied_is_as_none(tmp_path: Path, text: str) -> None:
    (tmp_path / "format").write_text(text)
    begin_in(tmp_path)
    assert (tmp_path / "format").read_text() == str(FORMAT)


@pytest.mark.parametrize("bytes_", [b"two", b"-1", b"\xff\xfe", b"1 of another kind", b"9" * 5000])
def test_a_mark_that_says_what_no_version_has_written_is_refused(tmp_path: Path, bytes_: bytes) -> None:
    (tmp_path / "format").write_bytes(bytes_)
    with pytest.raises(OSError, match="a newer version has written") as caught:
        begin_in(tmp_path)
    assert caught.value.errno == errno.EPROTO


def test_the_mark_is_synced_before_it_has_its_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    synced, sync = list[str](), os.fsync

    def record(descriptor: int) -> None:
        sync(descriptor)
        synced.append(str(Path(f"/proc/self/fd/{descriptor}").readlink()))

    monkeypatch.setattr(os, "fsync", record)
    begin_in(tmp_path)
    assert synced == [str(tmp_path / "format.new"), str(tmp_path)]
