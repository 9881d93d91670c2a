"""Where paths lead that somebody gives to commands about mounts."""

from __future__ import annotations

from pathlib import Path

import pytest

from paddleflow.mount_places import real_place
from paddleflow.mounted import is_mounted
from paddleflow.mountinfo import read_mounts


def test_links_on_the_way_are_followed(tmp_path: Path) -> None:
    (tmp_path / "a/b").mkdir(parents=True)
    (tmp_path / "direct").symlink_to(tmp_path / "a/b")
    (tmp_path / "a/beside").symlink_to("b")
    (tmp_path / "twice").symlink_to("a/beside")
    for path in ("direct", "a/beside", "twice", "direct/../beside", "a/./b", "direct/../../twice"):
        assert real_place(tmp_path / path / "file") == tmp_path / "a/b/file"


def test_what_is_not_there_leads_to_itself(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert real_place(Path("no/such")) == tmp_path / "no/such"
    assert real_place(Path("/")) == Path("/")


def test_links_in_a_circle_are_refused(tmp_path: Path) -> None:
    (tmp_path / "one").symlink_to("other")
    (tmp_path / "other").symlink_to("one")
    with pytest.raises(OSError, match="levels of symbolic links"):
        real_place(tmp_path / "one")


def test_what_is_mounted_is_known_by_its_path(tmp_path: Path) -> None:
    assert is_mounted(Path("/proc"))
    assert [mount.kind for mount in read_mounts().layers("/proc")][-1] == "proc"
    assert not is_mounted(tmp_path)
