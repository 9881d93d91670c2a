"""Folders with their owner and mode, and the lock of a data folder."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from pf_kit.embedded.folders import Locked, give_folder, locked, own_folder
from pf_kit.embedded.refusal import Refusal

HOLDER = """
import fcntl, sys, time
with open(sys.argv[1], "ab") as lock:
    fcntl.flock(lock, fcntl.LOCK_EX)
    print(flush=True)
    time.sleep(60)
"""


def mode(folder: Path) -> int:
    return stat.S_IMODE(folder.stat().st_mode)


def test_a_folder_is_made_with_its_parents_and_gets_its_mode(tmp_path: Path) -> None:
    own_folder(tmp_path / "a" / "b", 0o711)
    assert mode(tmp_path / "a" / "b") == 0o711
    own_folder(tmp_path / "a" / "b", 0o700)
    assert mode(tmp_path / "a" / "b") == 0o700


def test_parents_that_are_there_keep_their_mode(tmp_path: Path) -> None:
    tmp_path.chmod(0o750)
    own_folder(tmp_path / "a", 0o700)
    assert mode(tmp_path) == 0o750


def test_a_link_in_place_of_the_folder_is_refused(tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir(mode=0o755)
    (tmp_path / "link").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(Refusal, match="is not a folder"):
        own_folder(tmp_path / "link", 0o700)
    assert mode(tmp_path / "elsewhere") == 0o755


def test_a_file_in_place_of_the_folder_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(Refusal, match="is not a folder"):
        own_folder(tmp_path / "file", 0o700)
    with pytest.raises(Refusal, match="cannot be made"):
        own_folder(tmp_path / "file" / "below", 0o700)


def test_a_folder_of_somebody_else_is_refused_and_left_as_it_is(tmp_path: Path) -> None:
    tmp_path.chmod(0o755)
    with pytest.raises(Refusal, match="belongs to user id"):
        give_folder(tmp_path, 0o700, os.geteuid() + 1, os.getegid())
    assert mode(tmp_path) == 0o755


def test_only_one_holds_the_lock_and_its_death_frees_it(tmp_path: Path) -> None:
    lock = tmp_path / "lock"
    with subprocess.Popen([sys.executable, "-c", HOLDER, str(lock)], stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        process.stdout.readline()
        with pytest.raises(Locked), locked(lock):
            pass
        process.kill()
    with locked(lock), pytest.raises(Locked), locked(lock):
        pass
