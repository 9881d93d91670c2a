"""Tokens kept between commands."""

from __future__ import annotations

import stat
import time
from pathlib import Path

import pytest

from paddleflow.token_cache import MARGIN_SECONDS, FileTokenCache


@pytest.fixture
def cache(tmp_path: Path) -> FileTokenCache:
    return FileTokenCache(tmp_path / "new" / "tokens", "localhost:1", "root")


def test_a_token_is_kept_for_its_server_and_user(cache: FileTokenCache) -> None:
    cache.write("s1", time.time() + 3600)
    assert cache.read() == "s1"
    assert FileTokenCache(cache.folder, "localhost:1", "alice").read() == ""
    assert FileTokenCache(cache.folder, "localhost:2", "root").read() == ""


def test_only_the_owner_can_read_it(cache: FileTokenCache) -> None:
    cache.write("s1", time.time() + 3600)
    assert stat.S_IMODE(cache.path.stat().st_mode) == 0o600
    assert stat.S_IMODE(cache.folder.stat().st_mode) == 0o700
    assert list(cache.folder.iterdir()) == [cache.path]


def test_a_token_about_to_end_is_none(cache: FileTokenCache) -> None:
    cache.write("s1", time.time() + MARGIN_SECONDS - 1)
    assert cache.read() == ""


def test_only_the_token_that_was_refused_is_dropped(cache: FileTokenCache) -> None:
    cache.write("s2", time.time() + 3600)
    cache.drop("s1")
    assert cache.read() == "s2"
    cache.drop("s2")
    assert cache.read() == ""
    cache.drop("s2")


@pytest.mark.parametrize("text", ["", "{", "[]", '{"secret": "s"}', '{"secret": "s", "expires": "soon"}', "\x00"])
def test_what_cannot_be_read_is_not_there(cache: FileTokenCache, text: str) -> None:
    cache.folder.mkdir(parents=True)
    cache.path.write_text(text)
    assert cache.read() == ""


def test_where_nothing_can_be_written_nothing_is_kept(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    cache = FileTokenCache(tmp_path / "file" / "tokens", "s", "u")
    cache.write("s1", time.time() + 3600)
    assert cache.read() == ""


def test_a_token_that_could_not_be_written_wholly_leaves_nothing(cache: FileTokenCache) -> None:
    cache.path.mkdir(parents=True)
    cache.write("s1", time.time() + 3600)
    assert list(cache.folder.iterdir()) == [cache.path]


def test_a_token_that_cannot_be_removed_is_no_failure(cache: FileTokenCache, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(path: Path, *, missing_ok: bool = False) -> None:
        raise PermissionError(path)

    cache.write("s1", time.time() + 3600)
    monkeypatch.setattr(Path, "unlink", refuse)
    cache.drop("s1")
