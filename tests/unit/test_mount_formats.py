"""What a newer version has left is not taken for something else."""

from __future__ import annotations

import errno
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
